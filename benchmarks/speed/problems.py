"""Rows to explain and models that decide about them: generated, or adult; the same in every process."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from benchmarks.cache import cache_folder
from illume._typing import FloatArray, IntArray

TRAINING_ROWS = 10_000
MOST_VALUES = 105_000_000  # of all rows to explain together: 840 MB
N_LATENTS = 8
TREES = {"n_estimators": 300, "max_depth": 8}
LAYERS = (128, 64)


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, the rows it was fitted on, and rows to explain."""

    name: str
    model_name: str
    X_train: FloatArray
    y_train: IntArray
    model: Any
    steps: int = 0  # the most training steps of illume; 0 leaves the default

    @property
    def n_features(self) -> int:
        """Return how many columns there are."""
        return self.X_train.shape[1]

    @property
    def explainer_path(self) -> Path:
        """Return where the fitted explainer is kept."""
        few = f"-{self.steps}-steps" if self.steps else ""
        return _folder() / f"{self.name}-{self.model_name}{few}.illume"

    def most_rows(self, n: int) -> int:
        """Return n, or how many rows memory holds well."""
        return min(n, MOST_VALUES // self.n_features)

    def rows(self, n: int) -> FloatArray:
        """Return rows that the model was not fitted on, always the same first ones; no more than fit well.

        Of adult there are 9,769; more of them are drawn with replacement.
        """
        n = self.most_rows(n)
        if self.name == "adult":
            test = adult()[1]
            return test[np.random.default_rng(2).integers(len(test), size=n)]
        return generated(n, self.n_features, seed=1)


def load(name: str, model_name: str, steps: int = 0, threads: int = 2) -> Problem:
    """Return a problem; its model is fitted once, and kept."""
    X, y = training(name)
    path = _folder() / f"{name}-{model_name}.joblib"
    if not path.exists():
        part = path.with_suffix(f".{os.getpid()}")
        joblib.dump(MAKERS[model_name](threads).fit(X, y), part)
        os.replace(part, path)
    model = joblib.load(path)
    if model_name == "lightgbm":
        model.set_params(n_jobs=threads)
    return Problem(name, model_name, X, y, model, steps)


def training(name: str) -> tuple[FloatArray, IntArray]:
    """Return the rows to fit on, with their labels."""
    if name == "adult":
        X, _, y = adult()
        return X, y
    X = generated(TRAINING_ROWS, int(name.removeprefix("m")), seed=0)
    return X, labels(X)


def generated(n: int, m: int, seed: int) -> FloatArray:
    """Return n rows of m columns, standard normal, every third one like the column before.

    >>> generated(5, 4, seed=0).shape
    (5, 4)
    """
    X = np.random.default_rng(seed).standard_normal((n, m))
    for j in range(2, m, 3):
        X[:, j] = 0.6 * X[:, j - 1] + 0.8 * X[:, j]
    return X


def labels(X: FloatArray, seed: int = 0) -> IntArray:
    """Return classes that eight columns decide, most of them not linearly, with some noise."""
    score = 2 * X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] ** 2 - 1
    score += X[:, 4:8] @ [1.0, -0.5, 0.5, -0.25]
    noise = np.random.default_rng(seed).normal(0, 0.3, len(X))
    return (score + noise > 0).astype(int)


def adult() -> tuple[FloatArray, FloatArray, IntArray]:
    """Return training rows, rows to explain and training labels of adult, one-hot encoded: 105 columns."""
    from benchmarks.data.problem import Encoding, split
    from benchmarks.data.real import filled, table

    frame, y, _ = table("adult")
    rows = split(y, 0.2, 0)
    train, test = filled(*(frame.iloc[part] for part in rows), ())
    encoding = Encoding.fit(train)
    return encoding.transform(train), encoding.transform(test), y[rows[0]]


def _lightgbm(threads: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(**TREES, random_state=0, n_jobs=threads, verbose=-1)


def _mlp(threads: int) -> Any:  # its matrix products have the threads of the process
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(LAYERS, random_state=0, max_iter=20)


MAKERS = {"lightgbm": _lightgbm, "mlp": _mlp}


class Asked:
    """A model that keeps how long it was asked; time in which several threads ask it counts once."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.classes_ = model.classes_
        self.seconds = 0.0
        self._lock, self._asking, self._since = threading.Lock(), 0, 0.0

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities, (n, c)."""
        with self._counted():
            return self.model.predict_proba(np.asarray(X, dtype=float))

    def predict(self, X: Any) -> IntArray:
        """Return the more probable class of each row."""
        return self.predict_proba(X).argmax(1)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._lock:
            self._since = self._since if self._asking else time.perf_counter()
            self._asking += 1
        try:
            yield
        finally:
            with self._lock:
                self._asking -= 1
                self.seconds += 0.0 if self._asking else time.perf_counter() - self._since


def _folder() -> Path:
    path = cache_folder() / "speed"
    path.mkdir(parents=True, exist_ok=True)
    return path
