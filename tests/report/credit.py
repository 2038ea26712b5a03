"""A credit set of our own, in the manner of the German one: a one-hot Pipeline before boosted trees."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

CODES = {
    "checking": ("none", "below 0", "0 to 200", "above 200"),
    "history": ("critical", "delayed", "paid", "all paid"),
    "purpose": ("car", "furniture", "radio", "education", "business"),
    "savings": ("below 100", "100 to 500", "above 500", "unknown"),
    "housing": ("rent", "own", "free"),
}
OFFER = 5_000, 5_150  # an amount that is granted to nearly everybody


def applicants(n, seed=0):
    """Return n applicants."""
    rng = np.random.default_rng(seed)
    numbers = {
        "duration": rng.integers(4, 73, n),
        "amount": rng.lognormal(7.8, 0.8, n).round(),
        "rate": rng.integers(1, 5, n),
        "age": rng.integers(19, 76, n),
        "credits": rng.integers(1, 5, n),
    }
    return pd.DataFrame(numbers | {name: rng.choice(levels, n) for name, levels in CODES.items()})


def fit_credit(n=1_000):
    """Return a model that refuses or grants, and the applicants that it was fitted on."""
    from lightgbm import LGBMClassifier

    X = applicants(n)
    risk = 0.05 * X["duration"] + X["amount"] / 4_000 - 0.03 * X["age"] + (X["checking"] == "below 0")
    risk += 0.8 * (X["history"] == "critical") - (X["savings"] == "above 500") + 0.3 * X["rate"]
    noise = np.random.default_rng(1).normal(0, 0.7, n)
    risk -= 5.0 * X["amount"].between(*OFFER)
    y = np.where(risk + noise > np.quantile(risk, 0.65), "refused", "granted")
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), list(CODES)), remainder="passthrough"
    )
    booster = LGBMClassifier(n_estimators=150, num_leaves=15, min_child_samples=4, n_jobs=1, verbose=-1)
    return make_pipeline(encoder.set_output(transform="pandas"), booster).fit(X, y), X
