"""The real shap package draws what `to_shap` gives it."""

import sys

import matplotlib as mpl
import numpy as np
import pytest

from illume.errors import MissingExtraError
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


@pytest.fixture(scope="module")
def several(three_class_pullback, three_class):
    """Three classes, with rows that were refined among them."""
    batch = three_class_pullback(three_class[1])
    refined = np.flatnonzero(batch.refinement.refined)
    return batch[np.concatenate([refined[:5], np.flatnonzero(batch.agreed)[:15]])]


def texts():
    """All that is written in the current figure."""
    return [text.get_text() for text in plt.gcf().findobj(mpl.text.Text)]


def test_the_explanation_holds_the_same_numbers(attributions):
    explanation = attributions.to_shap()
    np.testing.assert_array_equal(explanation.values, attributions.values)
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(1), attributions.scores)
    assert explanation.feature_names == list(attributions.feature_names)
    assert explanation[0].display_data[3] in ("low", "middle", "high")


BATCH_PLOTS = {
    "bar": lambda e: shap.plots.bar(e, show=False),
    "bar of means": lambda e: shap.plots.bar(e.abs.mean(0), show=False),
    "bar of cohorts": lambda e: shap.plots.bar(e.cohorts(["a", "b"] * (len(e) // 2)).abs.mean(0), show=False),
    "beeswarm": lambda e: shap.plots.beeswarm(e, show=False),
    "violin": lambda e: shap.plots.violin(e, show=False),
    "heatmap": lambda e: shap.plots.heatmap(e, show=False),
    "scatter of numbers": lambda e: shap.plots.scatter(e[:, 0], show=False),
    "scatter of the last": lambda e: shap.plots.scatter(e[:, 3], show=False),
    "coloured scatter": lambda e: shap.plots.scatter(e[:, 0], color=e[:, 3], show=False),
    "scatter of all": lambda e: shap.plots.scatter(e, show=False),
    "decision": lambda e: shap.plots.decision(
        e.base_values[0], e.values, e.data, e.feature_names, show=False
    ),
    "force of many": lambda e: shap.plots.force(e),
    "group difference": lambda e: shap.plots.group_difference(
        e.values, np.arange(len(e)) < 10, e.feature_names, show=False
    ),
    "embedding": lambda e: shap.plots.embedding(0, e.values, e.feature_names, show=False),
}
ROW_PLOTS = {
    "bar": lambda e: shap.plots.bar(e, show=False),
    "waterfall": lambda e: shap.plots.waterfall(e, show=False),
    "force": lambda e: shap.plots.force(e, matplotlib=True, show=False),
    "decision": lambda e: shap.plots.decision(
        e.base_values, e.values, e.display_data, e.feature_names, show=False
    ),
}


SOME = {"scatter of numbers": [0], "scatter of the last": [3], "coloured scatter": [0, 3], "embedding": [0]}


@pytest.mark.parametrize("kind", BATCH_PLOTS)
def test_shap_draws_a_batch_of_two_classes_and_one_class_of_several(kind, attributions, several):
    explanations = [
        attributions.to_shap(),
        several.to_shap("mid"),
        several.to_shap()[:, :, 1],
        several.to_shap("mid", offset="feature"),
    ]
    for explanation in explanations:
        drawn = BATCH_PLOTS[kind](explanation)
        if kind == "force of many":
            assert len(drawn.data["explanations"]) == len(explanation)
            assert list(drawn.data["featureNames"]) == explanation.feature_names
            continue
        plt.gcf().canvas.draw()
        names = explanation.feature_names
        wanted = {names[j] for j in SOME.get(kind, range(len(names)))}
        assert wanted <= {text.split("\n")[-1] for text in texts()}
        plt.close("all")


@pytest.mark.parametrize("draw", ROW_PLOTS.values(), ids=ROW_PLOTS)
def test_shap_draws_one_row_and_shows_its_category(draw, attributions, several):
    draw(several[0].to_shap())
    draw(several[0].to_shap(offset="feature"))
    plt.close("all")
    draw(attributions[0].to_shap())
    plt.gcf().canvas.draw()
    assert any(attributions[0].data[3] in text for text in texts())


def test_a_scatter_has_the_categories_on_its_axis(attributions):
    shap.plots.scatter(attributions.to_shap()[:, "education"], show=False)
    plt.gcf().canvas.draw()
    assert {"low", "middle", "high"} <= set(texts())


@pytest.mark.parametrize("offset", ["base", "feature"])
def test_base_values_and_contributions_add_up_for_refined_rows_too(offset, several):
    assert several.refinement.refined.any()
    explanation = several.to_shap(offset=offset)
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(1), several.scores)
    short = several.top(2).to_shap(offset=offset)
    np.testing.assert_allclose(short.base_values + short.values.sum(1), several.scores)


def test_as_a_feature_the_offset_leaves_one_base_value_for_all_rows(several, attributions):
    explanation = several.to_shap("top", offset="feature")
    assert len(np.unique(explanation.base_values)) == 1
    assert explanation.feature_names == [*several.feature_names, "offset of the refinement"]
    forces = shap.plots.force(explanation).data["explanations"]
    drawn = [force["outValue"] for force in forces]
    np.testing.assert_allclose(drawn, several.scores[:, 2])
    agreed = attributions[attributions.agreed].to_shap(offset="feature")
    assert agreed.feature_names == list(attributions.feature_names)


def test_an_offset_goes_into_the_base_or_is_a_feature(attributions):
    with pytest.raises(ValueError, match="offset must be 'base' or 'feature', found 'none'"):
        attributions.to_shap(offset="none")


def test_shap_draws_what_changed_over_many_rows(loan_explainer):
    e = loan_explainer(loans(200, seed=6)).to_shap()
    shap.plots.monitoring(0, e.values, e.data, e.feature_names, show=False)


def test_one_row_of_several_classes_is_about_the_decided_one(several):
    assert several.to_shap().shape == (20, 4, 3)
    np.testing.assert_allclose(several[0].to_shap().values, several[0].contributions())


def test_without_shap_the_extra_is_named(attributions, monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(MissingExtraError, match=r'pip install "illume\[shap\]"'):
        attributions.to_shap()
