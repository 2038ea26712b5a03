"""Displays draw what the plots draw, with the interface of scikit-learn's displays."""

import inspect

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

from illume import displays, plots
from illume.plots.displays import AttributionsDisplay
from tests.common import loans


@pytest.fixture(scope="module")
def rows():
    return loans(20, seed=2)


def pixels(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())


@pytest.mark.parametrize(("kind", "row"), [("bar", None), ("bar", 1), ("beeswarm", None), ("waterfall", 3)])
def test_a_display_draws_what_the_plot_of_its_kind_draws(kind, row, loan_explainer, rows):
    display = AttributionsDisplay.from_explainer(loan_explainer, rows, kind=kind, row=row, n_features=2)
    assert display.ax_.figure is display.figure_ is plt.gcf()
    attributions = loan_explainer(rows)
    other = getattr(plots, kind)(attributions if row is None else attributions[row], n_features=2)
    np.testing.assert_array_equal(pixels(display.figure_), pixels(other.figure))
    assert set(displays.KINDS) == {"bar", "beeswarm", "waterfall"}


@pytest.mark.parametrize("name", [name for name in dir(displays) if name.endswith("Display")])
def test_displays_follow_scikit_learns_convention(name, loan_explainer, rows):
    cls, ax = getattr(displays, name), mpl.figure.Figure().subplots()
    (method,) = [getattr(cls, method) for method in dir(cls) if method.startswith("from_")]
    display = method(loan_explainer, rows)
    assert isinstance(display, cls)
    given = {parameter: getattr(display, parameter) for parameter in inspect.signature(cls).parameters}
    again = cls(**given)  # the constructor stores its parameters and draws nothing
    assert vars(again) == given
    assert again.plot(ax=ax) is again
    assert (again.ax_, again.figure_) == (ax, ax.figure)
    assert ax.has_data()
    assert again.plot().ax_ is not ax


@pytest.mark.parametrize(
    ("kind", "row", "message"),
    [
        ("pie", None, r"kind must be one of \['bar', 'beeswarm', 'waterfall'.*found 'pie'"),
        ("waterfall", None, "a waterfall shows one row, found a batch; say which row, as in row=0"),
        ("beeswarm", 0, "a beeswarm shows many rows, found one"),
    ],
)
def test_a_wrong_kind_is_refused_before_anything_is_explained(kind, row, message):
    def explainer(X):
        pytest.fail("was called")

    with pytest.raises(ValueError, match=message):
        AttributionsDisplay.from_explainer(explainer, None, kind=kind, row=row)
