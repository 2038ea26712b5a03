import os

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from illume import Explainer
from illume.twin import training_run
from tests.common import BRIEF_SIZES, FAST, encode_loans, grouped, loans

torch.set_num_threads(1)
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # shap would compile for seconds what tests call a few times
training_run.FEWEST_STEPS, training_run.FEWEST_WALKS = 40, 400
# Fits with few queries would train these networks longer than everything else.
sizes_of_effort = training_run.Effort.sizes
training_run.Effort.sizes = lambda effort, m, n: BRIEF_SIZES if n <= 1_000 else sizes_of_effort(effort, m, n)

QUICK = grouped(n_latents=3, queries=300, training=FAST)


@pytest.fixture(scope="session")
def loan_frame():
    return loans(200)


@pytest.fixture(scope="session")
def loan_model(loan_frame):
    """A Pipeline that eats raw columns: text, booleans, numbers, missing ones too."""
    X = loan_frame
    income = X["income"].fillna(30.0)
    y = np.where(income + 10 * (X["education"] == "high") - 0.3 * X["age"] > 20, "grant", "refuse")
    return _boosted(HistGradientBoostingClassifier(max_iter=20, random_state=0)).fit(X, y)


def _boosted(booster):
    """Return a Pipeline; a OneHotEncoder for one column would take most of the time of many tests."""
    return make_pipeline(FunctionTransformer(encode_loans), booster)


@pytest.fixture(scope="session")
def loan_explainer(loan_model, loan_frame):
    return Explainer(loan_model, **QUICK).fit(loan_frame)


@pytest.fixture(scope="session")
def loan_pullback(loan_model, loan_frame):
    """Contributions as in the paper: slopes times centred inputs."""
    return Explainer(loan_model, contributions="pullback", **QUICK).fit(loan_frame)


@pytest.fixture(scope="session")
def loan_measured(loan_model):
    """Shapley values whose errors were measured."""
    settings = QUICK | {"queries": 3_000, "effort": "quick", "twin": "learned"}
    return Explainer(loan_model, **settings).fit(loans(400, seed=9))


@pytest.fixture(scope="session")
def three_class():
    """A black box of three classes over numbers alone, and its rows."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(150, 4)), columns=list("abcd"))
    y = np.digitize(X["a"] + X["b"] ** 2, [0.3, 1.3])
    return RandomForestClassifier(10, random_state=0).fit(X, np.array(["low", "mid", "top"])[y]), X


@pytest.fixture(scope="session")
def three_class_pullback(three_class):
    model, X = three_class
    return Explainer(model, contributions="pullback", **QUICK).fit(X)


@pytest.fixture(scope="session")
def three_class_explainer(three_class):
    model, X = three_class
    return Explainer(model, **QUICK).fit(X)


@pytest.fixture(scope="session")
def limit_model(loan_frame):
    """A Pipeline on raw columns that answers with a number: how much may be lent."""
    X = loan_frame
    y = 1000 * (30 + X["income"].fillna(30.0) + 10 * (X["education"] == "high") - 0.3 * X["age"])
    return _boosted(HistGradientBoostingRegressor(max_iter=20, random_state=0)).fit(X, y)


@pytest.fixture(scope="session")
def limit_explainer(limit_model, loan_frame):
    settings = grouped(n_latents=3, queries=300, training=FAST, output_names=["limit"])
    return Explainer(limit_model, **settings).fit(loan_frame).fit_rules()


@pytest.fixture(scope="session")
def two_numbers():
    """A black box of two numbers, `size` and `weight`, its rows, and its explainer."""
    X = pd.DataFrame(np.random.default_rng(1).normal(size=(150, 3)), columns=list("abc"))
    Y = np.column_stack([X["a"] + X["b"] ** 2, 100 * X["c"] - 50 * X["a"]])
    model = RandomForestRegressor(20, random_state=0).fit(X, Y)
    settings = grouped(n_latents=3, queries=300, training=FAST, output_names=["size", "weight"])
    return model, X, Explainer(model, **settings).fit(X).fit_rules()
