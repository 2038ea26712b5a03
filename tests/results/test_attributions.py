import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from illume import Attributions, SurrogateOptions
from illume.results.attributions import Attribution
from tests.common import loans

FEATURES = ("age", "income", "owner", "education")


@pytest.fixture(scope="module")
def binary(loan_explainer):
    return loan_explainer(loans(30, seed=5).set_index(pd.RangeIndex(100, 130)))


@pytest.fixture(scope="module")
def several(three_class_explainer, three_class):
    return three_class_explainer(three_class[1].iloc[:25])


def test_two_classes_have_no_class_axis_and_more_have_it_last(binary, several):
    assert binary.values.shape == (30, 4)
    assert binary.base_values.shape == (30,)
    assert binary.slopes.shape == (30, 7)
    assert binary.output_names == ("refuse",)
    assert several.values.shape == several.slopes.shape == (25, 4, 3)
    assert several.base_values.shape == (25, 3)
    assert several.output_names == several.class_names == ("low", "mid", "top")


def test_names_follow_the_users_columns_and_categories(binary):
    assert binary.feature_names == FEATURES
    assert binary.input_names[2:] == (
        "owner = False",
        "owner = True",
        "education = high",
        "education = low",
        "education = middle",
    )
    assert binary.scale == "log-odds"


def test_pulled_back_contributions_are_slopes_times_centred_inputs(loan_pullback):
    # a number: slope per unit times the distance from the mean
    j = FEATURES.index("age")
    binary, mean = loan_pullback(loans(30, seed=5)), loan_pullback.fitted_.encoding.mean[0]
    np.testing.assert_allclose(
        binary.values[:, j],
        binary.slopes_per_unit[:, 0] * (binary.data[:, j].astype(float) - mean),
        rtol=1e-5,
    )


def test_slopes_per_unit_leave_categories_alone(binary, several):
    np.testing.assert_array_equal(binary.slopes[:, 2:], binary.slopes_per_unit[:, 2:])
    assert several.slopes_per_unit.shape == several.slopes.shape


def test_the_row_itself_comes_along_with_missing_values(binary):
    assert binary.data[1].tolist() == loans(30, seed=5).iloc[1].tolist()
    assert binary.imputed[17].tolist() == [False, True, False, False]
    assert binary.values[17, 1] != 0  # being missing is a value of its own
    assert binary[17].imputed == ("income",)


def test_of_pulled_back_contributions_a_missing_number_has_none(loan_pullback):
    pulled = loan_pullback(loans(30, seed=5))
    assert pulled.values[17, 1] == 0
    assert "missing, filled with the mean: income" in repr(pulled[17])


def test_importance_is_the_mean_absolute_contribution(binary, several):
    np.testing.assert_allclose(binary.importance, np.abs(binary.values).mean(0))
    assert several.importance.shape == (4, 3)


@pytest.mark.parametrize("rows", [slice(3, 9), [4, 2], np.array([1, 1]), np.arange(30) < 4], ids=str)
def test_several_rows_are_a_batch(binary, rows):
    part = binary[rows]
    assert isinstance(part, Attributions)
    np.testing.assert_array_equal(part.values, binary.values[rows])
    np.testing.assert_array_equal(part.trust.error, binary.trust.error[rows])
    assert part.to_frame().index.tolist() == binary.to_frame().index[rows].tolist()


def test_one_row_is_read_in_words(binary):
    one = binary[-1]
    assert isinstance(one, Attribution)
    assert one.decision in ("grant", "refuse")
    assert 0.5 <= one.probability <= 1
    np.testing.assert_array_equal(one.values, binary.values[29])
    assert one.score == pytest.approx(one.base_value + one.values.sum())
    assert one.slopes.shape == one.slopes_per_unit.shape == (7,)
    assert len(list(binary)) == 30
    with pytest.raises(IndexError, match="there are 30 rows, found 30"):
        binary[30]
    with pytest.raises(TypeError, match="rows are taken by position, not by 'age'"):
        binary["age"]


def test_the_log_odds_of_a_class_are_against_the_mean_of_all(several, three_class_explainer):
    clipped = three_class_explainer.fitted_.shapley.log_odds.least
    log_p = np.log(several.probabilities.clip(clipped, 1 - clipped))
    np.testing.assert_allclose(several.scores, log_p - log_p.mean(1, keepdims=True), atol=1e-6)


def test_pulled_back_log_odds_of_a_class_are_the_surrogates(three_class_pullback, three_class):
    several = three_class_pullback(three_class[1].iloc[:25])
    agreed = several[several.agreed]
    log_p = np.log(agreed.surrogate_probabilities)
    np.testing.assert_allclose(agreed.scores, log_p - log_p.mean(1, keepdims=True), atol=1e-9)


def test_nothing_is_left_out_where_all_features_are_shown(binary):
    assert [line.name for line in binary[0].lines(4)] == list(binary[0].top(4).feature_names)


def test_the_decided_class_is_the_one_to_read_first(several):
    one = several[0]
    c = several.decisions[0]
    assert one.output_name == one.decision == several.class_names[c]
    np.testing.assert_array_equal(one.contributions(), several.values[0, :, c])


def test_top_keeps_the_strongest_and_the_sum(binary, several):
    for batch in (binary, several):
        top = batch.top(2)
        assert top.values.shape[1] == 2
        np.testing.assert_allclose(top.scores, batch.scores)
    strongest = [FEATURES[j] for j in np.argsort(-binary.importance)[:2]]
    assert list(binary.top(2).feature_names) == strongest
    one = binary[3].top(2)
    strongest = np.argsort(-np.abs(binary.values[3]))[:2]
    assert one.feature_names == tuple(FEATURES[j] for j in strongest)
    assert one.score == pytest.approx(binary[3].score)
    assert several[0].top(1).values.shape == (1, 3)


def test_what_top_leaves_out_is_still_counted_everywhere(binary):
    top = binary.top(2)
    moved = float(binary[0].score - binary[0].base_value)
    assert sum(line.contribution for line in top[0].lines(5)) == pytest.approx(moved)
    assert top[0].lines(5)[-1].name == "left out"
    frame = top.to_frame()
    total = frame[["base_value", "offset", "rest", *top.feature_names]].sum(axis=1)
    np.testing.assert_allclose(total, binary.scores)


def test_the_columns_of_a_frame_do_not_depend_on_the_rows(binary, several):
    for batch in (binary, several):
        columns = list(batch.to_frame().columns)
        assert columns[-5:] == ["offset", *batch.feature_names]
        zero = np.zeros_like(batch.offset)
        for rows in (replace(batch, offset=zero), replace(batch, offset=zero + 0.5), batch[[]]):
            assert list(rows.to_frame().columns) == columns
        refined = replace(batch, offset=zero + 0.5).to_frame()
        np.testing.assert_array_equal(refined["offset"], 0.5)


def test_a_frame_has_a_rest_where_features_were_left_out_even_if_it_is_zero(binary):
    top = binary.top(2)
    for batch in (top, replace(top, rest=np.zeros_like(top.rest)), top[[]]):
        assert list(batch.to_frame().columns)[-4:] == ["offset", "rest", *top.feature_names]
    assert "rest" not in binary.top(len(FEATURES)).to_frame()


def test_no_rows_can_be_taken(binary):
    assert len(binary[[]]) == 0


def test_top_keeps_the_slopes_of_the_features_it_keeps(binary):
    top = binary.top(4)
    for j, name in enumerate(top.feature_names):
        inputs = np.flatnonzero(top.labels.owner == j)
        assert all(top.input_names[i].startswith(name) for i in inputs)
    np.testing.assert_allclose(np.sort(top.slopes[0]), np.sort(binary.slopes[0]))


def test_a_wide_frame_has_a_line_per_row_and_the_users_index(binary, several):
    frame = binary.to_frame()
    assert frame.index.tolist() == list(range(100, 130))
    np.testing.assert_array_equal(frame[list(FEATURES)].to_numpy(), binary.values)
    assert frame["decision"].tolist() == [row.decision for row in binary]
    frame = several.to_frame()
    np.testing.assert_array_equal(frame["a"], [row.contributions()[0] for row in several])


def test_a_long_frame_has_a_line_per_row_feature_and_output(binary, several):
    assert len(binary.to_frame("long")) == 30 * 4
    long = several.to_frame("long")
    assert len(long) == 25 * 4 * 3
    one = long[(long["row"] == 3) & (long["feature"] == "b") & (long["output"] == "top")]
    assert one["contribution"].item() == several.values[3, 1, 2]
    with pytest.raises(ValueError, match="layout must be 'wide' or 'long'"):
        binary.to_frame("tall")


def test_features_named_like_our_columns_keep_their_name():
    from illume import Explainer
    from tests.common import FAST, linear_black_box

    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["decision", "b"])
    frame = (
        Explainer(
            linear_black_box([2, -1]),
            queries=0,
            surrogate_options=SurrogateOptions(n_latents=2, training=FAST),
        )
        .fit(X)(X)
        .to_frame()
    )
    assert {"decision", "decision_"} <= set(frame.columns)
    assert frame["decision"].dtype == float


def test_the_frame_comes_back_in_the_library_of_the_rows(loan_explainer):
    rows = loans(5)
    by_library = loan_explainer.fitted_.black_box
    assert isinstance(loan_explainer(rows).to_frame(), pd.DataFrame)
    polars = loan_explainer.__class__(
        lambda frame: by_library.model.predict_proba(frame.to_pandas()),
        queries=0,
        surrogate_options=SurrogateOptions(n_latents=2, training=loan_explainer.surrogate_options.training),
    ).fit(pl.from_pandas(loans(60)))
    assert isinstance(polars(pl.from_pandas(rows)).to_frame(), pl.DataFrame)


def test_dictionaries_are_plain_json(binary, several):
    for batch in (binary, several):
        again = json.loads(json.dumps(batch.to_dict()))
        np.testing.assert_allclose(again["values"], batch.values)
        assert again["scale"] == "log-odds"
    assert binary.to_dict()["data"][17][1] is None
    one = json.loads(json.dumps(binary[17].to_dict()))
    assert one["features"][1] == {
        "name": "income",
        "value": None,
        "contribution": binary.values[17, 1],
        "standard_error": None,  # so few queries leave none to measure it
        "imputed": True,
    }
    assert one["trust"]["contribution_error"] is None
    total = one["base_value"] + one["offset"] + sum(line["contribution"] for line in one["features"])
    assert total == pytest.approx(one["score"])


def test_text_says_what_a_reader_needs(binary, several):
    text = repr(binary)
    assert "log-odds of 'refuse' against 'grant'" in text
    assert f"agree on {binary.agreed.sum()} of 30 rows" in text
    one = repr(binary[17])
    assert "base value" in one
    assert "held-out rows around here" in one
    assert "missing, filled with the mean for the surrogate: income" in one
    assert "(missing)" in one
    assert "log-odds of 3 classes" in repr(several)
    assert f"log-odds of {several[0].decision!r} against the mean of 3 classes" in repr(several[0])


def test_html_escapes_whatever_comes_from_data(binary):
    from dataclasses import replace

    evil = "<script>alert(1)</script>"
    labels = replace(binary.labels, features=(evil, *FEATURES[1:]), classes=(evil, "b"))
    data = binary.data.copy()
    data[:, 3] = evil
    batch = replace(binary, labels=labels, data=data)
    for html in (batch._repr_html_(), batch[0]._repr_html_()):
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
        assert html.startswith("<table>")


def test_wide_rows_are_cut_in_text_and_html():
    from illume import Explainer
    from tests.common import FAST, linear_black_box

    X = np.random.default_rng(0).normal(size=(60, 20))
    batch = Explainer(
        linear_black_box(np.ones(20)),
        queries=0,
        surrogate_options=SurrogateOptions(n_latents=2, training=FAST),
    ).fit(X)(X)
    assert "and 12 more" in repr(batch)
    assert "12 other features" in repr(batch[0])
    assert "10 other features" in batch[0]._repr_html_()
