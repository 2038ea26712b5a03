import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from illume import Explainer, SurrogateOptions
from tests.common import FAST, loans


def explainer_of(codes, frame, **settings):
    text = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encode = make_column_transformer((text, ["education"]), remainder="passthrough")
    model = make_pipeline(encode, HistGradientBoostingClassifier(max_iter=20, random_state=0))
    settings |= {"queries": 300, "surrogate_options": SurrogateOptions(n_latents=3, training=FAST)}
    return Explainer(model.fit(frame, codes), **settings).fit(frame)


@pytest.fixture(scope="session")
def rows():
    """Rows whose index is no range."""
    frame = loans(60, seed=5)
    frame.index = pd.Index([f"r{i}" for i in range(len(frame))])
    return frame


@pytest.fixture(scope="session")
def two(loan_frame):
    """Two classes, coded 0 and 1."""
    income = loan_frame["income"].fillna(30.0)
    score = income + 10 * (loan_frame["education"] == "high") - 0.3 * loan_frame["age"]
    return explainer_of((score > 20).astype(int), loan_frame)


@pytest.fixture(scope="session")
def three(loan_frame):
    """Three classes, coded 0, 1 and 2."""
    income = loan_frame["income"].fillna(30.0)
    return explainer_of(np.digitize(income - 0.3 * loan_frame["age"], [5, 15]), loan_frame)


@pytest.fixture(scope="session")
def number(loan_frame):
    """One number."""
    income = loan_frame["income"].fillna(30.0)
    model = HistGradientBoostingRegressor(max_iter=20, random_state=0)
    frame = loan_frame[["age", "income"]]
    model.fit(frame, 900 * income - 300 * loan_frame["age"])
    return Explainer(model, queries=300, effort="quick").fit(frame)


@pytest.fixture(scope="session")
def pullback(loan_frame):
    """Three classes with the contributions of the paper."""
    income = loan_frame["income"].fillna(30.0)
    codes = np.digitize(income - 0.3 * loan_frame["age"], [5, 15])
    return explainer_of(codes, loan_frame, contributions="pullback")


@pytest.fixture(params=["two", "three"])
def explained(request, rows):
    """An explainer of two or three classes, and its attributions of the rows."""
    explainer = request.getfixturevalue(request.param)
    return explainer, explainer(rows)
