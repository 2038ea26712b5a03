"""Every picture draws what the result says, on the axes it is given."""

import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

from illume import MetaEncoder, MissingExtraError, plots
from tests.common import FAST, loans

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def batch(loan_explainer):
    return loan_explainer(loans(40, seed=2))


@pytest.fixture(scope="module")
def several(three_class_explainer, three_class):
    return three_class_explainer(three_class[1].iloc[:20])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


DRAW = {
    "bar of a batch": lambda b, ax: plots.bar(b, ax=ax),
    "bar of a row": lambda b, ax: plots.bar(b[0], ax=ax),
    "waterfall": lambda b, ax: plots.waterfall(b[0], ax=ax),
    "beeswarm": lambda b, ax: plots.beeswarm(b, ax=ax),
}


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
@pytest.mark.parametrize("name", ["batch", "several"])
def test_it_draws_on_the_axes_it_is_given_and_opens_no_other(draw, name, request):
    result = request.getfixturevalue(name)
    before = plt.get_fignums()
    ax = mpl.figure.Figure().subplots()
    assert draw(result, ax) is ax
    assert plt.get_fignums() == before
    own = draw(result, None)
    assert own.figure is not ax.figure
    own.figure.canvas.draw()
    assert plt.gcf() is own.figure  # so that plt.show and plt.savefig find it


def test_bars_are_contributions_strongest_on_top(batch):
    ax = plots.bar(batch[0], n_features=3)
    drawn = [patch.get_width() for patch in ax.patches]
    expected = sorted(batch[0].values, key=abs, reverse=True)[:3]
    np.testing.assert_allclose(drawn, expected)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == list(batch[0].top(3).feature_names)


def test_a_waterfall_leads_from_the_base_value_to_the_score(batch):
    ax = plots.waterfall(batch[0], n_features=2)
    first, last = ax.patches[0], ax.patches[-1]
    assert first.get_x() + first.get_width() == pytest.approx(float(batch[0].score))
    assert last.get_x() == pytest.approx(float(batch[0].base_value))
    assert [label.get_text() for label in ax.get_yticklabels()][-1] == "2 other features"


def test_a_beeswarm_has_a_dot_per_row_and_feature(batch):
    ax = plots.beeswarm(batch, n_features=4)
    assert sum(len(dots.get_offsets()) for dots in ax.collections) == 40 * 4


def test_the_output_of_a_beeswarm_is_chosen_by_name(several):
    assert "'mid'" in plots.beeswarm(several, output="mid").get_xlabel()
    with pytest.raises(ValueError, match=r"'max' is not known; choose one of \['low', 'mid', 'top'\]"):
        plots.beeswarm(several, output="max")


def test_the_wrong_kind_of_result_is_refused_with_advice(batch):
    with pytest.raises(
        TypeError, match=r"a waterfall shows one row, found Attributions; write attributions\[0\]"
    ):
        plots.waterfall(batch)
    with pytest.raises(TypeError, match="a beeswarm shows many rows, found Attribution"):
        plots.beeswarm(batch[0])


def test_high_and_low_values_have_the_ends_of_the_scale(batch):
    dots = plots.beeswarm(batch, n_features=4).collections
    shades = np.concatenate([np.asarray(d.get_array()) for d in dots if d.get_array() is not None])
    assert shades.min() == 0
    assert shades.max() == 1


def test_an_empty_batch_is_an_empty_picture(batch):
    plots.beeswarm(batch[:0]).figure.canvas.draw()
    plots.bar(batch[:0]).figure.canvas.draw()


def test_long_names_and_dollar_signs_are_readable(batch):
    names = ("price in $ and tax in $", "x" * 80, "owner", "education")
    odd = replace(batch, labels=replace(batch.labels, features=names, classes=("no", "yes, $5 or $6")))
    for draw in DRAW.values():
        ax = draw(odd, None)
        ax.figure.canvas.draw()
        assert max(len(label.get_text()) for label in ax.get_yticklabels()) < 80


def test_training_is_drawn_with_the_epoch_that_was_kept():
    X = np.random.default_rng(0).normal(size=(60, 3))
    history = MetaEncoder(2, training=FAST).fit(X, X[:, 0] > 0).history_
    ax = plots.history(history)
    assert f"kept: epoch {history.best}" in [t.get_text() for t in ax.get_legend().get_texts()]


def test_without_matplotlib_the_extra_is_named(batch, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"illume\[plots\]"):
        plots.bar(batch)
