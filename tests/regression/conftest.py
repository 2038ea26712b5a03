"""Small models of numbers, and explainers of them that all tests of regression share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from illume import DataOptions, Explainer, SurrogateOptions, Training
from tests.common import FAST, loans


@dataclass(frozen=True)
class Case:
    """A fitted explainer, its rows, and the model as a function of them."""

    explainer: Explainer
    X: pd.DataFrame
    predict: Callable[[Any], np.ndarray]


def numbers(n: int = 300, seed: int = 0) -> pd.DataFrame:
    """Return independent numbers, the last of which no model uses."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, 4)), columns=["a", "b", "c", "unused"])


def fit(model: Any, X: Any, *, queries: int = 10_000, **data: Any) -> Explainer:
    """Fit quickly, with hardly any training of the surrogate."""
    surrogate = SurrogateOptions(n_latents=2, training=Training(max_epochs=3))
    options = {"surrogate_options": surrogate, "data_options": DataOptions(**data)}
    return Explainer(model, queries=queries, effort="quick", verbose=False, **options).fit(X)


@pytest.fixture(scope="session")
def houses() -> Case:
    """A boosted model of prices, on numbers with missing ones, whole numbers, booleans and text."""
    X = loans(300)
    price = 1_000.0 * X["age"] + 500 * X["income"].fillna(10.0) + 5_000 * X["owner"]
    price += 20_000 * (X["education"] == "high") * (1 + X["age"] / 80)
    text = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encode = make_column_transformer((text, ["education"]), remainder="passthrough")
    model = make_pipeline(encode, HistGradientBoostingRegressor(max_iter=40, random_state=0)).fit(X, price)
    options = SurrogateOptions(n_latents=3, training=FAST)
    names = DataOptions(output_names=["price"])
    explainer = Explainer(
        model, queries=3_000, effort="quick", verbose=False, surrogate_options=options, data_options=names
    )
    return Case(explainer.fit(X), X, model.predict)


@pytest.fixture(scope="session")
def linear() -> Case:
    """A linear model by hand, explained by the global surrogate, which is linear too."""
    X = numbers()

    def predict(rows: pd.DataFrame) -> np.ndarray:
        return 250 + (100 * rows["a"] - 50 * rows["b"] + 25 * rows["c"]).to_numpy()

    return Case(fit(predict, X), X, predict)


@pytest.fixture(scope="session")
def pair() -> Case:
    """Two outputs of very different size, the first with an interaction."""
    X = numbers(seed=1)

    def predict(rows: pd.DataFrame) -> np.ndarray:
        a, b, c = (rows[name].to_numpy() for name in "abc")
        return np.stack([a + 2 * b * c, 1_000 * c - 3_000 * a], axis=1)

    return Case(fit(predict, X, output_names=["height", "weight"]), X, predict)


@pytest.fixture(scope="session")
def factors() -> Case:
    """A product of factors, whose logarithm is explained."""
    X = numbers(seed=2)

    def predict(rows: pd.DataFrame) -> np.ndarray:
        return 50_000 * np.exp(0.5 * rows["a"] - 0.2 * rows["b"]).to_numpy()

    return Case(fit(predict, X, link="log", output_names=["price"]), X, predict)
