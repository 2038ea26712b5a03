"""Black boxes to explain: a small search for each, and the fitted ones kept on disk."""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from benchmarks.cache import cache_folder
from benchmarks.data.problem import split
from illume._typing import FloatArray, IntArray
from illume.metrics import macro_f1

VALIDATION_SHARE = 0.15


@dataclass(frozen=True, eq=False)
class Samples:
    """Encoded rows and label codes to fit with and to test on."""

    X_train: FloatArray
    y_train: IntArray
    X_test: FloatArray
    y_test: IntArray
    n_classes: int


class AllClasses:
    """A classifier that answers with a column for every class, also one it has never seen.

    Classes with fewer than `least` training rows are left out and get probability 0.
    """

    def __init__(self, classifier: Any, n_classes: int, least: int = 1) -> None:
        self.classifier = classifier
        self.n_classes = n_classes
        self.least = least

    def fit(self, X: FloatArray, y: IntArray) -> Self:
        """Fit on the classes that have rows enough, numbered without gaps as XGBoost wants them."""
        self.seen_ = np.flatnonzero(np.bincount(y, minlength=self.n_classes) >= self.least)
        kept = np.isin(y, self.seen_)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.classifier.fit(X[kept], np.searchsorted(self.seen_, y[kept]))
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return probabilities, (n, n_classes)."""
        P = np.zeros((len(X), self.n_classes))
        with warnings.catch_warnings():
            # LightGBM names the columns of an array itself, then misses the names
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            P[:, self.seen_] = self.classifier.predict_proba(X)
        return P / P.sum(axis=1, keepdims=True)  # some libraries answer in single precision


def _xgboost(seed: int, **options: Any) -> Any:
    from xgboost import XGBClassifier  # each library is optional

    return XGBClassifier(random_state=seed, n_jobs=1, verbosity=0, **options)


def _lightgbm(seed: int, **options: Any) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        random_state=seed, n_jobs=1, verbose=-1, deterministic=True, force_row_wise=True, **options
    )


def _catboost(seed: int, **options: Any) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False, **options
    )


def _forest(seed: int, **options: Any) -> Any:
    return RandomForestClassifier(random_state=seed, n_jobs=1, **options)


def _svm(seed: int, **options: Any) -> Any:  # nothing is random
    return CalibratedClassifierCV(SVC(**options), cv=2, ensemble=False)


def _mlp(seed: int, **options: Any) -> Any:
    return MLPClassifier(random_state=seed, max_iter=200, **options)


@dataclass(frozen=True)
class Search:
    """How to make a black box, the settings to choose from, the library it comes from."""

    make: Callable[..., Any]
    settings: tuple[dict[str, Any], ...]
    library: str
    least: int = 1  # rows a class must have


SEARCHES = {
    "xgb": Search(
        _xgboost,
        (
            {"max_depth": 6, "n_estimators": 100, "learning_rate": 0.3},
            {"max_depth": 6, "n_estimators": 100, "learning_rate": 0.1},
            {"max_depth": 3, "n_estimators": 100, "learning_rate": 0.3},
            {"max_depth": 3, "n_estimators": 300, "learning_rate": 0.1},
            {"max_depth": 4, "n_estimators": 300, "learning_rate": 0.05},
            {"max_depth": 2, "n_estimators": 300, "learning_rate": 0.1},
        ),
        "xgboost",
    ),
    "lgb": Search(
        _lightgbm,
        (
            {"num_leaves": 31, "n_estimators": 100, "learning_rate": 0.1},
            {"num_leaves": 31, "n_estimators": 100, "learning_rate": 0.1, "min_child_samples": 5},
            {"num_leaves": 31, "n_estimators": 100, "learning_rate": 0.3, "min_child_samples": 5},
            {"num_leaves": 7, "n_estimators": 300, "learning_rate": 0.1, "min_child_samples": 5},
            {"num_leaves": 15, "n_estimators": 300, "learning_rate": 0.05},
            {"num_leaves": 4, "n_estimators": 300, "learning_rate": 0.1},
        ),
        "lightgbm",
    ),
    "ctb": Search(
        _catboost,
        (
            {"depth": 6, "iterations": 100, "learning_rate": 0.3},
            {"depth": 6, "iterations": 100, "learning_rate": 0.1},
            {"depth": 4, "iterations": 100, "learning_rate": 0.3},
            {"depth": 4, "iterations": 300, "learning_rate": 0.1},
            {"depth": 6, "iterations": 300, "learning_rate": 0.05},
            {"depth": 2, "iterations": 300, "learning_rate": 0.1},
        ),
        "catboost",
    ),
    "forest": Search(
        _forest,
        (
            {"n_estimators": 100},
            {"n_estimators": 100, "min_samples_leaf": 3},
            {"n_estimators": 100, "max_features": 0.5, "min_samples_leaf": 2},
        ),
        "scikit-learn",
    ),
    "svm": Search(_svm, ({"C": 1.0}, {"C": 10.0}), "scikit-learn", least=2),
    "mlp": Search(
        _mlp,
        (
            {"hidden_layer_sizes": (64,), "alpha": 1e-4},
            {"hidden_layer_sizes": (64,), "alpha": 1.0},
            {"hidden_layer_sizes": (64, 32), "alpha": 1e-2},
        ),
        "scikit-learn",
    ),
}


def fitted(data: str, name: str, seed: int, protocol: str, samples: Samples) -> AllClasses:
    """Return the chosen and fitted black box, from disk if it has been made before."""
    if name not in SEARCHES:
        raise ValueError(f"no black box is called {name!r}; there are {', '.join(SEARCHES)}")
    path = cache_folder() / f"{data}-{name}-{seed}-{protocol}-{_digest(name, samples)}.joblib"
    if path.exists():
        return joblib.load(path)
    model = searched(name, seed, protocol, samples)
    _write(model, path)
    return model


def searched(name: str, seed: int, protocol: str, samples: Samples) -> AllClasses:
    """Choose settings by macro-F1 and fit on all training rows; of equals the first.

    The clean protocol judges settings on rows set apart from the training rows, the paper's on the
    test rows.
    """
    if protocol == "paper":
        fit_X, fit_y, seen_X, seen_y = samples.X_train, samples.y_train, samples.X_test, samples.y_test
    else:
        kept, apart = split(samples.y_train, VALIDATION_SHARE, seed)
        fit_X, fit_y = samples.X_train[kept], samples.y_train[kept]
        seen_X, seen_y = samples.X_train[apart], samples.y_train[apart]
    search = SEARCHES[name]
    best, best_f1 = None, -1.0
    for setting in search.settings:
        model = AllClasses(search.make(seed, **setting), samples.n_classes, search.least).fit(fit_X, fit_y)
        f1 = macro_f1(seen_y, model.predict_proba(seen_X).argmax(axis=1))
        if f1 > best_f1:
            best, best_f1, chosen = model, f1, setting
    if protocol == "paper":
        return best
    again = AllClasses(search.make(seed, **chosen), samples.n_classes, search.least)
    return again.fit(samples.X_train, samples.y_train)


def _digest(name: str, samples: Samples) -> str:
    """Return a name for what decides the fitted model: rows, settings, library."""
    search = SEARCHES[name]
    key = hashlib.sha256(f"{search.settings} {search.library} {version(search.library)}".encode())
    for part in (samples.X_train, samples.y_train, samples.X_test, samples.y_test):
        key.update(np.ascontiguousarray(part).tobytes())
    return key.hexdigest()[:12]


def _write(model: AllClasses, path: Path) -> None:
    """Write beside the file, then rename: whoever reads meanwhile sees all of it or nothing."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    os.close(handle)
    try:
        joblib.dump(model, temporary)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
