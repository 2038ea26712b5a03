"""The real shapash compiles and draws what `to_shapash` gives it."""

import numpy as np
import pytest

shapash = pytest.importorskip("shapash")
pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("ignore")]  # shapash's own


@pytest.fixture(params=["two", "three", "pullback"])
def compiled(request, rows):
    explainer = request.getfixturevalue(request.param)
    attributions = explainer(rows)
    assert bool(attributions.offset.any()) == (request.param == "pullback")
    smart = shapash.SmartExplainer(model=explainer.model)
    smart.compile(x=rows, contributions=attributions.to_shapash())
    return smart, attributions


def test_shapash_keeps_the_contributions_of_every_class(compiled, rows):
    smart, attributions = compiled
    kept = smart.explainer.contributions
    values = attributions.values
    of_each = [-values, values] if values.ndim == 2 else [values[:, :, i] for i in range(3)]
    assert len(kept) == len(of_each)
    for frame, expected in zip(kept, of_each, strict=True):
        np.testing.assert_allclose(frame.to_numpy(), expected)
        assert list(frame.columns) == list(rows.columns)
        assert frame.index.equals(rows.index)


def test_its_strongest_feature_is_ours(compiled):
    smart, attributions = compiled
    table = smart.to_pandas(max_contrib=1)
    for i, name in enumerate(table["feature_1"]):
        assert name == attributions[i].top(1).feature_names[0]


def test_its_waterfall_leads_from_our_base_value_to_our_score(compiled, rows):
    smart, attributions = compiled
    i = int(np.abs(attributions.offset).reshape(len(rows), -1).sum(1).argmax())
    for label in range(len(attributions.class_names)):
        start = smart.plot._get_waterfall_base_value([rows.index[i]], label)
        scores = attributions.scores[i]
        score = (1 if label else -1) * scores if scores.ndim == 0 else scores[label]
        total = smart.explainer.contributions[label].iloc[i].sum()
        assert start + total == pytest.approx(float(score))


def test_shapash_draws_them(compiled, rows):
    plot, index = compiled[0].plot, list(rows.index)
    figures = [
        plot.features_importance(),
        plot.contribution_plot("education"),
        plot.contribution_plot("income"),
        plot.local_plot(index=index[3]),
        plot.local_plot(index=index[3], plot_type="waterfall"),
        plot.compare_plot(index=index[:2]),
    ]
    assert all(figure.data for figure in figures)
    assert rows["education"].iloc[3] in str(figures[3].data)


def test_rows_that_do_not_match_are_refused_by_shapash(two, rows):
    smart = shapash.SmartExplainer(model=two.model)
    with pytest.raises(ValueError, match="exactly the same number of lines"):
        smart.compile(x=rows, contributions=two(rows[:10]).to_shapash())


def test_a_number_has_one_frame_and_its_waterfall_leads_to_the_prediction(number, rows):
    rows = rows[["age", "income"]]
    attributions, smart = number(rows), shapash.SmartExplainer(model=number.model)
    smart.compile(x=rows, contributions=attributions.to_shapash())
    np.testing.assert_allclose(smart.explainer.contributions.to_numpy(), attributions.values)
    for i in (0, 7):
        start = smart.plot._get_waterfall_base_value([rows.index[i]])
        total = start + smart.explainer.contributions.iloc[i].sum()
        assert total == pytest.approx(attributions.predictions[i, 0])
    assert smart.plot.features_importance().data
    assert smart.plot.local_plot(index=rows.index[3]).data
