"""Contributions of many rows: as dots (`beeswarm`), and added up along lines (`decision_paths`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.number_text import count
from illume.data.require import require_int
from illume.plots import captions, style
from illume.plots.looks import look_of
from illume.plots.style import Axes
from illume.results import colours
from illume.results.attributions import Attributions

STYLES = ("-", "--", "-.", ":")
BINS = 60
BRIGHTEST = 1.1  # of the colour scale, whose very end is hard to see on white


def beeswarm(
    attributions: Attributions,
    *,
    output: int | str | None = None,
    n_features: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw one dot per row and feature, the most important features on top.

    Dark is a low value and bright a high one, as the colour bar says; categories and missing values have a
    colour of their own. `output` chooses the class, by name or position.
    """
    style.require(attributions, Attributions, "a beeswarm shows many rows", "pass the whole batch")
    require_int("n_features", n_features)
    i = attributions.output(output)
    values = attributions.contributions(i)
    order = style.strongest(np.abs(values).sum(0), n_features if len(values) else 0)
    names = captions.distinct_labels([attributions.feature_labels[j] for j in order])
    ax = style.get_axes(ax, 1.4 + 0.38 * len(order), labels=names)
    if len(order):
        _draw_dots(ax, values[:, order], attributions.data[:, order])
    style.zero_line(ax)
    ax.set_yticks(np.arange(len(order)), names)
    ax.invert_yaxis()
    look = look_of(attributions)
    look.format_axis(ax.xaxis, i)
    ax.set_xlabel(look.contribution(attributions, i))
    style.hide_frame(ax)
    return ax


def _draw_dots(ax: Axes, values: FloatArray, data: np.ndarray[Any, Any]) -> None:
    """Draw the dots of all features at once, those without a shade first."""
    heights = np.column_stack([place + 0.8 * _spread(column) for place, column in enumerate(values.T)])
    shades = np.column_stack([_shades(column) for column in data.T])
    known = np.isfinite(shades)
    look: Any = {"s": 7, "linewidths": 0}
    ax.scatter(values[~known], heights[~known], color=colours.CATEGORY, **look)
    if not known.all():
        note: Any = {"fontsize": "small", "loc": "right", "color": colours.CATEGORY}
        ax.set_title("pink: category or missing value", **note)
    if not known.any():
        return
    look |= {"cmap": "cividis", "vmin": 0, "vmax": BRIGHTEST}
    dots = ax.scatter(values[known], heights[known], c=shades[known], **look)
    bar = ax.figure.colorbar(dots, ax=ax, label="value of the feature", pad=0.02, aspect=30)
    bar.set_ticks([0.0, 1.0], labels=["low", "high"])
    bar.ax.set_ylim(0.0, 1.0)


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


def decision_paths(
    attributions: Attributions,
    *,
    output: int | str | None = None,
    highlight: int | Sequence[int] = (),
    n_features: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """Draw one line per row, upwards from the base value; each feature moves it by its contribution.

    The most important features are on top, so that a line ends at the row's score. Features that are not
    shown and the offset of refinements come first. Colours are the black box's decisions or
    numbers.

    Parameters
    ----------
    output
        The class, by name or position.
    highlight
        Positions of rows to draw in bold and to name.
    """
    style.require(attributions, Attributions, "decision paths show many rows", "pass the whole batch")
    require_int("n_features", n_features)
    i = attributions.output(output)
    top = attributions.top(n_features, i)
    marked = style.row_positions(highlight, len(attributions))
    n_hidden = len(attributions.feature_names) - len(top.feature_names)
    labels = captions.distinct_labels(top.feature_labels)[::-1]
    base, rest, offset = (_of_output(part, i) for part in (top.base_values, top.rest, top.offset))
    paths = np.cumsum(np.column_stack([base, rest + offset, top.contributions(i)[:, ::-1]]), axis=1)
    if n_hidden or np.any(paths[:, 1] != paths[:, 0]):
        first = [count(n_hidden, "other feature")] * bool(n_hidden)
        first += ["refinement"] * bool(attributions.offset.any())
        labels = [" and ".join(first) or "left out", *labels]
    else:
        paths = np.delete(paths, 0, axis=1)
    ax = style.get_axes(ax, 1.6 + 0.3 * len(labels), 7.6, labels)
    _draw_lines(ax, attributions, i, paths, marked)
    ax.axvline(float(base[:1].sum()), color=colours.NEUTRAL, linewidth=0.8, linestyle=":")
    ax.set_ylim(0, len(labels))
    ax.set_yticks(np.arange(len(labels)) + 0.5, labels)
    grid: Any = {"transform": ax.get_yaxis_transform(), "color": colours.PALE, "lw": 0.6, "zorder": 0}
    ax.hlines(np.arange(len(labels) + 1), 0, 1, **grid)
    look = look_of(attributions)
    look.format_axis(ax.xaxis, i, total=True)
    ax.set_xlabel(look.total(attributions, i))
    style.hide_frame(ax)
    return ax


def _of_output(array: FloatArray, i: int) -> FloatArray:
    return array if array.ndim == 1 else array[:, i]


def _draw_lines(ax: Axes, attributions: Attributions, i: int, paths: FloatArray, marked: IntArray) -> None:
    from matplotlib.collections import LineCollection

    n, n_steps = paths.shape
    heights = np.broadcast_to(np.arange(n_steps), paths.shape)
    look = look_of(attributions)
    tints, (handles, names) = look.line_colours(ax, attributions.predictions, i)
    alpha = (0.25 if len(marked) else 0.6) if n <= 200 else (0.08 if len(marked) else 0.2)
    lines = list(np.stack([paths, heights], axis=2))
    ax.add_collection(LineCollection(lines, colors=tints, linewidths=0.9, alpha=alpha if n > 1 else 1.0))
    for k, row in enumerate(marked):
        bold: Any = {"color": tints[row], "linestyle": STYLES[k % len(STYLES)], "linewidth": 2.4}
        handles += ax.plot(paths[row], heights[row], **bold)
        names.append(captions.row_label(attributions.origin.index, int(row)))
    ax.autoscale_view()
    style.widen_if_flat(ax, paths)
    style.legend(ax, handles, names, title=look.key_title, **look.key_place)
