"""`check` finds what changed, finds nothing where nothing did, and says so in words."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import illume
from illume.errors import RowError, SchemaError
from illume.explanations import drift
from tests.common import global_explainer, linear_black_box, loans


def model(frame):
    rows = frame if isinstance(frame, pd.DataFrame) else pd.DataFrame(frame.to_dict(as_series=False))
    income = rows["income"].astype(float).fillna(30.0)
    high = (rows["education"] == "high").to_numpy(dtype=float)
    age = rows["age"].astype(float).fillna(45.0).clip(0, 120).to_numpy()
    return 1 / (1 + np.exp(-(income.to_numpy() - 30) / 5 - high + (age - 45) / 20))


@pytest.fixture(scope="module")
def explainer():
    return global_explainer(model).fit(loans(400))


@pytest.fixture(scope="module")
def saved(explainer, tmp_path_factory):
    """The explainer, saved with rows and without."""
    folder = tmp_path_factory.mktemp("check")
    explainer.save(folder / "rows.illume", rules=False)
    explainer.save(folder / "none.illume", rows="none", rules=False)
    return {name: folder / f"{name}.illume" for name in ("rows", "none")}


def new_rows(**columns):
    return loans(300, seed=9).assign(**columns)


def test_rows_of_the_same_kind_are_fine(explainer):
    for seed in range(1, 21):
        found = explainer.check(loans(150, seed))
        assert found.ok, found
        assert not found.off
        assert "explanations apply" in repr(found)
        assert found.agreement.low <= found.agreement.agreement <= found.agreement.high


def test_the_rows_of_the_fit_have_not_moved_at_all(explainer):
    found = explainer.check(loans(400))
    assert [feature.shift for feature in found.features] == [0.0] * 4
    assert [feature.outside_share for feature in found.features] == [0.0] * 4
    assert [f.missing_share for f in found.features] == [f.fitted_missing_share for f in found.features]


def test_an_infinite_number_is_named_by_its_place_among_all_rows(explainer, monkeypatch, tmp_path):
    monkeypatch.setattr(drift, "BATCH_ROWS", 64)
    rows = new_rows()
    rows.loc[200, "income"] = math.inf
    rows.to_parquet(tmp_path / "rows.parquet")
    for given in (rows, tmp_path / "rows.parquet"):
        with pytest.raises(RowError, match="column 'income' holds inf in row 200; replace"):
            explainer.check(given)


def test_of_rows_that_were_drawn_a_place_is_said_to_be_one_among_these(explainer, monkeypatch, tmp_path):
    monkeypatch.setattr(drift, "MOST_ROWS", 100)
    new_rows(income=math.inf).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(
        RowError, match=r"holds inf in row 0 of the rows drawn \(rows count from 0\); replace"
    ):
        explainer.check(tmp_path / "rows.parquet")


def test_unseen_categories_are_named_and_raise_nothing(explainer):
    rows = new_rows()
    rows.loc[:29, "education"] = "PhD"
    found = explainer.check(rows)
    assert found.features[3].unseen == ("PhD",)
    assert found.features[3].unseen_share == 0.1
    assert any("education" in warning and "PhD" in warning for warning in found.warnings)
    assert found.agreement.n_rows == 270  # the others cannot be explained
    with pytest.raises(SchemaError, match="PhD"):
        explainer(rows)


@pytest.mark.parametrize(
    ("column", "said"),
    [("education", "categories never seen"), ("age", "age is outside"), ("owner", "owner is missing")],
)
def test_three_odd_rows_of_a_thousand_leave_explanations_of_the_others_in_force(explainer, column, said):
    odd = {"education": "PhD", "age": 10_000, "owner": None}
    rows = loans(1_000, seed=9).astype({"owner": object})
    rows.loc[:2, column] = odd[column]
    few = explainer.check(rows)
    assert few.ok
    assert "apply, but for a few rows" in few.verdict
    assert any(said in note for note in few.notes)
    rows.loc[:39, column] = odd[column]
    many = explainer.check(rows)
    assert not many.ok
    assert any(said in warning for warning in many.warnings)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"age": loans(300)["age"] + 40}, "age is outside of the fitted range in"),
        ({"age": loans(300)["age"] * 1000}, "times its width"),
        (
            {"age": loans(300)["age"].where(loans(300).index > 20)},
            "age is missing in 7.0% of rows and never was",
        ),
        ({"income": np.nan}, "income is missing in 100.0% of rows, 6.0% while fitting"),
        ({"age": 30 + loans(300)["age"] // 8}, "the distribution of age"),
        ({"education": "low"}, "the distribution of education"),
        ({"owner": True}, "the distribution of owner"),
    ],
)
def test_each_change_is_told_alone(explainer, columns, said):
    found = explainer.check(new_rows(**columns))
    assert not found.ok
    assert any(said in warning for warning in found.warnings), found.warnings
    assert all(
        next(iter(columns)) in warning for warning in found.warnings if "of rows are farther" not in warning
    )


def test_a_combination_never_seen_is_far_though_every_value_is_known():
    rng = np.random.default_rng(0)
    a = rng.normal(size=500)
    X = pd.DataFrame({"a": a, "b": a + rng.normal(size=500) / 20})
    explainer = global_explainer(linear_black_box([1.0, 1.0])).fit(X)
    new = X.assign(b=-X["a"])
    inside = new[(new["b"] >= X["b"].min()) & (new["b"] <= X["b"].max())]
    found = explainer.check(inside)
    assert any("combine values in new ways" in warning for warning in found.warnings)
    flagged = explainer(inside)
    assert not flagged.novelty.features.any()
    assert flagged.outside[np.abs(inside["a"]) > 1.5].mean() > 0.5
    assert explainer(X).outside.mean() < 0.01


def test_a_model_that_changed_is_told_by_the_agreement(saved):
    with pytest.warns(illume.errors.ModelChangedWarning):
        other = illume.load(saved["rows"], model=lambda frame: 1 - model(frame))
    found = other.check(loans(300, seed=3))
    assert found.agreement.agreement < 0.2
    assert any("do not describe the model" in warning for warning in found.warnings)


def test_a_model_that_fails_is_told_without_its_words(saved):
    def fails(frame):
        if frame["age"].max() > 200:
            raise ValueError("secret 4711")
        return model(frame)

    found = illume.load(saved["rows"], model=fails).check(new_rows(age=300))
    assert found.agreement is None
    assert any("the model fails" in warning for warning in found.warnings)
    assert "4711" not in repr(found)


def test_a_loaded_explainer_checks_alike(explainer, saved):
    rows = new_rows(age=99)
    was, now, bare = (e.check(rows) for e in (explainer, *map(illume.load, saved.values())))
    assert now.features == was.features == bare.features
    assert now.distances == was.distances
    assert bare.distances is None
    assert now.agreement is bare.agreement is None
    assert "loaded without it" in repr(now)
    assert "rows='none'" in repr(bare)
    assert not bare.ok


def test_other_libraries_say_the_same(explainer):
    rows = new_rows().drop(columns="owner").assign(owner=True)
    assert explainer.check(pl.from_pandas(rows)).features == explainer.check(rows).features


def test_no_rows_and_one_row_are_no_reason_to_fail(explainer):
    none = explainer.check(loans(300).iloc[:0])
    assert none.ok
    assert "nothing can be said" in repr(none)
    assert explainer.check(loans(300).iloc[1:2]).ok
    assert not explainer.check(loans(300).iloc[1:2].assign(age=10_000)).ok


def test_the_answer_is_plain_and_holds_no_row(explainer):
    rows = new_rows(age=12345)
    rows.loc[0, "education"] = "PhD"
    found = explainer.check(rows)
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(text)["ok"] is False
    assert "12345" not in text + repr(found) + found.to_frame().to_string()
    assert found.to_frame()["name"].tolist() == list(rows.columns)


def test_wrong_arguments_and_rows_that_are_none_are_refused(explainer):
    with pytest.raises(ValueError, match="sample must be an integer, 0 or more"):
        explainer.check(loans(20), sample=-1)
    with pytest.raises(SchemaError, match="expected numbers"):
        explainer.check(loans(20).assign(age="old"))
    with pytest.raises(SchemaError, match="no categories"):
        explainer.check(loans(3).assign(education=[[1], [2], [3]]))
    assert explainer.check(loans(20), sample=0).agreement is None


def test_a_sample_is_asked_and_no_more(explainer):
    explainer.fitted_.black_box.n_asked = 0
    assert explainer.check(loans(300, seed=2), sample=50).agreement.n_rows == 50
    assert explainer.fitted_.black_box.n_asked == 50


def test_a_folder_of_parquet_files_is_checked_like_its_rows(explainer, tmp_path):
    rows = new_rows(age=90)
    rows[:100].to_parquet(tmp_path / "a.parquet")
    rows[100:].to_parquet(tmp_path / "b.parquet")
    assert explainer.check(tmp_path) == explainer.check(rows)


def test_of_very_many_rows_some_are_drawn_and_that_is_said(explainer, tmp_path, monkeypatch):
    monkeypatch.setattr(drift, "MOST_ROWS", 120)
    new_rows().to_parquet(tmp_path / "a.parquet")
    found = explainer.check(tmp_path / "a.parquet")
    assert (found.n_rows, found.n_source) == (120, 300)
    assert repr(found).startswith("Check of 120 of 300 rows, drawn at random: explanations apply")
    assert found == explainer.check(tmp_path / "a.parquet")


def test_a_folder_without_a_column_is_refused_by_name(explainer, tmp_path):
    new_rows().drop(columns="income").to_parquet(tmp_path / "a.parquet")
    with pytest.raises(SchemaError, match="column 'income' is missing"):
        explainer.check(tmp_path)
