"""Contributions in the target's own units: they add up, and are Shapley values."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pytest

from illume import Explainer
from tests.regression.conftest import Case, fit, numbers


@pytest.fixture(params=["houses", "linear", "pair"])
def case(request) -> Case:
    return request.getfixturevalue(request.param)


def test_contributions_add_up_to_the_prediction(case):
    found, wanted = case.explainer(case.X), case.predict(case.X)
    sums = found.base_values + found.values.sum(1)
    np.testing.assert_allclose(sums, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())
    np.testing.assert_allclose(found.scores, sums)
    assert not found.offset.any()


def test_refining_keeps_the_sum_and_lowers_errors(case):
    rows = case.X[:12]
    exact = case.explainer.quality_.exact
    with pytest.warns(UserWarning, match="is not needed") if exact else nullcontext():
        found, refined = case.explainer(rows), case.explainer(rows, refine=16)
    np.testing.assert_allclose(refined.scores, case.predict(rows), rtol=1e-9)
    assert (refined.standard_errors <= found.standard_errors * (1 + 1e-6) + 1e-9).all()


def test_a_row_alone_is_the_row_in_a_batch(case):
    together, alone = case.explainer(case.X[:20]), case.explainer(case.X[7:8])
    np.testing.assert_allclose(alone.values[0], together.values[7], atol=2e-6 * np.ptp(case.predict(case.X)))
    np.testing.assert_array_equal(alone.predictions[0], together.predictions[7])


def test_a_linear_model_has_its_known_shapley_values(linear):
    found, training = linear.explainer(linear.X), linear.X.iloc[linear.explainer.fitted_.split.training]
    wanted = (linear.X - training.mean()).to_numpy() * [100, -50, 25, 0]
    error = np.abs(found.values - wanted)
    assert error.mean() < 0.02 * np.abs(wanted).max()
    assert error.max() < 0.12 * np.abs(wanted).max()
    np.testing.assert_allclose(found.base_values, linear.predict(training).mean())
    assert (error[:, :3] <= 1.96 * found.standard_errors[:, :3]).mean() > 0.85


def test_an_interaction_is_shared_equally(pair):
    found, training = pair.explainer(pair.X), pair.X.iloc[pair.explainer.fitted_.split.training]
    b, c, mean = pair.X["b"], pair.X["c"], training.mean()
    cross = (training["b"] * training["c"]).mean()
    wanted = b * c - cross + b * mean["c"] - c * mean["b"]
    error = np.abs(found.contributions("height")[:, 1] - wanted)
    assert error.mean() < 0.03 * np.abs(wanted).max()
    heavy = found.contributions("weight")
    assert np.abs(heavy[:, 0] + 3_000 * (pair.X["a"] - mean["a"])).mean() < 0.03 * 3_000
    assert np.abs(heavy[:, 1]).mean() < 0.03 * 3_000


def test_an_unused_column_gets_exactly_nothing(linear):
    found = linear.explainer(linear.X)
    assert "unused" in linear.explainer.quality_.ignored
    assert not found.values[:, 3].any()
    assert not found.standard_errors[:, 3].any()


def test_equal_columns_share_equally():
    X = numbers(seed=3)[["a", "b", "c"]]
    X["b"] = X["a"]
    explainer = fit(lambda rows: (rows["a"] * rows["b"] + rows["c"]).to_numpy(), X, queries=20_000)
    values = explainer(X).values
    assert np.abs(values[:, 0] - values[:, 1]).mean() < 0.1 * np.abs(values[:, 0]).mean()


def test_contributions_grow_with_the_unit(linear):
    found = fit(lambda rows: 1_000 * linear.predict(rows), linear.X)(linear.X)
    wanted = linear.explainer(linear.X)
    np.testing.assert_allclose(found.values, 1_000 * wanted.values, atol=1e-3 * 1_000 * 100)
    np.testing.assert_allclose(found.base_values, 1_000 * wanted.base_values)


def test_slopes_of_a_linear_model_are_its_coefficients(linear):
    slopes = linear.explainer(linear.X[:20]).slopes_per_unit
    np.testing.assert_allclose(slopes, np.tile([100.0, -50.0, 25.0, 0.0], (20, 1)), atol=3.0)


def test_interactions_add_up_to_contributions(pair):
    found = pair.explainer.interactions(pair.X[:6])
    order = [pair.X.columns.get_loc(name) for name in found.feature_names]
    np.testing.assert_allclose(found.contributions, pair.explainer(pair.X[:6]).values[:, order], atol=1e-3)
    assert set(found.pairs(1)[0][:2]) == {"b", "c"} or found.pairs(1)[0].strength < 30
    assert "log-odds" not in str(found)


def test_pulled_back_contributions_add_up_with_their_offset(houses):
    X = houses.X
    explainer = Explainer(houses.explainer.model, contributions="pullback", queries=0, verbose=False).fit(X)
    found = explainer(X)
    assert found.kind == "pullback"
    assert found.offset.any()
    np.testing.assert_allclose(found.scores, houses.predict(X), rtol=1e-9)
    assert "offset" in str(found[int(np.abs(found.offset).argmax())])


def test_factors_multiply_to_the_prediction(factors):
    found = factors.explainer(factors.X)
    product = np.exp(found.base_values) * np.exp(found.values).prod(1)
    np.testing.assert_allclose(product, factors.predict(factors.X), rtol=1e-9)
    assert "factors (×)" in str(found[0])
    assert found.scale == "logarithm of the prediction"


@pytest.mark.parametrize("convert", [pl.from_pandas, pd.DataFrame.to_numpy], ids=["polars", "numpy"])
def test_frames_of_other_libraries_are_explained_alike(convert):
    X = numbers(150)
    explainer = fit(lambda rows: np.asarray(rows)[:, :3].sum(1), convert(X), queries=500)
    found = explainer(convert(X))
    np.testing.assert_allclose(found.scores, X[["a", "b", "c"]].sum(axis=1), rtol=1e-9, atol=1e-9)


def test_missing_values_are_explained(houses):
    missing = houses.X[houses.X["income"].isna()]
    found = houses.explainer(missing)
    np.testing.assert_allclose(found.scores, houses.predict(missing), rtol=1e-9)
    assert found[0].imputed == ("income",)


def test_reasons_are_what_pushed_the_row_to_its_side(houses):
    for row, wanted in zip(houses.explainer(houses.X[:20]), houses.predict(houses.X[:20]), strict=True):
        base = float(row.base_value)
        for threshold, up in (
            (None, wanted >= base),
            (wanted - 1, True),
            (wanted, True),
            (wanted + 1, False),
        ):
            reasons = row.reasons(n=3, threshold=threshold)
            sizes = [line.contribution for line in reasons]
            assert all((size > 0) == up for size in sizes)
            assert sizes == sorted(sizes, key=abs, reverse=True)
            assert len(reasons) == min(3, int(((row.contributions() > 0) == up).sum()))


def test_reasons_of_a_class_speak_for_the_decision(loan_explainer, loan_frame, three_class_explainer):
    for row in loan_explainer(loan_frame[:10]):
        sign = 1 if row.prediction == row.output_name else -1
        assert all(line.contribution * sign > 0 for line in row.reasons())
    row = three_class_explainer(pd.DataFrame(np.zeros((1, 4)), columns=list("abcd")))[0]
    assert all(line.contribution > 0 for line in row.reasons())
    with pytest.raises(ValueError, match="threshold"):
        row.reasons(threshold=0.5)
