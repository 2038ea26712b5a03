"""What makes contributions Shapley values: known formulas, unused and equal columns, missing values."""

from __future__ import annotations

import warnings
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from illume import Explainer
from illume.errors import FewQueriesWarning

N = 600
QUERIES = 30_000


def frame(seed: int = 0) -> pd.DataFrame:
    """Return independent columns: numbers, a category, and two that no formula below uses."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(N, 4)), columns=["a", "b", "c", "unused"])
    X["kind"] = pd.Categorical(rng.choice(["x", "y", "z"], N))
    X["unused kind"] = pd.Categorical(rng.choice(list("vwxyz"), N))
    return X


def sigmoid(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def effect_of_kind(rows: pd.DataFrame) -> np.ndarray:
    return rows["kind"].map({"x": -1.0, "y": 0.0, "z": 1.5}).to_numpy(float)


FORMULAS = {
    "linear": lambda X: 1.5 * X["a"].to_numpy() - X["b"].to_numpy() + 0.5 * X["c"].to_numpy(),
    "additive": lambda X: np.sin(2 * X["a"].to_numpy()) + np.abs(X["b"].to_numpy()) + effect_of_kind(X),
    "one interaction": lambda X: X["a"].to_numpy() + 1.5 * X["b"].to_numpy() * X["c"].to_numpy(),
    "a square": lambda X: X["a"].to_numpy() ** 2 + X["b"].to_numpy(),
}


def exact(formula: object, row: pd.DataFrame, background: pd.DataFrame) -> np.ndarray:
    """Return interventional Shapley values of one row by all orders of the features that a formula uses."""
    names = ["a", "b", "c", "kind"]
    values = np.zeros(row.shape[1])
    orders = list(permutations(names))
    for order in orders:
        mixed = background.copy()
        before = formula(mixed).mean()
        for name in order:
            mixed[name] = pd.Series([row[name].iloc[0]] * len(mixed), index=mixed.index).astype(
                row[name].dtype
            )
            after = formula(mixed).mean()
            values[row.columns.get_loc(name)] += after - before
            before = after
    return values / len(orders)


@pytest.fixture(scope="module", params=FORMULAS)
def case(request: pytest.FixtureRequest) -> tuple[object, pd.DataFrame, Explainer]:
    formula, X = FORMULAS[request.param], frame()
    explainer = Explainer(lambda rows: sigmoid(formula(rows)), queries=QUERIES, verbose=False).fit(X)
    return formula, X, explainer


def test_known_formulas_come_out(case: tuple[object, pd.DataFrame, Explainer]) -> None:
    formula, X, explainer = case
    background = X.iloc[explainer.fitted_.split.training]
    rows = X.iloc[explainer.fitted_.split.report[:12]]
    found = explainer(rows)
    wanted = np.stack([exact(formula, rows.iloc[[i]], background) for i in range(len(rows))])
    spread = np.abs(wanted).max()
    error = np.abs(found.values - wanted)
    assert error.mean() < 0.02 * spread
    assert error.max() < 0.12 * spread


def test_values_add_up_to_the_models_log_odds(case: tuple[object, pd.DataFrame, Explainer]) -> None:
    formula, X, explainer = case
    found = explainer(X)
    np.testing.assert_allclose(found.base_values + found.values.sum(1), formula(X), rtol=1e-6, atol=1e-6)


def test_unused_columns_get_exactly_nothing(case: tuple[object, pd.DataFrame, Explainer]) -> None:
    _, X, explainer = case
    found = explainer(X)
    for name in ("unused", "unused kind"):
        assert name in explainer.quality_.ignored
        assert not found.values[:, X.columns.get_loc(name)].any()
        assert not found.standard_errors[:, X.columns.get_loc(name)].any()


def test_quality_is_measured_and_high(case: tuple[object, pd.DataFrame, Explainer]) -> None:
    _, _, explainer = case
    measured = explainer.quality_.contributions
    assert measured is not None
    assert measured.n_rows > 20
    assert measured.low <= measured.r2 <= measured.high
    assert measured.r2 > 0.95
    assert measured.word == "high"


def test_a_row_alone_is_the_row_in_a_batch(case: tuple[object, pd.DataFrame, Explainer]) -> None:
    _, X, explainer = case
    batch, alone = explainer(X[:30]), explainer(X[7:8])
    np.testing.assert_allclose(alone.values[0], batch.values[7], atol=2e-6)
    refined, alone = explainer(X[:30], refine=16), explainer(X[7:8], refine=16)
    np.testing.assert_allclose(alone.values[0], refined.values[7], atol=1e-5)


def test_refining_lowers_errors_and_asks_no_more_than_it_may(
    case: tuple[object, pd.DataFrame, Explainer],
) -> None:
    _, X, explainer = case
    rows = X[:20]
    before = explainer.fitted_.black_box.n_asked
    refined = explainer(rows, refine=12)
    assert explainer.fitted_.black_box.n_asked - before <= 20 * 13
    assert (refined.standard_errors <= explainer(rows).standard_errors + 1e-6).all()
    np.testing.assert_allclose(refined.scores, explainer(rows).scores)


def test_what_matters_only_when_missing_gets_its_due_when_it_is_missing() -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=N), "b": rng.normal(size=N)})
    X.loc[rng.random(N) < 0.3, "b"] = np.nan

    def model(rows: pd.DataFrame) -> np.ndarray:
        return sigmoid(rows["a"].to_numpy() + 2.0 * rows["b"].isna().to_numpy())

    explainer = Explainer(model, queries=QUERIES, effort="quick", verbose=False).fit(X)
    values = explainer(X).values[:, 1]
    missing = X["b"].isna().to_numpy()
    share = missing[explainer.fitted_.split.training].mean()
    np.testing.assert_allclose(values[missing], 2 * (1 - share), atol=0.1)
    np.testing.assert_allclose(values[~missing], -2 * share, atol=0.1)


def test_equal_columns_share_equally() -> None:
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"a": rng.normal(size=N)})
    X["b"], X["c"] = X["a"], rng.normal(size=N)

    def model(rows: pd.DataFrame) -> np.ndarray:
        return sigmoid(rows["a"].to_numpy() * rows["b"].to_numpy() + rows["c"].to_numpy())

    values = Explainer(model, queries=QUERIES, effort="quick", verbose=False).fit(X)(X).values
    assert np.abs(values[:, 0] - values[:, 1]).mean() < 0.05 * np.abs(values[:, 0]).mean() + 0.02


def test_a_background_of_ones_own_is_compared_with() -> None:
    X = frame()
    background = X[X["a"] > 1.0]

    def model(rows: pd.DataFrame) -> np.ndarray:
        return sigmoid(2 * rows["a"].to_numpy() + rows["b"].to_numpy())

    explainer = Explainer(model, queries=QUERIES, background=background, verbose=False).fit(X)
    found = explainer(X)
    wanted = 2 * (X["a"] - background["a"].mean())
    assert np.abs(found.values[:, 0] - wanted).max() < 0.3
    np.testing.assert_allclose(found.base_values, (2 * background["a"] + background["b"]).mean(), rtol=1e-6)


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


def test_a_row_has_the_same_interactions_alone(case: tuple[object, pd.DataFrame, Explainer]) -> None:
    _, X, explainer = case
    together, alone = explainer.interactions(X[:4]), explainer.interactions(X[2:3])
    order = [together.features.index(name) for name in alone.features]
    np.testing.assert_allclose(alone.values[0], together.values[2][np.ix_(order, order)], atol=1e-4)


def test_a_class_that_is_never_answered_can_be_refined() -> None:
    X = frame()[["a", "b"]]

    def model(rows: pd.DataFrame) -> np.ndarray:
        p = sigmoid(2 * rows["a"].to_numpy() + rows["b"].to_numpy())
        return np.column_stack([1 - p, p, np.zeros(len(rows))])

    explainer = Explainer(model, queries=20_000, effort="quick", verbose=False).fit(X)
    refined = explainer(X[:10], refine=8)
    assert np.isfinite(refined.values).all()
    assert np.isfinite(refined.standard_errors).all()
    np.testing.assert_allclose(refined.scores, explainer(X[:10]).scores)
