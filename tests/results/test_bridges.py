"""What shapash and explainerdashboard are given adds up; tests/interop puts it to the packages themselves."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from illume.data.frames import Origin
from tests.common import loans


@pytest.fixture(scope="module")
def two(loan_explainer):
    rows = loans(60, seed=5)
    rows.index = pd.Index([f"r{i}" for i in range(60)])
    return loan_explainer(rows)


@pytest.fixture(scope="module")
def three(three_class_explainer, three_class):
    return three_class_explainer(three_class[1])


def test_shapash_gets_a_frame_of_the_second_class_and_both_base_values(two):
    given = two.to_shapash()
    frame, base = given["contributions"], given["base_values"]
    assert list(frame.columns) == list(two.feature_names)
    assert list(frame.index) == [f"r{i}" for i in range(60)]
    assert two.refinement.refined.any()
    np.testing.assert_allclose(base[:, 1] + frame.sum(axis=1), two.scores)
    np.testing.assert_allclose(base[:, 0] - frame.sum(axis=1), -two.scores)


def test_shapash_gets_a_frame_per_class_of_several(three):
    given = three.to_shapash()
    totals = np.stack([frame.sum(axis=1) for frame in given["contributions"]], axis=1)
    np.testing.assert_allclose(given["base_values"] + totals, three.scores)


def test_shapash_gets_pandas_whatever_the_rows_came_in(two):
    from_polars = replace(two, origin=Origin("polars")).to_shapash()["contributions"]
    pd.testing.assert_frame_equal(from_polars, two.to_shapash()["contributions"].reset_index(drop=True))


def test_a_dashboard_gets_opposite_values_of_two_classes(two):
    agreed = two[two.agreed]
    base, values = agreed.to_explainerdashboard()
    assert base == [-agreed.base_values[0], agreed.base_values[0]]
    np.testing.assert_array_equal(values[0], -values[1])
    np.testing.assert_allclose(base[1] + values[1].sum(1), agreed.scores)


def test_a_dashboard_gets_base_value_and_values_of_each_of_several_classes(three):
    agreed = three[three.agreed]
    base, values = agreed.to_explainerdashboard()
    assert all(isinstance(number, float) for number in base)
    totals = np.stack([b + v.sum(1) for b, v in zip(base, values, strict=True)], axis=1)
    np.testing.assert_allclose(totals, agreed.scores)


def test_one_is_warned_of_rows_that_a_dashboard_cannot_add_up(loan_pullback):
    two = loan_pullback(loans(60, seed=5))
    refined = int(two.refinement.refined.sum())
    with pytest.warns(UserWarning, match=rf"on {refined} of 60 rows .* offset of refined rows"):
        two.to_explainerdashboard()


def test_a_dashboard_without_rows_is_refused(two):
    with pytest.raises(ValueError, match="at least one row, found none"):
        two[:0].to_explainerdashboard()


class Dashboard:
    """What a `ClassifierExplainer` is to us."""

    model_output = "probability"

    def __init__(self, columns, n):
        self.columns, self.X = columns, range(n)

    def set_shap_values(self, base_value, shap_values):
        self.given = base_value, shap_values


def test_a_dashboard_that_is_passed_gets_the_values_as_log_odds(two):
    agreed = two[two.agreed]
    dashboard = Dashboard(agreed.feature_names, len(agreed))
    base, values = agreed.to_explainerdashboard(dashboard)
    assert dashboard.model_output == "logodds"
    assert dashboard.given[0] == base
    np.testing.assert_array_equal(dashboard.given[1], values)


@pytest.mark.parametrize(
    ("columns", "n", "message"),
    [
        (
            ["age", "income"],
            5,
            r"has the columns \['age', 'income'\], the attributions \['age', .*shap=\"kernel\"",
        ),
        (["age", "income", "owner", "education"], 7, "the dashboard has 7 rows, the attributions 5"),
    ],
)
def test_a_dashboard_of_other_columns_or_rows_is_refused(two, columns, n, message):
    with pytest.raises(ValueError, match=message):
        two[two.agreed][:5].to_explainerdashboard(Dashboard(columns, n))
