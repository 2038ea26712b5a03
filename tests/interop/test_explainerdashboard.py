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
        labels=list(attributions.class_names),
    )
    attributions.to_explainerdashboard(explainer)
    return explainer, attributions


def of_class(array, label, several):
    """Take a class of several from the last axis; of two classes, the first is the second's opposite."""
    return array[..., label] if several else array * (1 if label else -1)


def test_a_row_leads_from_the_base_value_to_the_log_odds_for_every_class(shown, rows):
    explainer, attributions = shown
    i, several = 5, len(attributions.class_names) > 2
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


def test_it_shows_log_odds_and_no_percentages(shown, rows):
    explainer, attributions = shown
    i = 5
    figure = explainer.plot_contributions(rows.index[i])
    score = attributions.scores[i] if attributions.scores.ndim == 1 else attributions.scores[i, 1]
    drawn = np.concatenate([np.asarray(bar.y, dtype=float) for bar in figure.data if bar.y is not None])
    assert np.isclose(drawn, score, atol=0.01).any()
    assert "%" not in str(figure.layout.title.text) + str(figure.layout.yaxis.title.text)


def test_a_dashboard_of_it_opens(two, rows):
    decided = pd.Series(two.model.predict(rows), index=rows.index)
    explainer = dashboards.ClassifierExplainer(two.model, rows, decided, shap="kernel")
    two(rows).to_explainerdashboard(explainer)
    page = dashboards.ExplainerDashboard(explainer, title="loans", whatif=False, shap_interaction=False)
    answer = page.app.server.test_client().get("/_dash-layout")
    assert answer.status_code == 200
    assert "loans" in answer.get_data(as_text=True)


def test_a_dashboard_of_encoded_columns_or_other_rows_is_refused(two, rows):
    decided = pd.Series(two.model.predict(rows), index=rows.index)
    encoded = dashboards.ClassifierExplainer(two.model, rows, decided, model_output="logodds")
    with pytest.raises(ValueError, match='and with shap="kernel", which leaves the columns of a Pipeline'):
        two(rows).to_explainerdashboard(encoded)
    explainer = dashboards.ClassifierExplainer(two.model, rows, decided, shap="kernel")
    with pytest.raises(ValueError, match="the dashboard has 60 rows, the attributions 10"):
        two(rows[:10]).to_explainerdashboard(explainer)


def test_a_row_leads_from_the_base_value_to_the_number(number, rows):
    rows = rows[["age", "income"]]
    attributions, y = number(rows), pd.Series(number.model.predict(rows), index=rows.index)
    explainer = dashboards.RegressionExplainer(number.model, rows, y, shap="kernel", units="€")
    attributions.to_explainerdashboard(explainer)
    for i in (0, 7):
        table = explainer.get_contrib_df(rows.index[i]).set_index("col")["contribution"]
        np.testing.assert_allclose(table[["age", "income"]].astype(float), attributions.values[i], rtol=1e-5)
        assert table["_BASE"] == pytest.approx(attributions.base_values[i])
        assert table["_PREDICTION"] == pytest.approx(attributions.predictions[i, 0], rel=1e-5)
    assert explainer.plot_contributions(rows.index[3]).data
    assert explainer.plot_importances().data
