"""A model of numbers on a data set: rows to explain, background rows and reference Shapley values."""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from benchmarks.data.problem import Encoding
from benchmarks.harness import cache_folder, cached
from benchmarks.regression.data import SOURCES
from benchmarks.truth.case import BACKGROUND_ROWS, Coding
from benchmarks.truth.reference import MOST_FEATURES, Reference, enumerate_sets, walk
from illume._typing import FloatArray, IntArray

MODELS = ("xgb", "forest", "mlp")
TREES = ("xgb", "forest")
SAME = 1e-6  # share of the variance that sums of exact values may miss
TEST_SHARE = 0.25
FEW_ROWS = 1000  # that a model with many parameters would learn by heart
NOISE = 0.002  # of the reference, as a share of its variance
MOST_QUERIES = 10_000_000


def make_model(name: str, seed: int, n_rows: int, positive: bool = False) -> Any:
    """Return a model to fit on encoded rows, simpler for few; of positive targets it learns the logarithm."""
    few = n_rows < FEW_ROWS
    if name == "xgb":
        from xgboost import XGBRegressor

        size = {"n_estimators": 100, "max_depth": 3} if few else {"n_estimators": 200, "max_depth": 5}
        model = XGBRegressor(learning_rate=0.1, random_state=seed, n_jobs=1, **size)
    elif name == "forest":
        model = RandomForestRegressor(100, min_samples_leaf=5, max_features=0.5, random_state=seed, n_jobs=1)
    elif name == "mlp":
        size = {"hidden_layer_sizes": (32,), "alpha": 1.0} if few else {"hidden_layer_sizes": (64, 64)}
        early = {"early_stopping": not few, "n_iter_no_change": 20, "max_iter": 300}
        layers = MLPRegressor(random_state=seed, **size, **early)
        model = TransformedTargetRegressor(layers, transformer=StandardScaler())
    else:
        raise ValueError(f"no model is called {name!r}; choose from {', '.join(MODELS)}")
    if not positive:
        return model
    return TransformedTargetRegressor(model, transformer=FunctionTransformer(np.log, np.exp))


class NumberModel:
    """A black box of data frames that answers with numbers and counts its rows."""

    def __init__(self, encoding: Encoding, model: Any) -> None:
        self.encoding, self.model, self.queries, self.seconds = encoding, model, 0, 0.0

    def predict(self, frame: pd.DataFrame) -> FloatArray:
        return self.predict_encoded(self.encoding.transform(frame))

    def predict_encoded(self, X: FloatArray) -> FloatArray:
        start = time.perf_counter()
        answers = np.asarray(self.model.predict(X), dtype=float)
        self.queries, self.seconds = self.queries + len(X), self.seconds + time.perf_counter() - start
        return answers


@dataclass(eq=False)
class Case:
    """What the measurements of a data set, model and seed share.

    With `fresh`, the model is fitted on one half of the training rows and the explainer on the other: then
    the explainer's rows are like the test rows, also for a model that knows its own rows by heart.
    """

    data: str
    model: str
    seed: int = 0
    n_rows: int = 150  # whose contributions are compared
    fresh: bool = False

    def __post_init__(self) -> None:
        self.source = SOURCES[self.data]
        frame, y = self.source.make()
        train, test = train_test_split(np.arange(len(y)), test_size=TEST_SHARE, random_state=self.seed)
        learned, train = (train[::2], train[1::2]) if self.fresh else (train, train)
        self.train, self.test = (frame.iloc[rows].reset_index(drop=True) for rows in (train, test))
        self.y_test = y[test]
        self.encoding = Encoding.fit(self.train)
        self.coding = Coding(self.encoding)
        model = self._fit_model(self.encoding.transform(frame.iloc[learned]), y[learned])
        self.black_box = NumberModel(self.encoding, model)
        rng = np.random.default_rng([self.seed, 7])
        self.rows: IntArray = np.sort(rng.permutation(len(self.test))[: self.n_rows])
        behind = np.sort(rng.permutation(len(self.train))[:BACKGROUND_ROWS])
        self.background = self.train.iloc[behind].reset_index(drop=True)
        self.explained = self.test.iloc[self.rows].reset_index(drop=True)
        self.X, self.B = self.coding.codes(self.explained), self.coding.codes(self.background)

    def _fit_model(self, X: FloatArray, y: FloatArray) -> Any:
        model = make_model(self.model, self.seed, len(X), self.source.positive)
        name = f"{self.data.removesuffix('-log')}-{self.model}-{self.seed}-{_digest(repr(model), X, y)}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return cached(cache_folder("regression") / f"{name}.joblib", lambda: model.fit(X, y))

    @cached_property
    def p_train(self) -> FloatArray:
        """Predictions on the training rows, (n,)."""
        return self.black_box.predict(self.train)

    @cached_property
    def p_test(self) -> FloatArray:
        return self.black_box.predict(self.test)

    def score(self, codes: FloatArray) -> FloatArray:
        """Return the function that is explained, (n, 1): the prediction, or its logarithm."""
        answers = self.black_box.predict_encoded(self.coding.encode(codes))[:, None]
        return np.log(answers) if self.source.link == "log" else answers

    def reference(self, noise: float = NOISE, most_queries: int = MOST_QUERIES) -> Reference:
        """Return the Shapley values of the explained rows; they are computed once and then read from disk."""
        key = _digest(
            f"{noise} {most_queries} {self.source.link}", self.X, self.B, self.score(self.X).round(9)
        )
        path = cache_folder("regression") / f"{self.data}-{self.model}-{self.seed}-{key}.npz"
        if path.exists():
            with np.load(path) as kept:
                facts = int(kept["queries"]), str(kept["how"]), float(kept["seconds"])
                return Reference(kept["first"], kept["second"], *facts)
        found = compute_reference(self, noise, most_queries)
        part = path.with_name(f"{path.stem}.{os.getpid()}.npz")
        facts = {"queries": found.queries, "how": found.how, "seconds": found.seconds}
        np.savez_compressed(part, first=found.first, second=found.second, **facts)
        os.replace(part, path)
        return found


def compute_reference(case: Case, noise: float = NOISE, most_queries: int = MOST_QUERIES) -> Reference:
    """Return exact values where all sets of features can be asked about or trees be read, else walks."""
    start, n_features = time.perf_counter(), case.X.shape[1]
    queries = len(case.X) * 2**n_features * len(case.B)
    if n_features <= MOST_FEATURES and queries <= most_queries:
        values, how = enumerate_sets(case.score, case.X, case.B), "enumeration"
    else:
        values, how, queries = tree_values(case), "trees", 0
    if values is not None:
        return Reference(values, values, queries, how, time.perf_counter() - start)
    options = {"noise": noise, "most_queries": most_queries, "seed": case.seed}
    found = walk(case.score, case.X, case.B, **options)
    return replace(found, how="walks", seconds=time.perf_counter() - start)


def tree_values(case: Case) -> FloatArray | None:
    """Return TreeExplainer's interventional values, (n, features, 1), if columns are features, else None."""
    if case.model not in TREES or case.coding.categorical or case.source.positive:
        return None
    try:
        from shap import TreeExplainer, maskers
    except ImportError:
        return None
    behind = maskers.Independent(case.coding.encode(case.B), max_samples=len(case.B))
    explainer = TreeExplainer(case.black_box.model, behind, feature_perturbation="interventional")
    values = np.asarray(explainer.shap_values(case.coding.encode(case.X), check_additivity=False))
    gain = case.score(case.X) - case.score(case.B).mean(axis=0)
    missed = np.square(values.sum(axis=1)[:, None] - gain).mean()
    return values[:, :, None] if missed <= SAME * max(gain.var(), 1e-12) else None


def _digest(text: str, *parts: FloatArray) -> str:
    found = hashlib.sha256(text.encode())
    for part in parts:
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()[:12]
