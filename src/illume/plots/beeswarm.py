"""The beeswarm: every row's contributions, coloured by the feature's value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import FloatArray
from illume.plots.axes import as_text, clean, given_or_new
from illume.results import colours
from illume.results.attributions import Attributions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 60
COLOURS = "cividis"


def beeswarm(
    attributions: Attributions, *, output: int = 0, n_features: int = 10, ax: Axes | None = None
) -> Axes:
    """Draw one dot per row and feature, features of largest importance on top.

    Dark is a low value and bright a high one; categories and missing values are grey. `output`
    chooses the class where there are several.
    """
    several = attributions.values.ndim == 3
    values = attributions.values[:, :, output] if several else attributions.values
    order = np.argsort(-np.abs(values).sum(0), kind="stable")[: n_features if len(values) else 0]
    ax = given_or_new(ax, 1.4 + 0.38 * len(order))
    for place, j in enumerate(order):
        height = place + 0.8 * _spread(values[:, j])
        rank = _ranks(attributions.data[:, j])
        known = np.isfinite(rank)
        ax.scatter(values[~known, j], height[~known], s=7, color=colours.NEUTRAL, linewidths=0)
        ax.scatter(
            values[known, j], height[known], s=7, c=rank[known], cmap=COLOURS, vmin=0, vmax=1, linewidths=0
        )
    ax.axvline(0, color=colours.NEUTRAL, linewidth=0.8, zorder=0)
    ax.set_yticks(np.arange(len(order)), [as_text(attributions.feature_names[j]) for j in order])
    ax.invert_yaxis()
    name = attributions.output_names[output].replace("$", r"\$")
    ax.set_xlabel(f"contribution to the log-odds of {name!r}")
    ax.set_title("dark: low value, bright: high", fontsize="small", loc="right", color=colours.NEUTRAL)
    clean(ax)
    return ax


def _spread(values: FloatArray) -> FloatArray:
    """Return heights between -.5 and .5 that keep dots of nearly equal value apart."""
    edges = np.histogram_bin_edges(values, BINS)
    box = np.digitize(values, edges[1:-1])
    order = np.argsort(box, kind="stable")
    _, starts, counts = np.unique(box[order], return_index=True, return_counts=True)
    rank = np.arange(len(values)) - np.repeat(starts, counts)
    side = np.where(rank % 2 == 0, 1.0, -1.0) * ((rank + 1) // 2)
    height = np.empty(len(values))
    height[order] = side / max(counts.max(), 8)
    return height


def _ranks(column: np.ndarray[Any, Any]) -> FloatArray:
    """Return where a number stands among the others, 0 to 1; NaN for what is no number."""
    try:
        numbers = column.astype(np.float64)
    except (TypeError, ValueError):
        return np.full(len(column), np.nan)
    known = np.isfinite(numbers)
    ranks = np.full(len(column), np.nan)
    ranks[known] = np.searchsorted(np.sort(numbers[known]), numbers[known]) / max(known.sum() - 1, 1)
    return ranks
