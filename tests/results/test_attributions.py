"""Attributions keep their shapes, sums and names, in every form they are shown in."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from illume import Explainer
from illume.data.class_outputs import Classes
from illume.results.attributions import Attribution, Attributions
from illume.results.frames import UNKNOWN, feature_column
from illume.results.predictions import Labels
from tests.common import FAST, brief_shapley, grouped, linear_black_box, loans

FEATURES = ("age", "income", "owner", "education")
MISSING = 17  # the row without an income
SMALL = grouped(n_latents=2, queries=0, training=FAST)


def test_two_classes_have_no_class_axis_and_more_have_it_last(binary, several):
    assert binary.values.shape == (60, 4)
    assert binary.base_values.shape == (60,)
    assert binary.slopes.shape == (60, 7)
    assert binary.output_names == ("refuse",)
    assert several.values.shape == several.slopes.shape == several.slopes_per_unit.shape == (40, 4, 3)
    assert several.base_values.shape == (40, 3)
    assert several.output_names == several.class_names == ("low", "mid", "top")


def test_names_follow_the_users_columns_and_categories(binary):
    assert binary.feature_names == FEATURES
    categories = [f"education = {name}" for name in ("high", "low", "middle")]
    assert binary.input_names[2:] == ("owner = False", "owner = True", *categories)
    assert binary.scale == "log-odds"


def test_pulled_back_contributions_are_slopes_times_centred_inputs(loan_pullback, pullback):
    centred = pullback.data[:, 0].astype(float) - loan_pullback.fitted_.encoding.mean[0]
    np.testing.assert_allclose(pullback.values[:, 0], pullback.slopes_per_unit[:, 0] * centred, rtol=1e-5)
    np.testing.assert_array_equal(pullback.slopes[:, 2:], pullback.slopes_per_unit[:, 2:])


def test_a_missing_value_contributes_as_such_but_nothing_when_pulled_back(binary, pullback):
    assert binary.data[1].tolist() == loans(60, seed=5).iloc[1].tolist()
    assert binary.imputed[MISSING].tolist() == [False, True, False, False]
    assert binary[MISSING].imputed == ("income",)
    assert binary.values[MISSING, 1] != 0
    assert pullback.values[MISSING, 1] == 0
    assert "missing, filled with the mean: income" in repr(pullback[MISSING])


@pytest.mark.parametrize("rows", [slice(3, 9), [4, 2], np.array([1, 1]), np.arange(60) < 4, []], ids=str)
def test_several_rows_are_a_batch(binary, rows):
    part = binary[rows]
    positions = np.arange(60)[rows if len(np.shape(rows)) == 0 or len(rows) else slice(0)]
    assert isinstance(part, Attributions)
    np.testing.assert_array_equal(part.values, binary.values[positions])
    np.testing.assert_array_equal(part.trust.share, binary.trust.share[positions])
    np.testing.assert_array_equal(part.refinement.agreed, binary.refinement.agreed[positions])
    assert part.to_frame().index.tolist() == (100 + positions).tolist()


def test_one_row_is_read_in_words(binary, several):
    one = binary[-1]
    assert isinstance(one, Attribution)
    assert one.decision in ("grant", "refuse")
    assert 0.5 <= one.probability <= 1
    np.testing.assert_array_equal(one.values, binary.values[59])
    assert one.score == pytest.approx(one.base_value + one.values.sum())
    assert one.slopes.shape == one.slopes_per_unit.shape == (7,)
    assert len(list(binary)) == 60
    assert [line.name for line in one.lines(4)] == list(one.top(4).feature_names)
    one, c = several[0], several.decisions[0]
    assert one.output_name == one.decision == several.class_names[c]
    np.testing.assert_array_equal(one.contributions(), several.values[0, :, c])


def test_rows_are_taken_by_position_only(binary):
    with pytest.raises(IndexError, match="there are 60 rows, found 60"):
        binary[60]
    with pytest.raises(TypeError, match="rows are taken by position, not by 'age'"):
        binary["age"]


def test_the_log_odds_of_a_class_are_against_the_mean_of_all(three_class_pullback, three_class):
    model, X = three_class
    with brief_shapley():
        learned = Explainer(model, twin="learned", scale="log-odds", queries=300, effort="quick").fit(X)
    found = learned(X.iloc[:40])
    least = learned.fitted_.twin.model.scale.least
    log_p = np.log(found.probabilities.clip(least, 1 - least))
    np.testing.assert_allclose(found.scores, log_p - log_p.mean(1, keepdims=True), atol=1e-6)
    pulled = three_class_pullback(three_class[1].iloc[:25])
    pulled = pulled[pulled.agreed]
    log_p = np.log(pulled.surrogate_probabilities)
    np.testing.assert_allclose(pulled.scores, log_p - log_p.mean(1, keepdims=True), atol=1e-9)


def test_the_probabilities_of_a_forest_add_up_as_they_are(several):
    assert several.scale == "probability"
    np.testing.assert_allclose(several.scores, several.probabilities, atol=1e-9)
    assert (several.trust.level == "exact").all()
    assert not several.standard_errors.any()


def test_contributions_to_an_output_are_a_plane_of_the_values(several):
    np.testing.assert_array_equal(several.contributions("mid"), several.values[:, :, 1])
    row = several[2]
    np.testing.assert_array_equal(row.contributions("top"), several.values[2, :, 2])
    total = sum(line.contribution for line in row.lines(1, "top")) + row.base_value[2]
    assert total == pytest.approx(float(row.score[2]))


def test_top_keeps_the_strongest_and_the_sum(binary, several):
    np.testing.assert_allclose(binary.importance, np.abs(binary.values).mean(0))
    for batch in (binary, several):
        top = batch.top(2)
        assert top.values.shape[1] == 2
        np.testing.assert_allclose(top.scores, batch.scores, atol=1e-12)
    assert list(binary.top(2).feature_names) == [FEATURES[j] for j in np.argsort(-binary.importance)[:2]]
    assert several.top(1, "mid").feature_names[0] == several.feature_names[several.importance[:, 1].argmax()]
    assert several[0].top(1).values.shape == (1, 3)
    one, strongest = binary[3].top(2), np.argsort(-np.abs(binary.values[3]))[:2]
    assert one.feature_names == tuple(FEATURES[j] for j in strongest)
    assert one.score == pytest.approx(binary[3].score)


def test_top_keeps_the_slopes_of_the_features_it_keeps(binary):
    top = binary.top(4)
    for j, name in enumerate(top.feature_names):
        assert all(top.input_names[i].startswith(name) for i in np.flatnonzero(top.labels.owner == j))
    np.testing.assert_allclose(np.sort(top.slopes[0]), np.sort(binary.slopes[0]))


def test_the_rest_of_top_is_counted_everywhere(binary):
    top = binary.top(2)
    moved = float(binary[0].score - binary[0].base_value)
    assert sum(line.contribution for line in top[0].lines(5)) == pytest.approx(moved)
    assert top[0].lines(5)[-1].name == "left out"
    total = top.to_frame()[["base_value", "offset", "rest", *top.feature_names]].sum(axis=1)
    np.testing.assert_allclose(total, binary.scores)


def test_the_columns_of_a_frame_do_not_depend_on_the_rows(binary, several):
    for batch, last in ((binary, ["offset"]), (several, ["offset"]), (binary.top(2), ["offset", "rest"])):
        columns = list(batch.to_frame().columns)
        n = len(batch.feature_names)
        assert columns[-n - len(last) :] == [*last, *batch.feature_names]
        zero = np.zeros_like(batch.offset)
        for rows in (replace(batch, offset=zero, rest=zero), replace(batch, offset=zero + 0.5), batch[[]]):
            assert list(rows.to_frame().columns) == columns
        np.testing.assert_array_equal(replace(batch, offset=zero + 0.5).to_frame()["offset"], 0.5)
    assert "rest" not in binary.top(len(FEATURES)).to_frame()


def test_a_wide_frame_has_a_line_per_row_and_the_users_index(binary, several):
    frame = binary.to_frame()
    assert frame.index.tolist() == list(range(100, 160))
    np.testing.assert_array_equal(frame[list(FEATURES)].to_numpy(), binary.values)
    assert frame["decision"].tolist() == [row.decision for row in binary]
    np.testing.assert_array_equal(several.to_frame()["a"], [row.contributions()[0] for row in several])


def test_a_long_frame_has_a_line_per_row_feature_and_output(binary, several):
    assert len(binary.to_frame("long")) == 60 * 4
    long = several.to_frame("long")
    assert len(long) == 40 * 4 * 3
    one = long[(long["row"] == 3) & (long["feature"] == "b") & (long["output"] == "top")]
    assert one["contribution"].item() == several.values[3, 1, 2]
    with pytest.raises(ValueError, match="layout must be 'wide' or 'long'"):
        binary.to_frame("tall")


def test_frames_of_polars_rows_are_polars_and_features_keep_their_names():
    rows = pl.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), schema=["decision", "b"])
    model = linear_black_box([2, -1])
    explainer = Explainer(lambda frame: model(frame.to_numpy()), **SMALL)
    frame = explainer.fit(rows)(rows).to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert {"decision", "decision_"} <= set(frame.columns)
    assert frame["decision"].dtype == pl.Float64


def test_dictionaries_are_plain_json(binary, several):
    for batch in (binary, several):
        again = json.loads(json.dumps(batch.to_dict()))
        np.testing.assert_allclose(again["values"], batch.values)
        assert again["scale"] == batch.scale
        assert again["trust"]["level"] == ["exact"] * len(batch)
        assert again["outside"] == batch.outside.tolist()
        assert not {"agreed", "status", "slopes"} & set(again)
    assert binary.to_dict()["data"][MISSING][1] is None
    one = json.loads(json.dumps(binary[MISSING].to_dict()))
    assert one["features"][1] == {
        "name": "income",
        "value": None,
        "contribution": binary.values[MISSING, 1],
        "standard_error": 0.0,
    }
    assert one["trust"] == {"level": "exact", "contribution_error": 0.0, "share": 1.0}
    total = one["base_value"] + one["offset"] + sum(line["contribution"] for line in one["features"])
    assert total == pytest.approx(one["score"])


def test_text_says_what_a_reader_needs(binary, several, pullback):
    text, one = repr(binary), repr(binary[MISSING])
    assert "log-odds of 'refuse' against 'grant'" in text
    assert "contributions are exact" in text
    assert "contributions are exact; 1 the model ignores, exactly 0" in one
    assert {"base", "(missing)"} <= set(one.split())
    assert "in probability of 3 classes" in repr(several)
    assert f"probability of {several[0].decision!r} = " in repr(several[0])
    for shown in (text, one, repr(several), repr(several[0])):
        assert "surrogate" not in shown
    agreeing = f"surrogate and model agree on {pullback.agreed.sum()} of 60 rows"
    assert agreeing in repr(pullback)
    assert "agrees)" in repr(pullback[int(np.flatnonzero(pullback.agreed)[0])])
    assert "disagreed, refined)" in repr(pullback[int(np.flatnonzero(pullback.refinement.refined)[0])])


def test_wide_rows_are_cut_in_text_and_html():
    X = np.random.default_rng(0).normal(size=(60, 20))
    model = linear_black_box(np.ones(20))
    batch = Explainer(model, **SMALL).fit(X)(X)
    assert "and 12 more" in repr(batch)
    assert "12 other features" in repr(batch[0])
    assert "12 other features" in batch[0]._repr_html_()


LABELS = Labels(
    features=("size", "kind", "same"),
    inputs=("size", "kind = a", "kind = b", "kind = (missing)"),
    outputs=Classes(("no", "yes")),
    owner=np.array([0, 1, 1, 1]),
    unit=np.ones(4),
)
ROWS = np.array([(1.5, "b", "z"), (None, None, "z"), (1, "new", "z")], dtype=object)


@pytest.mark.parametrize(
    ("j", "values", "categories"),
    [
        (0, [1.5, np.nan, 1.0], ()),
        (1, [1, 2, 3], ("a", "b", "(missing)", UNKNOWN)),
        (2, [0, 0, 0], ("z",)),  # a constant column has no inputs
    ],
)
def test_a_column_is_numbers_or_positions_among_categories(j, values, categories):
    found = feature_column(ROWS, LABELS, j)
    assert (found.numeric, found.categories) == (not categories, categories)
    np.testing.assert_array_equal(found.values, values)


def test_the_column_of_a_batch_is_found_by_name_or_position(binary):
    np.testing.assert_array_equal(binary.column("age").values, binary.data[:, 0].astype(float))
    assert binary.column(-1).categories == ("high", "low", "middle")
    assert binary.top(2).column(0).name == binary.top(2).feature_names[0]
    with pytest.raises(ValueError, match="'agee', which is no column; the nearest column is 'age'"):
        binary.column("agee")


def test_rules_know_their_rows(loan_explainer):
    frame = loans(8, seed=2)
    rules = loan_explainer.rules(frame)
    assert rules[3].value("education") == frame["education"].iloc[3]
    assert rules[2:5][0].value("age") == frame["age"].iloc[2]
    assert rules[0].feature("age").numeric
    assert pd.Index(rules.to_frame("long")["row"]).is_monotonic_increasing
