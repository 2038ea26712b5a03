"""Decision paths: how the contributions of many rows add up from the base value to the score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.plots import captions, style
from illume.plots.style import Axes
from illume.results import colours
from illume.results.attributions import Attributions

STYLES = ("-", "--", "-.", ":")


def decision_paths(
    attributions: Attributions,
    *,
    output: int | str = 0,
    highlight: int | Sequence[int] = (),
    n_features: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """Draw one line per row, upwards from the base value; each feature moves it by its contribution.

    The most important features are on top, so that a line ends at the row's log-odds. Features that are not
    shown and the offset of refinements come first. Colours are the black box's decisions.

    Parameters
    ----------
    output
        The class, by name or position.
    highlight
        Positions of rows to draw in bold and to name.
    """
    style.require(attributions, Attributions, "decision paths show many rows", "pass the whole batch")
    style.require_count(n_features, "n_features")
    i = attributions.output(output)
    top = attributions.top(n_features, i)
    marked = style.row_positions(highlight, len(attributions))
    n_hidden = len(attributions.feature_names) - len(top.feature_names)
    labels = captions.distinct_labels(top.feature_names)[::-1]
    base, rest, offset = (_of_output(part, i) for part in (top.base_values, top.rest, top.offset))
    paths = np.cumsum(np.column_stack([base, rest + offset, top.contributions(i)[:, ::-1]]), axis=1)
    if n_hidden or np.any(paths[:, 1] != paths[:, 0]):
        first = [f"{n_hidden} other features"] * bool(n_hidden)
        first += ["refinement"] * bool(attributions.offset.any())
        labels = [" and ".join(first) or "left out", *labels]
    else:
        paths = np.delete(paths, 0, axis=1)
    ax = style.get_axes(ax, 1.6 + 0.3 * len(labels), 7.6, labels)
    _draw_lines(ax, attributions, paths, marked)
    ax.axvline(float(base[:1].sum()), color=colours.NEUTRAL, linewidth=0.8, linestyle=":")
    ax.set_ylim(0, len(labels))
    ax.set_yticks(np.arange(len(labels)) + 0.5, labels)
    grid: Any = {"transform": ax.get_yaxis_transform(), "color": colours.PALE, "lw": 0.6, "zorder": 0}
    ax.hlines(np.arange(len(labels) + 1), 0, 1, **grid)
    ax.set_xlabel(captions.log_odds_caption(attributions, i))
    style.hide_frame(ax)
    return ax


def _of_output(array: FloatArray, i: int) -> FloatArray:
    return array if array.ndim == 1 else array[:, i]


def _draw_lines(ax: Axes, attributions: Attributions, paths: FloatArray, marked: IntArray) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    n, n_steps = paths.shape
    heights = np.broadcast_to(np.arange(n_steps), paths.shape)
    decisions, classes = attributions.decisions, captions.class_labels(attributions.class_names)
    tints = [colours.class_colour(int(c)) for c in decisions]
    alpha = (0.25 if len(marked) else 0.6) if n <= 200 else (0.08 if len(marked) else 0.2)
    lines = list(np.stack([paths, heights], axis=2))
    ax.add_collection(LineCollection(lines, colors=tints, linewidths=0.9, alpha=alpha if n > 1 else 1.0))
    decided = np.unique(decisions)
    handles: list[Any] = [Line2D([], [], color=colours.class_colour(int(c))) for c in decided]
    names = [classes[c] for c in decided]
    for k, row in enumerate(marked):
        look: Any = {"color": tints[row], "linestyle": STYLES[k % len(STYLES)], "linewidth": 2.4}
        handles += ax.plot(paths[row], heights[row], **look)
        names.append(captions.row_label(attributions.origin.index, int(row)))
    ax.autoscale_view()
    style.widen_if_flat(ax)
    style.legend(ax, handles, names, title="decision")
