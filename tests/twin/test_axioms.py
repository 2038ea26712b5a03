"""What makes contributions Shapley values: known formulas, unused and equal columns, missing values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import permutations
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from illume import Explainer, SurrogateOptions, Training
from illume.errors import FewQueriesWarning

N = 600
QUERIES = 30_000
FORMULAS = ("linear", "additive", "one interaction", "a square")


class Case(NamedTuple):
    """A fitted explainer, its rows, and log-odds (n, c) of the model, one class after another."""

    explainer: Explainer
    X: pd.DataFrame
    log_odds: Callable[[pd.DataFrame], np.ndarray]


def sigmoid(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def frame(seed: int = 0) -> pd.DataFrame:
    """Return independent columns: numbers, a category, and two that no formula uses."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(N, 4)), columns=["a", "b", "c", "unused"])
    X["kind"] = pd.Categorical(rng.choice(["x", "y", "z"], N))
    X["unused kind"] = pd.Categorical(rng.choice(list("vwxyz"), N))
    return X


def fit(model: Callable[[pd.DataFrame], np.ndarray], X: pd.DataFrame, **options: object) -> Explainer:
    """Fit with hardly any training of the surrogate, which Shapley values do not depend on."""
    surrogate = SurrogateOptions(n_latents=2, training=Training(max_epochs=2))
    usual = {"queries": QUERIES, "effort": "quick", "verbose": False, "surrogate_options": surrogate}
    return Explainer(model, **usual | options).fit(X)


def formulas(X: pd.DataFrame) -> np.ndarray:
    """Return a class of 0, and one for each formula."""
    a, b, c = (X[name].to_numpy() for name in "abc")
    kind = X["kind"].map({"x": -1.0, "y": 0.0, "z": 1.5}).to_numpy(float)
    return np.column_stack(
        [np.zeros(len(X)), 1.5 * a - b + 0.5 * c, np.sin(2 * a) + np.abs(b) + kind, a + 1.5 * b * c, a**2 + b]
    )


@pytest.fixture(scope="module")
def classes() -> Case:
    """All formulas in one model."""
    X = frame()

    def log_odds(X: pd.DataFrame) -> np.ndarray:
        return formulas(X) - formulas(X).mean(1, keepdims=True)

    return Case(fit(lambda X: softmax(formulas(X), axis=1), X), X, log_odds)


@pytest.fixture(scope="module")
def two_classes() -> Case:
    """A model of two classes, and a background of one's own."""
    X = frame()[["a", "b", "unused", "unused kind"]]

    def log_odds(X: pd.DataFrame) -> np.ndarray:
        return (2 * X["a"] + X["b"]).to_numpy()[:, None]

    return Case(fit(lambda X: sigmoid(log_odds(X)[:, 0]), X, background=X[X["a"] > 1.0]), X, log_odds)


@pytest.fixture(params=["classes", "two_classes"])
def case(request: pytest.FixtureRequest) -> Case:
    return request.getfixturevalue(request.param)


def exact(row: pd.DataFrame, background: pd.DataFrame) -> np.ndarray:
    """Return interventional Shapley values (m, c) of one row by all orders of the features in formulas."""
    orders = list(permutations(["a", "b", "c", "kind"]))
    values = np.zeros((row.shape[1], len(FORMULAS) + 1))
    for order in orders:
        mixed = background.copy()
        before = formulas(mixed).mean(0)
        for name in order:
            same = pd.Series([row[name].iloc[0]] * len(mixed), index=mixed.index)
            mixed[name] = same.astype(row[name].dtype)
            after = formulas(mixed).mean(0)
            values[row.columns.get_loc(name)] += after - before
            before = after
    return values / len(orders)


def test_known_formulas_come_out(classes: Case) -> None:
    split = classes.explainer.fitted_.split
    background, rows = classes.X.iloc[split.training], classes.X.iloc[split.report[:12]]
    found = classes.explainer(rows).values
    wanted = np.stack([exact(rows.iloc[[i]], background) for i in range(len(rows))])
    for k, formula in enumerate(FORMULAS, 1):
        error = np.abs(found[:, :, k] - found[:, :, 0] - wanted[:, :, k])  # values are linear in the formula
        spread = np.abs(wanted[:, :, k]).max()
        assert error.mean() < 0.02 * spread, formula
        assert error.max() < 0.12 * spread, formula


def test_values_add_up_to_the_models_log_odds(case: Case) -> None:
    found = case.explainer(case.X)
    sums = (found.base_values + found.values.sum(1)).reshape(N, -1)
    np.testing.assert_allclose(sums, case.log_odds(case.X), rtol=1e-6, atol=1e-6)


def test_unused_columns_get_exactly_nothing(case: Case) -> None:
    found = case.explainer(case.X)
    for name in ("unused", "unused kind"):
        assert name in case.explainer.quality_.ignored
        assert not found.values[:, case.X.columns.get_loc(name)].any()
        assert not found.standard_errors[:, case.X.columns.get_loc(name)].any()


def test_quality_is_measured_and_high(case: Case) -> None:
    measured = case.explainer.quality_.contributions
    assert measured is not None
    assert measured.n_rows > 20
    assert measured.low <= measured.r2 <= measured.high
    assert measured.r2 > 0.95
    assert measured.word == "high"


def test_a_row_alone_is_the_row_in_a_batch(case: Case) -> None:
    explainer, X, _ = case
    batch, alone = explainer(X[:30]), explainer(X[7:8])
    np.testing.assert_allclose(alone.values[0], batch.values[7], atol=2e-6)
    refined, alone = explainer(X[:30], refine=16), explainer(X[7:8], refine=16)
    np.testing.assert_allclose(alone.values[0], refined.values[7], atol=1e-5)
    together, one = explainer.interactions(X[:4]), explainer.interactions(X[2:3])
    order = [together.feature_names.index(name) for name in one.feature_names]
    np.testing.assert_allclose(one.values[0], together.values[2][np.ix_(order, order)], atol=1e-4)


def test_refining_lowers_errors_and_asks_no_more_than_it_may(case: Case) -> None:
    explainer, rows = case.explainer, case.X[:20]
    before = explainer.fitted_.black_box.n_asked
    refined = explainer(rows, refine=12)
    assert explainer.fitted_.black_box.n_asked - before <= 20 * 13
    assert (refined.standard_errors <= explainer(rows).standard_errors + 1e-6).all()
    np.testing.assert_allclose(refined.scores, explainer(rows).scores)


def test_what_matters_only_when_missing_gets_its_due_when_it_is_missing() -> None:
    X = frame(1)[["a", "b"]]
    X.loc[np.random.default_rng(1).random(N) < 0.3, "b"] = np.nan
    explainer = fit(lambda rows: sigmoid((rows["a"] + 2.0 * rows["b"].isna()).to_numpy()), X)
    missing = X["b"].isna().to_numpy()
    wanted = 2 * (missing - missing[explainer.fitted_.split.training].mean())
    assert np.sqrt(np.square(explainer(X).values[:, 1] - wanted).mean()) < 0.03


def test_equal_columns_share_equally() -> None:
    X = frame(2)[["a", "b", "c"]]
    X["b"] = X["a"]
    values = fit(lambda rows: sigmoid((rows["a"] * rows["b"] + rows["c"]).to_numpy()), X)(X).values
    assert np.abs(values[:, 0] - values[:, 1]).mean() < 0.05 * np.abs(values[:, 0]).mean() + 0.02


def test_a_background_of_ones_own_is_compared_with(two_classes: Case) -> None:
    explainer, X, log_odds = two_classes
    found, background = explainer(X), X[X["a"] > 1.0]
    wanted = 2 * (X["a"] - background["a"].mean())
    assert np.abs(found.values[:, 0] - wanted).max() < 0.3
    np.testing.assert_allclose(found.base_values, log_odds(background).mean(), rtol=1e-6)


def test_without_queries_contributions_are_pulled_back() -> None:
    X = frame()[["a", "b"]]
    explainer = Explainer(lambda rows: sigmoid(rows["a"].to_numpy()), queries=0, verbose=False).fit(X)
    found = explainer(X[:5])
    assert found.kind == "pullback"
    assert np.isnan(found.standard_errors).all()
    with pytest.raises(ValueError, match="only Shapley values can be refined"):
        explainer(X[:5], refine=16)


def test_too_few_queries_for_standard_errors_are_warned_of() -> None:
    X = frame()[["a", "b", "c"]]
    explainer = Explainer(lambda rows: sigmoid(rows.sum(axis=1).to_numpy()), effort="quick", verbose=False)
    with pytest.warns(FewQueriesWarning, match="fit with at least 1800 queries"):
        explainer.set_params(queries=400).fit(X)
    assert np.isnan(explainer(X[:2]).standard_errors).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error", FewQueriesWarning)
        explainer.set_params(queries=1800).fit(X)
    assert np.isfinite(explainer(X[:2]).standard_errors).all()


def test_a_class_that_is_never_answered_can_be_refined() -> None:
    X = frame()[["a", "b"]]

    def model(rows: pd.DataFrame) -> np.ndarray:
        p = sigmoid(2 * rows["a"].to_numpy() + rows["b"].to_numpy())
        return np.column_stack([1 - p, p, np.zeros(len(rows))])

    explainer = fit(model, X, queries=20_000)
    refined = explainer(X[:10], refine=8)
    assert np.isfinite(refined.values).all()
    assert np.isfinite(refined.standard_errors).all()
    np.testing.assert_allclose(refined.scores, explainer(X[:10]).scores, atol=1e-12)
