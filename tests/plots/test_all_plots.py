"""What holds for every plot and every result."""

import re
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Text

from illume import plots
from illume.errors import MissingExtraError
from tests.plots.cases import DRAW, DRAW_MANY

ALL = {
    **DRAW,
    **{name: lambda m, _, draw=draw: draw(m, None)[0] for name, draw in DRAW_MANY.items()},
    "exemplification": lambda m, _: plots.exemplification(m.latents[0])[0],
}


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_it_draws_on_the_axes_it_is_given_and_opens_no_other(draw, case):
    before = plt.get_fignums()
    ax = mpl.figure.Figure().subplots()
    assert draw(case, ax) is ax
    assert plt.get_fignums() == before
    assert ax.has_data() or ax.texts


@pytest.mark.parametrize("draw", DRAW_MANY.values(), ids=DRAW_MANY)
def test_it_draws_on_both_axes_it_is_given(draw, several):
    axes = mpl.figure.Figure().subplots(ncols=2)
    drawn = draw(several, list(axes))
    assert list(drawn) == list(axes)
    assert all(ax.has_data() for ax in axes)
    with pytest.raises(ValueError, match="two axes are needed, found 1"):
        draw(several, [axes[0]])


@pytest.mark.parametrize("draw", ALL.values(), ids=ALL)
def test_nothing_that_is_written_is_clipped_or_taken_for_maths(draw, case):
    figure = draw(case, None).figure
    assert plt.gcf() is figure  # so that plt.show and plt.savefig find it
    figure.draw_without_rendering()
    for text in figure.findobj(Text):
        assert text.get_text().count("$") == text.get_text().count(r"\$")
    legends = [ax.get_legend().get_window_extent() for ax in figure.axes if ax.get_legend()]
    width, height = figure.bbox.size
    for box in [figure.get_tightbbox().transformed(figure.dpi_scale_trans), *legends]:
        assert -3 <= box.x0 < box.x1 <= width + 3
        assert -3 <= box.y0 < box.y1 <= height + 3


@pytest.mark.parametrize("draw", ALL.values(), ids=ALL)
def test_drawing_leaves_the_result_as_it_was(draw, mixed):
    parts = [
        (part, name)
        for part in (mixed.batch, mixed.latents, mixed.counterfactuals)
        for name in ("values", "data", "Z", "X", "maps", "probabilities", "before", "after")
        if isinstance(getattr(part, name, None), np.ndarray)
    ]
    before = [getattr(part, name).tolist() for part, name in parts]
    draw(mixed, None)
    assert repr([getattr(part, name).tolist() for part, name in parts]) == repr(before)


@pytest.mark.parametrize("name", ["dependence on the last", "beeswarm", "latent map"])
def test_the_same_result_gives_the_same_plot(name, mixed):
    def drawn():
        figure = DRAW[name](mixed, None).figure
        figure.canvas.draw()
        return np.asarray(figure.canvas.buffer_rgba())

    np.testing.assert_array_equal(drawn(), drawn())


EMPTY = {
    "bar of a batch": lambda m: plots.bar(m.batch),
    "beeswarm": lambda m: plots.beeswarm(m.batch),
    "dependence": lambda m: plots.dependence(m.batch, 0),
    "decision paths": lambda m: plots.decision_paths(m.batch),
    "latent map": lambda m: plots.latent_map(m.latents),
    "quality": lambda m: plots.quality(m.batch)[0],
}


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_batch_has_axes_but_no_marks(name, mixed):
    ax = EMPTY[name](mixed.take(slice(0, 0)))
    ax.figure.canvas.draw()
    whole = EMPTY[name](mixed)
    assert (ax.get_xlabel(), ax.get_ylabel()) == (whole.get_xlabel(), whole.get_ylabel())
    dots = [c for c in ax.collections if hasattr(c, "get_sizes")]
    assert sum(len(c.get_offsets()) for c in dots) == 0
    assert not np.nansum([patch.get_width() for patch in ax.patches])
    assert (ax.get_legend() is None) or name == "quality"  # its legend explains the marks, not the rows


WRONG_KIND = {
    "a waterfall shows one row, found Attributions; write attributions[0]": lambda m: plots.waterfall(
        m.batch
    ),
    "bars show attributions, found Latents": lambda m: plots.bar(m.latents),
    "a beeswarm shows many rows, found Attribution; pass the whole batch": lambda m: plots.beeswarm(m.row),
    "a dependence plot shows many rows, found Attribution": lambda m: plots.dependence(m.row, 0),
    "decision paths show many rows, found Attribution": lambda m: plots.decision_paths(m.row),
    "a latent map shows many rows, found LatentRow": lambda m: plots.latent_map(m.latents[0]),
    "one row, found Latents; write explainer.latents(X, maps=True)[0]": lambda m: plots.row_map(m.latents),
    "this figure shows one row, found Latents": lambda m: plots.exemplification(m.latents),
    "this chart shows one rule, found Rules; write rules[0]": lambda m: plots.rule(m.rules),
    "this picture shows one row, found Counterfactuals": lambda m: plots.counterfactual(m.counterfactuals),
    "two rows are compared, found Attributions": lambda m: plots.compare_rows(m.row, m.batch),
    "explainers are compared by name, found Attribution": lambda m: plots.compare(m.row),
    "quality is seen on many rows, found Attribution": lambda m: plots.quality(m.row),
    "a training has a history, found NoneType": lambda m: plots.history(None),
    "this plot shows pairs of features, found Attributions": lambda m: plots.interactions(m.batch),
}
WRONG_VALUE = {
    "n_features must be a positive integer, found 0": lambda m, _: plots.bar(m.row, n_features=0),
    "n_features must be a positive integer, found -1": lambda m, _: plots.waterfall(m.row, n_features=-1),
    "'incom', which is no column; the nearest column is 'income'": lambda m, _: plots.dependence(
        m.batch, "incom"
    ),
    "there is no feature 9; there are 4": lambda m, _: plots.dependence(m.batch, 9),
    "there are 40 rows, found [40] to highlight": lambda m, _: plots.decision_paths(m.batch, highlight=40),
    "there are 40 rows, found [41] to highlight": lambda m, _: plots.latent_map(m.latents, highlight=[41]),
    "'max' is not known; choose one of ['low', 'mid', 'top']": lambda _, o: plots.beeswarm(
        o.batch, output="max"
    ),
    "the two rows have different features": lambda m, o: plots.compare_rows(m.row, o.row),
    "arrays do not say what features are called": lambda m, _: plots.compare({"a": np.ones(4)}),
    "'b' has an array of shape (3,), expected one number for each of 4": lambda m, _: plots.compare(
        {"a": m.row, "b": np.ones(3)}
    ),
    "'b' has other features": lambda m, o: plots.compare({"a": m.row, "b": o.row}),
    "nothing to compare": lambda m, _: plots.compare({}),
}


@pytest.mark.parametrize("words", WRONG_KIND)
def test_the_wrong_kind_of_result_is_refused_with_advice(words, mixed):
    with pytest.raises(TypeError, match=re.escape(words)):
        WRONG_KIND[words](mixed)


@pytest.mark.parametrize("words", WRONG_VALUE)
def test_wrong_values_are_refused(words, mixed, several):
    with pytest.raises((ValueError, IndexError), match=re.escape(words)):
        WRONG_VALUE[words](mixed, several)


def test_without_matplotlib_the_extra_is_named(mixed, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"illume\[plots\]"):
        plots.bar(mixed.batch)
