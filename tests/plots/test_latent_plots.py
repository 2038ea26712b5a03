"""Plots of latents and maps draw the numbers of the result."""

import matplotlib as mpl
import numpy as np
import pytest

from illume import plots
from tests.plots.cases import WIDE, texts


def dots_of(ax, label):
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    colour = ax.get_legend().legend_handles[labels.index(label)].get_facecolor()
    (dots,) = [c for c in ax.collections if np.allclose(c.get_facecolor(), colour) and len(c.get_facecolor())]
    return np.asarray(dots.get_offsets())


def test_rows_stand_at_their_place_in_the_colour_of_their_decision(flat):
    ax = plots.latent_map(flat.latents)
    for c, name in enumerate(flat.latents.class_names):
        mine = flat.latents.decisions == c
        np.testing.assert_allclose(dots_of(ax, name), flat.latents.Z[mine])
    assert ax.get_xlabel() == "a"
    assert ax.get_ylabel() == "b"


def test_rings_mark_exactly_the_rows_that_are_decided_otherwise_in_the_plane_of_components(several):
    latents = several.latents
    assert not latents.agreed.all()
    ax = plots.latent_map(latents)
    rings = ax.collections[-1]
    np.testing.assert_allclose(rings.get_offsets(), latents.plane[~latents.agreed])
    assert any(f"({(~latents.agreed).sum()} of 20 rows)" in text for text in texts(ax))
    assert not ax.images  # regions have no border in this plane
    share = f"{latents.view.share[0]:.0%} of the variance"
    assert f"component 1 of {latents.n_latents} latents ({share})" in ax.get_xlabel()
    assert "row 2" in texts(plots.latent_map(latents, highlight=2))
    assert "row 3" in texts(plots.latent_map(latents, highlight=np.arange(20) == 3))


def test_with_two_latents_regions_are_what_the_surrogate_decides(flat):
    ax = plots.latent_map(flat.latents)
    (image,) = ax.images
    left, right, bottom, top = image.get_extent()
    shade = np.asarray(image.get_array())
    for z, c in zip(flat.latents.Z, flat.latents.surrogate_decisions, strict=True):
        row = round((z[1] - bottom) / (top - bottom) * (len(shade) - 1))
        column = round((z[0] - left) / (right - left) * (len(shade) - 1))
        around = shade[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2]
        assert c in around


def test_a_row_map_shows_weights_of_the_strongest_inputs_and_latents(several, material):
    row = several.latents[0]
    ax = plots.row_map(row, output="top", n_inputs=2)
    weights, beta = (np.asarray(image.get_array()) for image in ax.images)
    order = np.argsort(-np.abs(row.contributions[2]), kind="stable")[:2]
    np.testing.assert_allclose(weights, row.map[:, order].T)
    np.testing.assert_allclose(beta, row.batch.coefficients[[2]])
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [*(row.batch.input_names[j] for j in order), "weight for 'top'"]
    ax = plots.row_map(material(WIDE).latents[0], n_latents=3)
    assert np.asarray(ax.images[0].get_array()).shape == (15, 3)
    assert ax.get_xlabel() == "3 of 60 latents, 15 of 60 inputs"


def test_the_six_panels_show_the_row_its_map_and_its_explanation(several):
    row = several.latents[0]
    i = row.output
    A, B, C, D, E, F = plots.exemplification(row)
    order = np.argsort(-np.abs(row.contributions[i]), kind="stable")
    np.testing.assert_allclose([bar.get_width() for bar in A.patches], row.x[order])
    np.testing.assert_allclose([bar.get_width() for bar in B.patches], row.batch.probabilities[0])
    np.testing.assert_allclose(B.collections[0].get_offsets()[:, 0], row.batch.surrogate_probabilities[0])
    np.testing.assert_allclose([bar.get_width() for bar in C.patches], row.contributions[i, order])
    np.testing.assert_allclose(C.collections[0].get_offsets()[:, 0], row.slopes[i, order])
    np.testing.assert_allclose([bar.get_height() for bar in D.patches], row.z)
    np.testing.assert_allclose(E.images[0].get_array(), row.batch.coefficients)
    np.testing.assert_allclose(F.images[0].get_array(), row.map[:, order].T)
    assert [ax.get_title(loc="left")[0] for ax in (A, B, C, D, E, F)] == list("ABCDEF")


def test_what_a_row_has_of_every_input_is_said_in_its_own_units(mixed):
    row = mixed.latents[0]
    A = plots.exemplification(row, n_inputs=20)[0]
    said = {label.get_text() for label in A.get_yticklabels()}
    age, _, owner, education = mixed.frame.iloc[0]
    assert f"age: {age}" in said
    assert {f"owner = {owner}: yes", f"owner = {not owner}: no"} <= said
    assert f"education = {education}: yes" in said


def test_a_row_that_was_refined_says_that_this_is_not_shown_also_in_a_part_of_a_figure(several):
    latents = several.latents
    left, right = mpl.figure.Figure(figsize=(20, 6)).subfigures(1, 2)
    axes = plots.exemplification(latents[int(np.flatnonzero(~latents.agreed)[0])], figure=right)
    assert axes[1].get_xlabel() == "they disagree"
    assert any("before refinement" in text for text in texts(axes[2]))
    assert all(ax.figure is right for ax in axes)
    assert not left.axes


def test_maps_must_have_been_asked_for(loan_explainer, mixed):
    row = loan_explainer.latents(mixed.frame)[0]
    for draw in (plots.row_map, plots.exemplification):
        with pytest.raises(ValueError, match=r"explainer.latents\(X, maps=True\)"):
            draw(row)
