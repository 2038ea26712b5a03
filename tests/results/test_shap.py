"""The real shap package draws what `to_shap` gives it."""

import sys

import matplotlib as mpl
import numpy as np
import pytest

from illume import MissingExtraError
from tests.common import loans

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
shap = pytest.importorskip("shap")
pytestmark = pytest.mark.filterwarnings("ignore")  # shap's own


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def attributions(loan_explainer):
    return loan_explainer(loans(30, seed=5))


def test_the_explanation_holds_the_same_numbers(attributions):
    explanation = attributions.to_shap()
    np.testing.assert_array_equal(explanation.values, attributions.values)
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(1), attributions.scores)
    assert explanation.feature_names == list(attributions.feature_names)
    assert explanation[0].display_data[3] in ("low", "middle", "high")


BATCH_PLOTS = {
    "bar": lambda e: shap.plots.bar(e, show=False),
    "beeswarm": lambda e: shap.plots.beeswarm(e, show=False),
    "violin": lambda e: shap.plots.violin(e, show=False),
    "heatmap": lambda e: shap.plots.heatmap(e, show=False),
    "scatter of numbers": lambda e: shap.plots.scatter(e[:, "age"], show=False),
    "scatter of categories": lambda e: shap.plots.scatter(e[:, "education"], show=False),
    "coloured scatter": lambda e: shap.plots.scatter(e[:, "age"], color=e[:, "income"], show=False),
    "decision": lambda e: shap.plots.decision(e.base_values[0], e.values, show=False),
    "force of many": lambda e: shap.plots.force(e),
    "group difference": lambda e: shap.plots.group_difference(e.values, np.arange(30) < 15, show=False),
    "embedding": lambda e: shap.plots.embedding("age", e.values, e.feature_names, show=False),
}
ROW_PLOTS = {
    "bar": lambda e: shap.plots.bar(e, show=False),
    "waterfall": lambda e: shap.plots.waterfall(e, show=False),
    "force": lambda e: shap.plots.force(e, matplotlib=True, show=False),
}


@pytest.mark.parametrize("draw", BATCH_PLOTS.values(), ids=BATCH_PLOTS)
def test_shap_draws_a_batch(draw, attributions):
    draw(attributions.to_shap())


@pytest.mark.parametrize("draw", ROW_PLOTS.values(), ids=ROW_PLOTS)
def test_shap_draws_one_row(draw, attributions):
    draw(attributions[0].to_shap())


def test_shap_draws_what_changed_over_many_rows(loan_explainer):
    e = loan_explainer(loans(200, seed=6)).to_shap()
    shap.plots.monitoring(0, e.values, e.data, e.feature_names, show=False)


def test_shap_draws_one_class_of_several(three_class_explainer, three_class):
    attributions = three_class_explainer(three_class[1].iloc[:30])
    assert attributions.to_shap().shape == (30, 4, 3)
    shap.plots.beeswarm(attributions.to_shap("mid"), show=False)
    shap.plots.bar(attributions.to_shap("top"), show=False)
    shap.plots.waterfall(attributions[0].to_shap(), show=False)
    explained = attributions[0].to_shap()
    np.testing.assert_allclose(explained.values, attributions[0].contributions())


def test_without_shap_the_extra_is_named(attributions, monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(MissingExtraError, match=r'pip install "illume\[shap\]"'):
        attributions.to_shap()
