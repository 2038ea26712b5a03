"""Real models that answer some hundreds of rows a second, on adult or bank."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from benchmarks.cache import cache_folder
from benchmarks.data import real
from benchmarks.data.problem import Encoding, Problem, split
from illume._typing import FloatArray

DATA = ("adult", "bank")
TRAINING_ROWS = 20_000
NEIGHBOURS = 50
TIMED_ROWS = 1_000


def support_vectors() -> Any:
    """Return five RBF machines with calibrated probabilities: what scikit-learn makes of one by default."""
    return CalibratedClassifierCV(SVC(C=1.0))


def neighbours() -> Any:
    """Return a vote of 50 neighbours, the nearer the more, found by a tree."""
    return KNeighborsClassifier(NEIGHBOURS, weights="distance", algorithm="ball_tree")


MODELS: dict[str, Callable[[], Any]] = {"svm": support_vectors, "neighbours": neighbours}


def load(data: str, model: str, n_train: int = TRAINING_ROWS) -> Problem:
    """Return a slow model fitted on rows of a data set; it is kept."""
    frame, y, classes = real.table(data)
    rows = split(y, real.TEST_SHARE, 0)
    some = np.sort(np.random.default_rng(0).permutation(rows[0])[:n_train])
    train, test = real.filled(frame.iloc[some], frame.iloc[rows[1]], ())
    encoding = Encoding.fit(train)
    black_box = fitted(data, model, encoding.transform(train), y[some])
    return Problem(data, model, 0, "clean", train, test, y[some], y[rows[1]], classes, encoding, black_box)


def fitted(data: str, model: str, X: FloatArray, y: Any) -> Any:
    """Return the fitted model, from disk if it has been made before."""
    digest = hashlib.sha256(X.tobytes() + np.asarray(y).tobytes()).hexdigest()[:12]
    path = cache_folder() / "slow" / f"{data}-{model}-{digest}.joblib"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        joblib.dump(MODELS[model]().fit(X, y), part)
        os.replace(part, path)
    return joblib.load(path)


def rate(model: Any, X: FloatArray, rows: int = TIMED_ROWS) -> float:
    """Return how many rows a second a model answers, asked about many at once."""
    some = X[np.arange(rows) % len(X)]
    model.predict_proba(some[:10])
    start = time.perf_counter()
    model.predict_proba(some)
    return rows / (time.perf_counter() - start)
