"""The recipes of the guide on other packages: these show illume's contributions and draw them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from illume import Explainer
from tests.blocks import ROOT, prepared, run
from tests.common import loans

shapash = pytest.importorskip("shapash")
dashboards = pytest.importorskip("explainerdashboard")
pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("ignore")]  # of these packages
ROW = 5


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What the blocks of the guide leave behind."""
    names = prepared()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("guide"))
        run(ROOT / "docs" / "guides" / "interop.md", names)
    return names


def test_shapash_leads_from_our_base_value_to_our_score_for_both_classes(made):
    smart, attributions = made["smart"], made["coded"]
    for label, sign in ((0, -1), (1, 1)):
        kept = smart.explainer.contributions[label]
        np.testing.assert_allclose(kept.to_numpy(), sign * attributions.values)
        start = smart.plot._get_waterfall_base_value([made["X"].index[ROW]], label)
        assert start + kept.iloc[ROW].sum() == pytest.approx(sign * attributions.scores[ROW])
    strongest = smart.to_pandas(max_contrib=1)["feature_1"]
    assert strongest.iloc[ROW] == attributions[ROW].top(1).feature_names[0]


def test_shapash_draws_them(made):
    plot, index = made["smart"].plot, list(made["X"].index)
    figures = [
        plot.features_importance(),
        plot.contribution_plot("worst area"),
        plot.local_plot(index=index[ROW], plot_type="waterfall"),
        plot.compare_plot(index=index[:2]),
    ]
    assert all(figure.data for figure in figures)


def test_a_dashboard_leads_from_our_base_value_to_our_score_for_both_classes(made):
    dashboard, attributions = made["dashboard"], made["attributions"]
    for name, sign in zip(attributions.class_names, (-1, 1), strict=True):
        table = dashboard.get_contrib_df(str(ROW), pos_label=name).set_index("col")["contribution"]
        drawn = table[list(attributions.feature_names)].astype(float)
        np.testing.assert_allclose(drawn, sign * attributions.values[ROW])
        assert table["_PREDICTION"] == pytest.approx(sign * attributions.scores[ROW])


def test_a_dashboard_opens_and_draws_log_odds(made):
    dashboard = made["dashboard"]
    page = dashboards.ExplainerDashboard(dashboard, title="cells", whatif=False, shap_interaction=False)
    answer = page.app.server.test_client().get("/_dash-layout")
    assert answer.status_code == 200
    assert "cells" in answer.get_data(as_text=True)
    figure = dashboard.plot_contributions(str(ROW))
    assert "%" not in str(figure.layout.title.text) + str(figure.layout.yaxis.title.text)
    assert dashboard.plot_importances().data


@pytest.fixture(scope="module")
def three():
    """An explainer of a Pipeline of three classes, and rows with text whose index is no range."""
    frame = loans(200)
    text = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encode = make_column_transformer((text, ["education"]), remainder="passthrough")
    model = make_pipeline(encode, HistGradientBoostingClassifier(max_iter=20, random_state=0))
    model.fit(frame, np.digitize(frame["income"].fillna(30.0) - 0.3 * frame["age"], [5, 15]))
    rows = loans(60, seed=5)
    rows.index = pd.Index([f"r{i}" for i in range(len(rows))])
    return Explainer(model, queries=300, effort="quick").fit(frame), rows


def test_both_take_three_classes_in_the_forms_that_the_guide_says(three):
    explainer, rows = three
    attributions = explainer(rows)
    base, each = attributions.base_values, [attributions.values[:, :, k] for k in range(3)]
    frames = [pd.DataFrame(values, rows.index, rows.columns) for values in each]
    smart = shapash.SmartExplainer(model=explainer.model)
    smart.compile(x=rows, contributions={"contributions": frames, "base_values": base})
    truth = pd.Series(explainer.model.predict(rows), index=rows.index)
    dashboard = dashboards.ClassifierExplainer(explainer.model, rows, truth, shap="kernel")
    dashboard.model_output = "logodds"
    dashboard.set_shap_values(list(base[0]), each)
    for label, name in enumerate(attributions.class_names):
        np.testing.assert_allclose(smart.explainer.contributions[label].to_numpy(), each[label])
        table = dashboard.get_contrib_df(rows.index[ROW], pos_label=name).set_index("col")["contribution"]
        assert table["_PREDICTION"] == pytest.approx(attributions.scores[ROW, label])


def test_both_take_a_number_in_the_forms_that_the_guide_says():
    rows = loans(60, seed=5)[["age", "income"]].fillna(30.0)
    model = HistGradientBoostingRegressor(max_iter=20, random_state=0)
    model.fit(rows, 900 * rows["income"] - 300 * rows["age"])
    attributions = Explainer(model, queries=300, effort="quick").fit(rows)(rows)
    smart = shapash.SmartExplainer(model=model)
    values = pd.DataFrame(attributions.values, rows.index, rows.columns)
    smart.compile(x=rows, contributions={"contributions": values, "base_values": attributions.base_values})
    np.testing.assert_allclose(smart.explainer.contributions.to_numpy(), attributions.values)
    truth = pd.Series(model.predict(rows), index=rows.index)
    dashboard = dashboards.RegressionExplainer(model, rows, truth, shap="kernel", units="€")
    dashboard.set_shap_values(float(attributions.base_values[0]), attributions.values)
    table = dashboard.get_contrib_df(str(ROW)).set_index("col")["contribution"]
    assert table["_PREDICTION"] == pytest.approx(attributions.predictions[ROW, 0], rel=1e-5)
