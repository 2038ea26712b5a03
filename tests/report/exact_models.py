"""Six models that are read exactly, and rows for them: trees of all kinds, and a sum of terms."""

import warnings

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

KINDS = ("boosting", "categories and gaps", "forest", "three classes", "regression", "linear")


def rows(kind, n, seed=0):
    """Return n rows of eight features; some kinds have categories, and gaps."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 8)).round(4), columns=[f"x{j}" for j in range(8)])
    X["x5"] = rng.integers(0, 9, n)
    if kind in ("categories and gaps", "linear"):
        X["x1"] = X["x1"].where((rng.random(n) > 0.1) | (kind == "linear"))
        X["x4"] = pd.Categorical(rng.choice(["low", "middle", "high", "very high"], n))
        X["x6"] = pd.Categorical(rng.choice([f"town {i}" for i in range(12)], n))
    return X


def labels(X):
    """Return numbers that a few columns make."""
    number = X["x0"] * X["x2"] + X["x1"].fillna(1.0) ** 2 - 0.2 * X["x5"]
    high = X["x4"] if pd.api.types.is_float_dtype(X["x4"]) else (X["x4"] == "high").astype(float)
    return (number + high).to_numpy(dtype=float)


def fit_model(kind, n=1_000, trees=40, leaves=15):
    """Return a model, and the rows that it was fitted on."""
    X = rows(kind, n)
    y = labels(X)
    binary = (y > np.median(y)).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _fit(kind, X, y, binary, trees=trees, leaves=leaves), X


def _fit(kind, X, y, binary, *, trees, leaves):
    if kind == "boosting":
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=trees, max_depth=4, n_jobs=1).fit(X, binary)
    if kind == "categories and gaps":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=trees, num_leaves=leaves, n_jobs=1, verbose=-1).fit(X, binary)
    if kind == "forest":
        return RandomForestClassifier(trees, max_leaf_nodes=leaves, random_state=0, n_jobs=1).fit(X, binary)
    if kind == "three classes":
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(n_estimators=trees // 2, num_leaves=leaves, n_jobs=1, verbose=-1)
        return model.fit(X, np.searchsorted(np.quantile(y, [0.3, 0.7]), y))
    if kind == "regression":
        from xgboost import XGBRegressor

        return XGBRegressor(n_estimators=trees, max_depth=5, n_jobs=1).fit(X, 100 * y)
    onehot = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["x4", "x6"]), remainder=StandardScaler()
    )
    return make_pipeline(onehot, LogisticRegression()).fit(X, binary)


def edited(X, n, seed=1):
    """Return n rows of X in which one to three values are another row's."""
    rng = np.random.default_rng(seed)
    made = X.iloc[rng.integers(len(X), size=n)].reset_index(drop=True)
    others = X.iloc[rng.integers(len(X), size=n)].reset_index(drop=True)
    n_changes = rng.integers(1, 4, n)
    ranks = rng.random((n, X.shape[1])).argsort(1)
    for j, name in enumerate(X.columns):
        made[name] = made[name].where(ranks[:, j] >= n_changes, others[name])
    return made
