"""Plots of models that answer with numbers say so, in the numbers' own units."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from illume import plots
from tests.plots.cases import DRAW, DRAW_MANY, NUMBER, TWO, texts


@pytest.fixture
def number(material):
    return material(NUMBER)


@pytest.fixture
def two(material):
    return material(TWO)


@pytest.mark.parametrize("case_name", [NUMBER, TWO])
def test_no_plot_of_numbers_speaks_of_probabilities_or_decisions(case_name, material):
    results = material(case_name)
    drawn = [draw(results, None) for draw in DRAW.values()]
    drawn += [ax for draw in DRAW_MANY.values() for ax in draw(results, None)]
    drawn += list(plots.exemplification(results.latents[0]))
    for ax in drawn:
        ax.figure.canvas.draw()
        said = " ".join(texts(ax.figure)).lower()
        assert not any(word in said for word in ("log-odds", "probabilit", "decision", "decide", "class"))
        plt.close(ax.figure)


def test_axes_are_in_units_with_thousands_separators(number):
    ax = plots.waterfall(number.row)
    ax.figure.canvas.draw()
    assert ax.get_xlabel() == r"price in \$"
    assert all("," in label.get_text() for label in ax.get_xticklabels())
    title = ax.get_title()
    assert title.startswith(rf"price in \$ = {number.row.prediction:,.0f}")
    assert f"this row {number.row.prediction:,.0f}" in title
    assert plots.bar(number.batch).get_xlabel() == r"mean absolute contribution to price in \$"
    assert plots.beeswarm(number.batch).get_xlabel() == r"contribution to price in \$"


def test_logarithms_are_named_and_stand_beside_their_factors(two):
    ax = plots.bar(two.row)
    ax.figure.canvas.draw()
    assert ax.get_xlabel().startswith("contribution to the surrogate's logarithm of rate")
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert "0\n(× 1)" in labels
    assert all("\n(× " in label for label in labels)
    said = plots.waterfall(two.row).get_title()
    base = float(two.row.base_value[0])
    assert f"base value {two.batch.outputs.format(np.exp(base))} (logarithm {base:.3f})" in said


def test_rows_have_the_colours_of_their_predictions(number, two):
    for results, i in ((number, 0), (two, 1)):
        ax = plots.latent_map(results.latents, output=i)
        dots = ax.collections[0]
        np.testing.assert_allclose(dots.get_array(), results.latents.predictions[:, i])
        bar = dots.colorbar.ax.get_ylabel()
        assert bar.startswith("prediction: ")
    (image,) = ax.images  # of two latents, what the surrogate predicts at every place
    latents = two.latents
    np.testing.assert_allclose(latents.answer(latents.Z), latents.surrogate_predictions, rtol=1e-5)
    assert np.asarray(image.get_array()).min() > 0


def test_quality_shows_both_predictions_and_what_is_between_them(number):
    left, right = plots.quality(number.batch)
    P, Q = number.batch.predictions[:, 0], number.batch.surrogate_predictions[:, 0]
    np.testing.assert_allclose(left.collections[-1].get_offsets(), np.column_stack([Q, P]))
    np.testing.assert_allclose(right.collections[-1].get_offsets(), np.column_stack([P, P - Q]))
    assert f"mean absolute error {np.abs(P - Q).mean():,.0f}" in left.get_title(loc="left")


def test_a_rule_shows_its_interval_and_the_prediction_in_it(number):
    rule = number.rules[0]
    ax = plots.rule(rule)
    assert ax.get_title(loc="left") == rf"→ price in \$: {rule.decision}"
    bar = ax.patches[-1]
    (at, _) = ax.collections[-1].get_offsets()[0]
    assert bar.get_x() - 1e-9 <= at <= bar.get_x() + bar.get_width() + 1e-9
    low, high = rule.interval
    assert {f"{low:,.0f}", f"{high:,.0f}", f"this row: {rule.prediction:,.0f}"} <= set(texts(ax))


def test_a_counterfactual_shows_the_new_prediction(number):
    found = next(one for one in number.counterfactuals if one.examples)
    said = texts(plots.counterfactual(found, n_examples=1))
    after = found.examples[0].prediction
    assert after >= found.prediction + 20_000
    assert {rf"now price in \$ = {found.prediction:,.0f}", rf"→ price in \$ = {after:,.0f}"} <= set(said)


def test_numbers_in_different_units_are_added_up_in_standard_deviations(two, number):
    two_logs, one = two.batch, number.batch
    np.testing.assert_allclose(two_logs.strength, two_logs.importance.sum(1))
    np.testing.assert_allclose(one.strength, one.importance)
    assert "in logarithms" in plots.bar(two_logs).get_xlabel()
