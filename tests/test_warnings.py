"""Warnings name the user's line, however deep in the library they arise."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

import illume
from illume.errors import (
    FewQueriesWarning,
    IgnoredColumnsWarning,
    LabelsOnlyWarning,
    LostDigitsWarning,
    TwinWarning,
)
from tests.common import brief_shapley, global_explainer, linear_black_box

ROWS = np.random.default_rng(0).normal(size=(130, 3))


def constant(tmp_path):
    global_explainer(linear_black_box([1.0, 1.0, 0.0])).fit(ROWS * [1, 1, 0])


def constant_of_a_file(tmp_path):
    pd.DataFrame(ROWS * [1, 1, 0], columns=["a", "b", "c"]).to_parquet(tmp_path / "rows.parquet")
    global_explainer(linear_black_box([1.0, 1.0, 0.0])).fit(tmp_path / "rows.parquet")


def many_values(tmp_path):
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(130)], "a": ROWS[:, 0]})
    global_explainer(lambda X: 1 / (1 + np.exp(-X["a"].to_numpy()))).fit(frame)


def whole_numbers(tmp_path):
    frame = pd.DataFrame({"code": 2**60 + np.arange(130), "a": ROWS[:, 0]})
    global_explainer(lambda X: 1 / (1 + np.exp(-X["a"].to_numpy()))).fit(frame)


def labels(tmp_path):
    global_explainer(lambda X: (X[:, 0] > 0).astype(int)).fit(ROWS)


def ignored(tmp_path):
    with brief_shapley():
        illume.Explainer(linear_black_box([1.0, 1.0, 0.0]), effort="quick", queries=6_000).fit(ROWS)


def time_for_queries(tmp_path):
    global_explainer(linear_black_box([1.0, 1.0, 1.0]), queries="1 s").fit(ROWS)


def few_queries(tmp_path):
    wide = np.random.default_rng(0).normal(size=(130, 12))
    model = MLPClassifier((4,), max_iter=20, random_state=0)
    with warnings.catch_warnings(action="ignore"):
        model.fit(wide, wide[:, 0] > 0)
    illume.Explainer(model, queries=60, effort="quick").fit(wide)


def changed_model(tmp_path):
    model = LogisticRegression().fit(ROWS, ROWS[:, 0] > 0)
    explainer = illume.Explainer(model).fit(ROWS)
    model.coef_ = 2 * model.coef_
    explainer(ROWS)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (constant, UserWarning),
        (constant_of_a_file, UserWarning),
        (many_values, UserWarning),
        (whole_numbers, LostDigitsWarning),
        (labels, LabelsOnlyWarning),
        (ignored, IgnoredColumnsWarning),
        (time_for_queries, UserWarning),
        (few_queries, FewQueriesWarning),
        (changed_model, TwinWarning),
    ],
)
def test_warnings_name_the_line_that_calls_illume(call, kind, tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(tmp_path)
    mine = [warning for warning in caught if issubclass(warning.category, kind)]
    assert mine
    assert {warning.filename for warning in mine} == {__file__}
