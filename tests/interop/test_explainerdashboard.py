"""The real explainerdashboard shows what `to_explainerdashboard` gives it."""

import numpy as np
import pandas as pd
import pytest

dashboards = pytest.importorskip("explainerdashboard")
pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("ignore")]  # explainerdashboard's own


@pytest.fixture
def shown(explained, rows):
    """A dashboard's explainer that holds our contributions, and these."""
    explainer, attributions = explained
    decided = pd.Series(explainer.model.predict(rows), index=rows.index)
    explainer = dashboards.ClassifierExplainer(
        explainer.model,
        rows,
        decided,
        shap="kernel",
        X_background=rows,
        model_output="logodds",
        labels=list(attributions.class_names),
    )
    explainer.set_shap_values(*attributions.to_explainerdashboard())
    return explainer, attributions


def of_class(array, label, several):
    """Take a class of several from the last axis; of two classes, the first is the second's opposite."""
    return array[..., label] if several else array * (1 if label else -1)


def test_a_row_leads_from_the_base_value_to_the_log_odds_for_every_class(shown, rows):
    explainer, attributions = shown
    i, several = int(np.flatnonzero(attributions.agreed)[0]), len(attributions.class_names) > 2
    for label, name in enumerate(attributions.class_names):
        table = explainer.get_contrib_df(rows.index[i], pos_label=name).set_index("col")["contribution"]
        drawn = table[list(attributions.feature_names)].astype(float)
        np.testing.assert_allclose(drawn, of_class(attributions.values[i], label, several))
        assert table["_BASE"] == pytest.approx(of_class(attributions.base_values[i], label, several))
        assert table["_PREDICTION"] == pytest.approx(of_class(attributions.scores[i], label, several))


def test_it_ranks_features_as_we_do(shown):
    explainer, attributions = shown
    values = attributions.values if attributions.values.ndim == 2 else attributions.values[:, :, 1]
    order = np.argsort(-np.abs(values).mean(0))
    assert explainer.columns_ranked_by_shap() == [attributions.feature_names[j] for j in order]


def test_it_draws_them(shown, rows):
    explainer = shown[0]
    figures = [
        explainer.plot_contributions(rows.index[3]),
        explainer.plot_importances(),
        explainer.plot_importances_detailed(),
        explainer.plot_dependence("income"),
        explainer.plot_dependence("education"),
    ]
    assert all(figure.data for figure in figures)


def test_a_dashboard_of_it_opens(two, rows):
    decided = pd.Series(two.model.predict(rows), index=rows.index)
    explainer = dashboards.ClassifierExplainer(
        two.model, rows, decided, shap="kernel", X_background=rows, model_output="logodds"
    )
    explainer.set_shap_values(*two(rows).to_explainerdashboard())
    parts = pytest.importorskip("explainerdashboard.dashboard_components")
    shown = [parts.ShapContributionsGraphComponent, parts.ShapDependenceComponent]
    page = dashboards.ExplainerDashboard(explainer, shown, title="loans")
    answer = page.app.server.test_client().get("/_dash-layout")
    assert answer.status_code == 200
    assert "loans" in answer.get_data(as_text=True)
