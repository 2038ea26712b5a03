"""Rows to explain and models for them: generated, or adult; the same in every process."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import cache_folder, cached
from illume._typing import FloatArray, IntArray

TRAINING_ROWS = 10_000
MOST_VALUES = 105_000_000  # of all rows to explain: 840 MB
N_LATENTS = 8
TREES = {"n_estimators": 300, "max_depth": 8}
LAYERS = (128, 64)


@dataclass(frozen=True, eq=False)
class Problem:
    """A model and the rows it was fitted on."""

    name: str
    model_name: str
    X_train: FloatArray
    y_train: IntArray
    model: Any
    steps: int = 0  # the most training steps of illume; 0 keeps the default

    @property
    def n_features(self) -> int:
        return self.X_train.shape[1]

    @property
    def explainer_path(self) -> Path:
        few = f"-{self.steps}-steps" if self.steps else ""
        return cache_folder("speed") / f"{self.name}-{self.model_name}{few}.illume"

    def most_rows(self, n: int) -> int:
        return min(n, MOST_VALUES // self.n_features)

    def rows(self, n: int) -> FloatArray:
        """Return at most n held-out rows, always the same first ones; of adult drawn with replacement."""
        n = self.most_rows(n)
        if self.name == "adult":
            test = adult()[1]
            return test[np.random.default_rng(2).integers(len(test), size=n)]
        return generate_rows(n, self.n_features, seed=1)


def load(name: str, model_name: str, steps: int = 0) -> Problem:
    """Return a problem; its model is fitted once and kept."""
    if name == "adult":
        X, _, y = adult()
    else:
        X = generate_rows(TRAINING_ROWS, int(name.removeprefix("m")), seed=0)
        y = generate_labels(X)
    path = cache_folder("speed") / f"{name}-{model_name}.joblib"
    model = cached(path, lambda: MODELS[model_name]().fit(X, y))
    if model_name == "lightgbm":
        model.set_params(n_jobs=int(os.environ.get("OMP_NUM_THREADS", "2")))
    return Problem(name, model_name, X, y, model, steps)


def generate_rows(n: int, m: int, seed: int) -> FloatArray:
    """Return standard normal rows (n, m); every third column is correlated with the one before.

    >>> generate_rows(5, 4, seed=0).shape
    (5, 4)
    """
    X = np.random.default_rng(seed).standard_normal((n, m))
    for j in range(2, m, 3):
        X[:, j] = 0.6 * X[:, j - 1] + 0.8 * X[:, j]
    return X


def generate_labels(X: FloatArray, seed: int = 0) -> IntArray:
    """Return classes that depend on eight columns, mostly not linearly, with some noise."""
    score = 2 * X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] ** 2 - 1
    score += X[:, 4:8] @ [1.0, -0.5, 0.5, -0.25]
    noise = np.random.default_rng(seed).normal(0, 0.3, len(X))
    return (score + noise > 0).astype(int)


def adult() -> tuple[FloatArray, FloatArray, IntArray]:
    """Return training rows, test rows and training labels of adult, one-hot encoded: 105 columns."""
    from benchmarks.data.problem import Encoding
    from benchmarks.data.real import split_table

    rows = split_table("adult")
    encoding = Encoding.fit(rows.train)
    return encoding.transform(rows.train), encoding.transform(rows.test), rows.y_train


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(**TREES, random_state=0, n_jobs=2, verbose=-1)


def _mlp() -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(LAYERS, random_state=0, max_iter=20)


MODELS = {"lightgbm": _lightgbm, "mlp": _mlp}
