"""Displays draw what the plots draw, in the manner of scikit-learn's."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.inspection import PartialDependenceDisplay

from illume import plots
from illume.displays import PICTURES, AttributionsDisplay
from tests.common import loans

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

ROW = {"one": 1, "many": None, "either": 1}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rows():
    return loans(20, seed=2)


@pytest.mark.parametrize("kind", PICTURES)
def test_a_display_draws_each_kind_and_keeps_axes_and_figure(kind, loan_explainer, rows):
    display = AttributionsDisplay.from_explainer(loan_explainer, rows, kind=kind, row=ROW[PICTURES[kind]])
    assert display.ax_.figure is display.figure_
    assert plt.gcf() is display.figure_
    display.figure_.canvas.draw()


@pytest.mark.parametrize("kind", PICTURES)
def test_every_kind_is_a_picture(kind):
    assert callable(getattr(plots, kind))


def test_it_draws_on_the_axes_it_is_given_and_passes_options_on(loan_explainer, rows):
    ax = mpl.figure.Figure().subplots()
    display = AttributionsDisplay.from_explainer(
        loan_explainer, rows, kind="waterfall", row=3, ax=ax, n_features=2
    )
    assert display.ax_ is ax
    other = plots.waterfall(loan_explainer(rows)[3], n_features=2)
    widths = [[patch.get_width() for patch in drawn.patches] for drawn in (ax, other)]
    np.testing.assert_array_equal(*widths)


def test_what_is_explained_already_is_drawn_by_plot_which_returns_the_display(loan_explainer, rows):
    attributions = loan_explainer(rows)
    display = AttributionsDisplay(attributions, kind="bar")
    assert not hasattr(display, "ax_")
    assert display.plot() is display
    first = display.ax_
    assert display.plot().ax_ is not first


def test_it_has_the_same_verbs_as_a_display_of_scikit_learn():
    ours = {name.replace("explainer", "estimator") for name in vars(AttributionsDisplay)}
    assert {"from_estimator", "plot"} <= ours & set(vars(PartialDependenceDisplay))


@pytest.mark.parametrize(
    ("kind", "row", "message"),
    [
        ("pie", None, r"kind must be one of \['bar', 'beeswarm', 'waterfall'.*found 'pie'"),
        ("waterfall", None, "a waterfall shows one row, found a batch; say which row, as in row=0"),
        ("beeswarm", 0, "a beeswarm shows many rows, found one"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is_explained(kind, row, message):
    def explainer(X):
        pytest.fail("was asked")

    with pytest.raises(ValueError, match=message):
        AttributionsDisplay.from_explainer(explainer, None, kind=kind, row=row)
