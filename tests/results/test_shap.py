"""shap draws what `to_shap` returns."""

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from illume import Explainer
from illume.errors import MissingExtraError
from tests.common import brief_shapley, grouped, loans

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
shap = pytest.importorskip("shap")
ignore_warnings = pytest.mark.filterwarnings("ignore")  # shap's own


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def refined(three_class_pullback, three_class):
    """Three classes, with rows that were refined among them."""
    columns = three_class[1].columns
    batch = three_class_pullback(
        pd.DataFrame(np.random.default_rng(7).normal(size=(900, 4)), columns=columns)
    )
    refined = np.flatnonzero(batch.refinement.refined)
    return batch[np.concatenate([refined[:5], np.flatnonzero(batch.agreed)[:15]])]


def texts():
    return [text.get_text() for text in plt.gcf().findobj(mpl.text.Text)]


def test_a_shap_explanation_holds_the_same_numbers(binary, refined):
    explanation = binary.to_shap()
    np.testing.assert_array_equal(explanation.values, binary.values)
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(1), binary.scores)
    assert explanation.feature_names == list(binary.feature_names)
    assert explanation[0].display_data[3] in ("low", "middle", "high")
    assert refined.to_shap().shape == (20, 4, 3)
    np.testing.assert_allclose(refined[0].to_shap().values, refined[0].contributions())


BATCH_PLOTS = {
    "bar": lambda e: shap.plots.bar(e, show=False),
    "bar of means": lambda e: shap.plots.bar(e.abs.mean(0), show=False),
    "bar of cohorts": lambda e: shap.plots.bar(e.cohorts(["a", "b"] * (len(e) // 2)).abs.mean(0), show=False),
    "beeswarm": lambda e: shap.plots.beeswarm(e, show=False),
    "violin": lambda e: shap.plots.violin(e, show=False),
    "heatmap": lambda e: shap.plots.heatmap(e, show=False),
    "scatter of numbers": lambda e: shap.plots.scatter(e[:, 0], show=False),
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


DRAWN = {"scatter of numbers": [0], "coloured scatter": [0, 3], "embedding": [0]}  # features; else all


@ignore_warnings
@pytest.mark.parametrize("kind", BATCH_PLOTS)
def test_shap_draws_a_batch_of_two_classes_and_one_class_of_several(kind, binary, refined):
    one_class = [refined.to_shap("mid"), refined.to_shap()[:, :, 1], refined.to_shap("mid", offset="feature")]
    for explanation in (binary.to_shap(), *one_class):
        names, plot = explanation.feature_names, BATCH_PLOTS[kind](explanation)
        if kind == "force of many":
            assert len(plot.data["explanations"]) == len(explanation)
            assert list(plot.data["featureNames"]) == names
            continue
        plt.gcf().canvas.draw()
        expected = {names[j] for j in DRAWN.get(kind, range(len(names)))}
        assert expected <= {text.split("\n")[-1] for text in texts()}
        plt.close("all")


@ignore_warnings
@pytest.mark.parametrize("draw", ROW_PLOTS.values(), ids=ROW_PLOTS)
def test_shap_draws_one_row_and_shows_its_category(draw, binary, refined):
    draw(refined[0].to_shap())
    draw(refined[0].to_shap(offset="feature"))
    plt.close("all")
    draw(binary[0].to_shap())
    plt.gcf().canvas.draw()
    assert any(binary[0].data[3] in text for text in texts())


@ignore_warnings
def test_a_shap_scatter_has_the_categories_on_its_axis(binary):
    shap.plots.scatter(binary.to_shap()[:, "education"], show=False)
    plt.gcf().canvas.draw()
    assert {"low", "middle", "high"} <= set(texts())


@ignore_warnings
def test_shap_draws_changes_over_many_rows(loan_explainer):
    e = loan_explainer(loans(200, seed=6)).to_shap()
    shap.plots.monitoring(0, e.values, e.data, e.feature_names, show=False)


@pytest.mark.parametrize("offset", ["base", "feature"])
def test_base_values_and_contributions_add_up_for_refined_rows_too(offset, refined):
    assert refined.refinement.refined.any()
    for batch in (refined, refined.top(2)):
        explanation = batch.to_shap(offset=offset)
        np.testing.assert_allclose(explanation.base_values + explanation.values.sum(1), refined.scores)


def test_as_a_feature_the_offset_leaves_one_base_value_for_all_rows(refined, binary):
    explanation = refined.to_shap("top", offset="feature")
    assert len(np.unique(explanation.base_values)) == 1
    assert explanation.feature_names == [*refined.feature_names, "offset of the row"]
    forces = shap.plots.force(explanation).data["explanations"]
    np.testing.assert_allclose([force["outValue"] for force in forces], refined.scores[:, 2])
    agreed = binary[binary.agreed].to_shap(offset="feature")
    assert agreed.feature_names == list(binary.feature_names)
    with pytest.raises(ValueError, match="offset must be 'base' or 'feature', found 'none'"):
        binary.to_shap(offset="none")


@pytest.fixture(scope="module")
def numbers(three_class):
    """Attributions of one number, and of two."""
    X = three_class[1].head(40)

    def one(frame):
        return 1_000.0 * frame["a"].to_numpy() + 500.0 * frame["b"].to_numpy() ** 2

    def two(frame):
        return np.stack([one(frame), frame["c"].to_numpy()], axis=1)

    with brief_shapley():
        settings = grouped(queries=400, effort="quick", output_names=["price"])
        both = grouped(queries=400, effort="quick", output_names=["price", "size"])
        return Explainer(one, **settings).fit(X)(X), Explainer(two, **both).fit(X)(X)


@ignore_warnings
def test_shap_gets_numbers_in_their_own_units(numbers):
    one, two = numbers
    for explanation in (one.to_shap(), two.to_shap("price"), two.to_shap()[:, :, 0]):
        assert explanation.values.shape == (40, 4)
        assert explanation.output_names == "price"
        total = explanation.base_values + explanation.values.sum(1)
        np.testing.assert_allclose(total, one.predictions[:, 0])
        shap.plots.waterfall(explanation[0], show=False)
        shap.plots.beeswarm(explanation, show=False)
        plt.close("all")
    assert two.to_shap().output_names == ["price", "size"]


def test_without_shap_the_extra_is_named(binary, monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(MissingExtraError, match=r'pip install "illume\[shap\]"'):
        binary.to_shap()
