"""Black boxes to explain: settings are searched, and fitted models are kept on disk."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Self

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from benchmarks.data.problem import split
from benchmarks.harness import cache_folder, cached
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
    """A classifier with a probability for every class, also for classes without training rows.

    Classes with fewer than `least` training rows are left out and get probability 0.
    """

    def __init__(self, classifier: Any, n_classes: int, least: int = 1) -> None:
        self.classifier, self.n_classes, self.least = classifier, n_classes, least

    def fit(self, X: FloatArray, y: IntArray) -> Self:
        """Fit on the classes with enough rows, numbered without gaps as XGBoost needs them."""
        self.seen_ = np.flatnonzero(np.bincount(y, minlength=self.n_classes) >= self.least)
        kept = np.isin(y, self.seen_)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.classifier.fit(X[kept], np.searchsorted(self.seen_, y[kept]))
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        P = np.zeros((len(X), self.n_classes))
        with warnings.catch_warnings():
            # LightGBM names the columns of an array, then warns that the names are missing
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            P[:, self.seen_] = self.classifier.predict_proba(X)
        return P / P.sum(axis=1, keepdims=True)  # some libraries answer in single precision


def _xgboost(seed: int, **options: Any) -> Any:
    from xgboost import XGBClassifier  # each library is optional

    return XGBClassifier(random_state=seed, n_jobs=1, verbosity=0, **options)


def _lightgbm(seed: int, **options: Any) -> Any:
    from lightgbm import LGBMClassifier

    usual = {"n_jobs": 1, "verbose": -1, "deterministic": True, "force_row_wise": True}
    return LGBMClassifier(random_state=seed, **usual, **options)


def _catboost(seed: int, **options: Any) -> Any:
    from catboost import CatBoostClassifier

    quiet = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
    return CatBoostClassifier(random_seed=seed, **quiet, **options)


def _forest(seed: int, **options: Any) -> Any:
    return RandomForestClassifier(random_state=seed, n_jobs=1, **options)


def _svm(seed: int, **options: Any) -> Any:  # deterministic
    return CalibratedClassifierCV(SVC(**options), cv=2, ensemble=False)


def _mlp(seed: int, **options: Any) -> Any:
    return MLPClassifier(random_state=seed, max_iter=200, **options)


def _neighbours(seed: int, **options: Any) -> Any:  # deterministic
    return KNeighborsClassifier(**options)


def _stacked(seed: int, **options: Any) -> Any:
    trees = ExtraTreesClassifier(50, max_depth=8, random_state=seed)
    boosted = HistGradientBoostingClassifier(max_iter=50, random_state=seed)
    parts = [("trees", trees), ("boosted", boosted), ("linear", LogisticRegression(max_iter=500))]
    return StackingClassifier(parts, cv=3, **options)


def _calibrated(seed: int, **options: Any) -> Any:
    boosted = HistGradientBoostingClassifier(max_iter=100, random_state=seed)
    return CalibratedClassifierCV(boosted, cv=3, **options)


@dataclass(frozen=True)
class Search:
    """A model, the settings to choose from, its library, and the rows that a class must have."""

    make: Callable[..., Any]
    settings: tuple[dict[str, Any], ...]
    library: str
    least: int = 1


def _settings(names: tuple[str, ...], *values: tuple[Any, ...]) -> tuple[dict[str, Any], ...]:
    """Return settings from tuples of values; a value that is not given keeps the library's default."""
    return tuple(dict(zip(names, row, strict=False)) for row in values)


_XGB = _settings(
    ("max_depth", "n_estimators", "learning_rate"),
    *((6, 100, 0.3), (6, 100, 0.1), (3, 100, 0.3), (3, 300, 0.1), (4, 300, 0.05), (2, 300, 0.1)),
)
_LGB = _settings(
    ("num_leaves", "n_estimators", "learning_rate", "min_child_samples"),
    *((31, 100, 0.1), (31, 100, 0.1, 5), (31, 100, 0.3, 5), (7, 300, 0.1, 5), (15, 300, 0.05), (4, 300, 0.1)),
)
_CTB = _settings(
    ("depth", "iterations", "learning_rate"),
    *((6, 100, 0.3), (6, 100, 0.1), (4, 100, 0.3), (4, 300, 0.1), (6, 300, 0.05), (2, 300, 0.1)),
)
_FOREST = (
    {"n_estimators": 100},
    {"n_estimators": 100, "min_samples_leaf": 3},
    {"n_estimators": 100, "max_features": 0.5, "min_samples_leaf": 2},
)
_MLP = _settings(("hidden_layer_sizes", "alpha"), ((64,), 1e-4), ((64,), 1.0), ((64, 32), 1e-2))
SEARCHES = {
    "xgb": Search(_xgboost, _XGB, "xgboost"),
    "lgb": Search(_lightgbm, _LGB, "lightgbm"),
    "ctb": Search(_catboost, _CTB, "catboost"),
    "forest": Search(_forest, _FOREST, "scikit-learn"),
    "svm": Search(_svm, ({"C": 1.0}, {"C": 10.0}), "scikit-learn", least=2),
    "mlp": Search(_mlp, _MLP, "scikit-learn"),
    "knn": Search(_neighbours, ({"n_neighbors": 15}, {"n_neighbors": 30}), "scikit-learn"),
    "stacked": Search(_stacked, ({},), "scikit-learn", least=3),
    "calibrated": Search(_calibrated, ({},), "scikit-learn", least=3),
}


def load_black_box(data: str, name: str, seed: int, protocol: str, samples: Samples) -> AllClasses:
    """Return the black box with the best settings; it is fitted once and then read from disk."""
    if name not in SEARCHES:
        raise ValueError(f"no black box is called {name!r}; choose from {', '.join(SEARCHES)}")
    path = cache_folder() / f"{data}-{name}-{seed}-{protocol}-{_digest(name, samples)}.joblib"
    return cached(path, lambda: search(name, seed, protocol, samples))


def search(name: str, seed: int, protocol: str, samples: Samples) -> AllClasses:
    """Choose the first setting with the best macro-F1 and fit it on all training rows.

    The clean protocol scores settings on validation rows, the paper's on the test rows.
    """
    if protocol == "paper":
        fit_X, fit_y, seen_X, seen_y = samples.X_train, samples.y_train, samples.X_test, samples.y_test
    else:
        kept, apart = split(samples.y_train, VALIDATION_SHARE, seed)
        fit_X, fit_y = samples.X_train[kept], samples.y_train[kept]
        seen_X, seen_y = samples.X_train[apart], samples.y_train[apart]
    known = SEARCHES[name]

    def fit(setting: dict[str, Any], X: FloatArray, y: IntArray) -> AllClasses:
        return AllClasses(known.make(seed, **setting), samples.n_classes, known.least).fit(X, y)

    models = [fit(setting, fit_X, fit_y) for setting in known.settings]
    scores = [macro_f1(seen_y, model.predict_proba(seen_X).argmax(axis=1)) for model in models]
    best = int(np.argmax(scores))
    if protocol == "paper":
        return models[best]
    return fit(known.settings[best], samples.X_train, samples.y_train)


def _digest(name: str, samples: Samples) -> str:
    """Return a name for all that determines the model: rows, settings, library."""
    known = SEARCHES[name]
    digest = hashlib.sha256(f"{known.settings} {known.library} {version(known.library)}".encode())
    for part in (samples.X_train, samples.y_train, samples.X_test, samples.y_test):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:12]
