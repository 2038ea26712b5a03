"""The beeswarm: every row's contributions, coloured by the feature's value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import FloatArray
from illume.plots import words
from illume.plots.axes import clean, given_or_new, require, require_count
from illume.plots.names import distinct
from illume.results import colours
from illume.results.attributions import Attributions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 60
COLOURS = "cividis"
BRIGHTEST = 1.1  # the very end of the scale is hard to see on white


def beeswarm(
    attributions: Attributions, *, output: int | str = 0, n_features: int = 10, ax: Axes | None = None
) -> Axes:
    """Draw one dot per row and feature, features of largest importance on top.

    Dark is a low value and bright a high one; categories and missing values have a colour of their
    own. `output` chooses the class, by name or position, where there are several.
    """
    require(attributions, Attributions, "a beeswarm shows many rows", "pass the whole batch")
    require_count(n_features, "n_features")
    i = attributions.output(output)
    values = attributions.contributions(i)
    order = np.argsort(-np.abs(values).sum(0), kind="stable")[: n_features if len(values) else 0]
    names = distinct([attributions.feature_names[j] for j in order])
    ax = given_or_new(ax, 1.4 + 0.38 * len(order), labels=names)
    _dots(ax, values[:, order], attributions.data[:, order])
    ax.axvline(0, color=colours.NEUTRAL, linewidth=0.8, zorder=0)
    ax.set_yticks(np.arange(len(order)), names)
    ax.invert_yaxis()
    ax.set_xlabel(words.contribution(attributions, i))
    ax.set_title(
        "dark: low value, bright: high, pink: category or missing",
        fontsize="small",
        loc="right",
        color=colours.NEUTRAL,
    )
    clean(ax)
    return ax


def _dots(ax: Axes, values: FloatArray, data: np.ndarray[Any, Any]) -> None:
    """Draw all features' dots at once, those without a shade first."""
    n_features = values.shape[1]
    if not values.size:
        return
    heights = np.column_stack([place + 0.8 * _spread(values[:, place]) for place in range(n_features)])
    shades = np.column_stack([_shades(data[:, place]) for place in range(n_features)])
    known = np.isfinite(shades)
    look: Any = {"s": 7, "linewidths": 0}
    ax.scatter(values[~known], heights[~known], color=colours.CATEGORY, **look)
    scale: Any = {"cmap": COLOURS, "vmin": 0, "vmax": BRIGHTEST}
    ax.scatter(values[known], heights[known], c=shades[known], **scale, **look)


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


def _shades(column: np.ndarray[Any, Any]) -> FloatArray:
    """Return numbers scaled from their 5 % to their 95 % quantile, 0 to 1; NaN for what is no number."""
    try:
        numbers = column.astype(np.float64)
    except (TypeError, ValueError):
        return np.full(len(column), np.nan)
    known = numbers[np.isfinite(numbers)]
    if not len(known):
        return numbers
    low, high = np.quantile(known, [0.05, 0.95])
    if low == high:
        low, high = known.min(), known.max()
    return np.clip((numbers - low) / (high - low or 1.0), 0.0, 1.0)
