"""Every explained row says whether it is outside of what the explainer was fitted on, and why."""

import numpy as np
import pandas as pd
import pytest

import illume
from tests.common import global_explainer, loans
from tests.io.common import same


def model(frame):
    return 1 / (1 + np.exp(-(frame["age"].fillna(40).to_numpy() - 45) / 10))


@pytest.fixture(scope="module")
def explainer():
    rows = loans(200).assign(always="same", five=5.0)
    with pytest.warns(UserWarning, match="only one value"):
        return global_explainer(model, unknown="ignore").fit(rows)


@pytest.fixture
def rows():
    return loans(200).assign(always="same", five=5.0)


def test_fitted_rows_are_inside(explainer, rows):
    found = explainer(rows)
    assert not found.novelty.features.any()
    assert found.outside.mean() <= 0.02
    assert "outside" not in repr(found[int(np.flatnonzero(~found.outside)[0])])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("age", 17),
        ("age", 81),
        ("age", np.nan),
        ("income", -400.0),
        ("income", 1e300),
        ("education", "PhD"),
        ("education", None),
        ("always", "other"),
        ("five", 5.1),
        ("five", np.nan),
    ],
)
def test_a_value_never_seen_is_outside_and_named(explainer, rows, name, value):
    row = rows.iloc[[1]].astype({name: object}).assign(**{name: [value]}).infer_objects()
    found = explainer(row)[0]
    assert found.outside
    assert found.batch.novelty.features[0].tolist() == [each == name for each in rows.columns]
    assert f"{name} has a value not seen while fitting" in found.outside_reasons
    for text in (repr(found), found._repr_html_(), str(found.to_dict())):
        assert f"{name} has a value not seen" in text


def test_the_ends_of_the_range_and_missing_numbers_that_were_seen_are_inside(explainer, rows):
    ends = rows.iloc[[1, 1, 1]].assign(income=[rows["income"].min(), rows["income"].max(), np.nan])
    assert not explainer(ends).novelty.features.any()


def test_frames_rules_and_counterfactuals_carry_the_flag(explainer, rows):
    some = rows.iloc[:4].assign(age=[200, 30, 50, -7])
    found, rules = explainer(some), explainer.rules(some)
    examples = explainer.counterfactuals(some, n=1)
    wanted = [True, False, False, True]
    for flagged in (found, rules, examples):
        assert flagged.outside.tolist() == wanted
        assert flagged[[3, 1]].outside.tolist() == [True, False]
    assert found.to_frame()["outside"].tolist() == rules.to_frame()["outside"].tolist() == wanted
    assert found.to_dict()["outside"] == wanted
    assert found.top(1)[0].outside_reasons == found[0].outside_reasons == rules[0].outside_reasons
    assert rules[0].to_dict()["outside"]
    assert examples[0].to_dict()["outside_reasons"] == list(found[0].outside_reasons)
    for text in (repr(rules[0]), repr(examples[0]), repr(found[0])):
        assert "outside what it was fitted on: age" in text
    assert "2 of 4 rows are outside" in repr(found)
    assert "2 of 4 rows are outside" in found._repr_html_()


def test_a_row_alone_is_the_row_in_a_batch(explainer, rows):
    mixed = pd.concat([rows.iloc[:20], rows.iloc[:5].assign(age=500)])
    together = explainer(mixed)
    for i in (0, 3, 21):
        assert explainer(mixed.iloc[[i]]).outside[0] == together.outside[i]


def test_a_file_without_rows_still_knows_ranges(explainer, rows, tmp_path):
    explainer.save(tmp_path / "none.illume", rows="none", rules=False)
    explainer.save(tmp_path / "rows.illume", rules=False)
    some = rows.iloc[:3].assign(age=[200, 30, 50])
    bare, full = (illume.load(tmp_path / f"{name}.illume")(some) for name in ("none", "rows"))
    assert bare.novelty.features.tolist() == full.novelty.features.tolist()
    assert not bare.novelty.far.any()
    same(full.novelty, explainer(some).novelty)
