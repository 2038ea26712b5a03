"""shap draws what `to_shap` returns; values for shapash and explainerdashboard add up.

tests/interop runs the latter two packages themselves.
"""

import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from illume import Explainer
from illume.data.frames import Origin
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


def test_shapash_and_dashboards_get_one_frame_and_one_base_value_of_a_number(numbers):
    one, two = numbers
    for batch, output, c in ((one, None, 0), (two, "price", 0), (two, 1, 1)):
        found = batch.to_shapash(output)
        total = found["base_values"] + found["contributions"].sum(axis=1)
        np.testing.assert_allclose(total, batch.predictions[:, c])
        base, values = batch.to_explainerdashboard(output=output)
        assert isinstance(base, float)
        np.testing.assert_allclose(base + values.sum(1), batch.predictions[:, c])
    for give in (two.to_shapash, two.to_explainerdashboard):
        with pytest.raises(ValueError, match=r"output must be one of \['price', 'size'\], found None"):
            give()


def test_a_dashboard_of_a_number_is_told_that_values_are_in_its_units(numbers, binary):
    dashboard = Dashboard(numbers[0].feature_names, 40)
    numbers[0].to_explainerdashboard(dashboard)
    assert dashboard.model_output == "raw"
    with pytest.raises(ValueError, match="output is for models that answer with numbers"):
        binary.to_shapash("grant")


def test_without_shap_the_extra_is_named(binary, monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(MissingExtraError, match=r'pip install "illume\[shap\]"'):
        binary.to_shap()


def test_shapash_gets_a_frame_of_the_second_class_and_both_base_values(pullback):
    assert pullback.refinement.refined.any()
    pullback = replace(pullback, origin=Origin("pandas", pd.Index([f"r{i}" for i in range(60)])))
    found = pullback.to_shapash()
    frame, base = found["contributions"], found["base_values"]
    assert list(frame.columns) == list(pullback.feature_names)
    assert list(frame.index) == [f"r{i}" for i in range(60)]
    np.testing.assert_allclose(base[:, 1] + frame.sum(axis=1), pullback.scores)
    np.testing.assert_allclose(base[:, 0] - frame.sum(axis=1), -pullback.scores)
    from_polars = replace(pullback, origin=Origin("polars")).to_shapash()["contributions"]
    pd.testing.assert_frame_equal(from_polars, frame.reset_index(drop=True))


def test_shapash_and_dashboards_get_values_of_each_of_several_classes(several):
    found = several.to_shapash()
    totals = np.stack([frame.sum(axis=1) for frame in found["contributions"]], axis=1)
    np.testing.assert_allclose(found["base_values"] + totals, several.scores)
    base, values = several.to_explainerdashboard()
    assert all(isinstance(number, float) for number in base)
    totals = np.stack([b + v.sum(1) for b, v in zip(base, values, strict=True)], axis=1)
    np.testing.assert_allclose(totals, several.scores)


class Dashboard:
    """The part of a `ClassifierExplainer` that is used."""

    model_output = "probability"

    def __init__(self, columns, n):
        self.columns, self.X = columns, range(n)

    def set_shap_values(self, base_value, shap_values):
        self.given = base_value, shap_values


def test_a_dashboard_gets_opposite_values_of_two_classes_as_log_odds(binary):
    dashboard = Dashboard(binary.feature_names, len(binary))
    base, values = binary.to_explainerdashboard(dashboard)
    assert base == [-binary.base_values[0], binary.base_values[0]]
    np.testing.assert_array_equal(values[0], -values[1])
    np.testing.assert_allclose(base[1] + values[1].sum(1), binary.scores)
    assert dashboard.model_output == "logodds"
    assert dashboard.given[0] == base
    np.testing.assert_array_equal(dashboard.given[1], values)


def test_a_dashboard_warns_of_rows_that_do_not_add_up(pullback):
    n = int((pullback.offset != 0).sum())
    with pytest.warns(UserWarning, match=rf"on {n} of 60 rows .* no place for offsets"):
        pullback.to_explainerdashboard()


@pytest.mark.parametrize(
    ("columns", "n", "message"),
    [
        (["age"], 5, r"has the columns \['age'\], the attributions \['age', .*shap=\"kernel\""),
        (["age", "income", "owner", "education"], 7, "the dashboard has 7 rows, the attributions 5"),
    ],
)
def test_a_dashboard_of_other_columns_or_rows_raises(binary, columns, n, message):
    with pytest.raises(ValueError, match=message):
        binary[:5].to_explainerdashboard(Dashboard(columns, n))
    with pytest.raises(ValueError, match="at least one row, found none"):
        binary[:0].to_explainerdashboard()
