"""Two rows side by side: the same features, what each contributed in either row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import IntArray
from illume.plots import words
from illume.plots.axes import as_text, clean, given_or_new_pair, require, require_count
from illume.plots.names import distinct
from illume.results import colours
from illume.results.attributions import Attribution
from illume.results.text import format_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def compare_rows(
    first: Attribution,
    second: Attribution,
    *,
    output: int | str | None = None,
    n_features: int = 10,
    axes: Sequence[Axes] | None = None,
) -> Any:
    """Draw the contributions in two rows on two axes with one scale; return the array of both.

    Features that contribute most in either row are on top, named on the left, each with the row's value.
    `output` chooses the class, by name or position, where there are several; by default the one decided in
    the first row.
    """
    for row in (first, second):
        require(row, Attribution, "two rows are compared", "write attributions[0], attributions[1]")
    require_count(n_features, "n_features")
    if first.feature_names != second.feature_names:
        raise ValueError("the two rows have different features; compare rows of one explainer")
    i = first.position(output)
    largest = np.maximum(*(np.abs(row.contributions(i)) for row in (first, second)))
    order = np.argsort(-largest, kind="stable")[:n_features]
    names = distinct([first.feature_names[j] for j in order])
    pair = given_or_new_pair(axes, 1.9 + 0.34 * len(order), names)
    reach = 1.1 * float(largest.max(initial=0.0)) or 1.0
    for ax, row, labels in zip(pair, (first, second), (names, [""] * len(names)), strict=True):
        _bars(ax, row, order, i)
        values = [as_text(format_value(row.data[j]), 16) for j in order]
        pieces = zip(labels, values, strict=True)
        ax.set_yticks(np.arange(len(order)), [f"{name} = {value}" for name, value in pieces])
        ax.set_xlim(-reach, reach)
    return pair


def _bars(ax: Axes, row: Attribution, order: IntArray, i: int) -> None:
    values, place = row.contributions(i)[order], np.arange(len(order))
    ax.barh(place, values, color=[colours.contribution_colour(value) for value in values], height=0.66)
    ax.axvline(0, color=colours.NEUTRAL, linewidth=0.8)
    ax.set_ylim(len(order) - 0.5, -0.5)
    ax.set_xlabel(words.contribution(row.batch, i))
    ax.set_title(words.verdict(row), fontsize="medium")
    clean(ax)
