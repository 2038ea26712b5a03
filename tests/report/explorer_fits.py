"""Six explainers that differ in all that the explorer's engine computes with."""

import warnings
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pandas as pd

from illume import Explainer
from tests.common import FAST, brief_shapley, grouped, use_local

BRIEF = replace(FAST, max_epochs=2, patience=2)
KINDS = ("binary", "seven classes", "regression", "mixed", "hundred features", "low rank")


def rows(kind, n, seed=0, m=8):
    """Return n rows; those of the mixed frame have gaps, booleans, codes, rare categories and a constant."""
    rng = np.random.default_rng(seed)
    m = 100 if kind == "hundred features" else m
    X = pd.DataFrame(rng.normal(size=(n, m)), columns=[f"x{j}" for j in range(m)])
    if kind != "mixed":
        return X
    X["x1"] = X["x1"].where(rng.random(n) > 0.1)
    X["x2"] = (10 * X["x2"]).round()
    X["x3"] = X["x3"] > 0
    X["x4"] = rng.choice(["low", "middle", "high", None], n)
    X["x5"] = rng.integers(0, 3, n)
    X["x6"] = rng.choice([f"town {i}" for i in range(80)], n)
    X["x7"] = 5.0
    return X


def score(X):
    """What the black boxes compute: sums, squares and products of a few columns."""
    number = [
        pd.to_numeric(X[f"x{j}"], errors="coerce").fillna(0.5).astype(float).to_numpy() for j in range(4)
    ]
    high = X["x4"] if pd.api.types.is_float_dtype(X["x4"]) else X["x4"] == "high"
    return number[0] + number[1] ** 2 - 0.5 * number[2] * number[3] + high.to_numpy(dtype=float)


def answer_binary(X):
    return 1 / (1 + np.exp(1 - score(X)))


def answer_seven(X):
    powers = np.exp(-np.abs(score(X)[:, None] - np.arange(-2, 5)))
    return powers / powers.sum(1, keepdims=True)


def answer_number(X):
    return 1000 + 50 * score(X)


def answer_factor(X):
    return np.exp(0.3 * score(X))


MODELS = {"seven classes": answer_seven, "regression": answer_number, "low rank": answer_factor}


def fit(kind, n=160, brief=True):
    """Fit an explainer: for a second, or with networks of the usual size."""
    settings = {"queries": 300, "n_latents": 3, "training": BRIEF} if brief else {"queries": 20_000}
    if kind == "mixed":
        settings |= {"categorical": ["x5"]}
    if kind == "low rank":
        settings |= {"rank": 2, "task": "regression", "link": "log"}
    if kind == "regression":
        settings |= {"task": "regression"}
    explainer = Explainer(
        MODELS.get(kind, answer_binary), effort="quick", verbose=False, **grouped(**settings)
    )
    X = rows(kind, n, m=8 if brief else 30)
    with warnings.catch_warnings(), brief_shapley() if brief else nullcontext():
        warnings.simplefilter("ignore", UserWarning)  # of the mixed frame's constant and of its many towns
        explainer.fit(X)
        if kind != "hundred features":
            explainer.fit_rules()
    return use_local(explainer) if brief else explainer
