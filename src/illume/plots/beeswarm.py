"""Beeswarm: every row's contributions, coloured by the feature's value."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.plots.captions import contribution_caption, distinct_labels
from illume.plots.style import Axes, get_axes, hide_frame, require, require_count, strongest, zero_line
from illume.results import colours
from illume.results.attributions import Attributions

BINS = 60
BRIGHTEST = 1.1  # of the colour scale, whose very end is hard to see on white


def beeswarm(
    attributions: Attributions, *, output: int | str = 0, n_features: int = 10, ax: Axes | None = None
) -> Axes:
    """Draw one dot per row and feature, the most important features on top.

    Dark is a low value and bright a high one; categories and missing values have a colour of their own.
    `output` chooses the class, by name or position.
    """
    require(attributions, Attributions, "a beeswarm shows many rows", "pass the whole batch")
    require_count(n_features, "n_features")
    i = attributions.output(output)
    values = attributions.contributions(i)
    order = strongest(np.abs(values).sum(0), n_features if len(values) else 0)
    names = distinct_labels([attributions.feature_names[j] for j in order])
    ax = get_axes(ax, 1.4 + 0.38 * len(order), labels=names)
    if len(order):
        _draw_dots(ax, values[:, order], attributions.data[:, order])
    zero_line(ax)
    ax.set_yticks(np.arange(len(order)), names)
    ax.invert_yaxis()
    ax.set_xlabel(contribution_caption(attributions, i))
    title = "dark: low value, bright: high, pink: category or missing"
    ax.set_title(title, fontsize="small", loc="right", color=colours.NEUTRAL)
    hide_frame(ax)
    return ax


def _draw_dots(ax: Axes, values: FloatArray, data: np.ndarray[Any, Any]) -> None:
    """Draw the dots of all features at once, those without a shade first."""
    heights = np.column_stack([place + 0.8 * _spread(column) for place, column in enumerate(values.T)])
    shades = np.column_stack([_shades(column) for column in data.T])
    known = np.isfinite(shades)
    look: Any = {"s": 7, "linewidths": 0}
    ax.scatter(values[~known], heights[~known], color=colours.CATEGORY, **look)
    look |= {"cmap": "cividis", "vmin": 0, "vmax": BRIGHTEST}
    ax.scatter(values[known], heights[known], c=shades[known], **look)


def _spread(values: FloatArray) -> FloatArray:
    """Return heights between -.5 and .5 that keep dots with similar values apart."""
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
    """Scale numbers from their 5 % to their 95 % quantile to 0 to 1; NaN for what is not a number."""
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
