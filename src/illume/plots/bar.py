"""Bars: which features matter, for one row or over all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from illume.plots import words
from illume.plots.axes import clean, given_or_new, require, require_count
from illume.plots.names import distinct
from illume.results import colours, text
from illume.results.attributions import SURE, Attribution, Attributions

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def bar(
    result: Attribution | Attributions,
    *,
    output: int | str | None = None,
    n_features: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw contributions of one row, or global importance of a batch, strongest on top.

    Thin lines are 95 % intervals of one row's contributions, where their errors are known.

    `output` chooses the class, by name or position, where there are several. By default it is the decided
    class of a row; the importance of a batch is summed over classes.
    """
    require(result, (Attribution, Attributions), "bars show attributions", "pass explainer(X) or a row of it")
    require_count(n_features, "n_features")
    if isinstance(result, Attribution):
        i = result.position(output)
        values, label = result.contributions(i), words.contribution(result.batch, i)
    elif output is None:
        values, label = (
            result.strength,
            f"mean absolute contribution ({text.owner(result)} log-odds)",
        )
    else:
        i = result.output(output)
        values = result.importance if result.values.ndim == 2 else result.importance[:, i]
        label = f"mean absolute {words.contribution(result, i)}"
    order = np.argsort(-np.abs(values), kind="stable")[:n_features]
    names = distinct([result.feature_names[j] for j in order])
    ax = given_or_new(ax, 1.2 + 0.32 * len(order), labels=names)
    place = np.arange(len(order))
    fill = [colours.contribution_colour(values[j]) for j in order]
    ax.barh(place, values[order], color=fill, height=0.7)
    if isinstance(result, Attribution):
        reach = SURE * np.nan_to_num(result.errors(i)[order])
        known = reach > 0
        low, high = (values[order] - reach)[known], (values[order] + reach)[known]
        ax.hlines(place[known], low, high, color=colours.INK, linewidth=0.9)
        label += "\nthin lines: 95 % intervals" if known.any() else ""
    ax.set_yticks(place, names)
    ax.invert_yaxis()
    ax.axvline(0, color=colours.NEUTRAL, linewidth=0.8)
    ax.set_xlabel(label)
    clean(ax)
    return ax
