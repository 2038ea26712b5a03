"""Decision paths: how the contributions of many rows add up, from the base value to the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.plots import words
from illume.plots.axes import clean, given_or_new, legend, marked_rows, require, require_count, widen_if_flat
from illume.plots.names import class_labels, distinct
from illume.results import colours
from illume.results.attributions import Attributions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ("-", "--", "-.", ":")


def decision_paths(
    attributions: Attributions,
    *,
    output: int | str = 0,
    highlight: int | Sequence[int] = (),
    n_features: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """Draw a line per row, upwards from the base value; each feature moves it by its contribution.

    The most important features are on top, so that a line ends at the row's log-odds; what is not shown, and
    the offset of refinements, comes first. Colours are the black box's decisions.

    Parameters
    ----------
    output
        The class, by name or position, where there are several.
    highlight
        Positions of rows to draw in bold and to name.
    """
    require(attributions, Attributions, "decision paths show many rows", "pass the whole batch")
    require_count(n_features, "n_features")
    i = attributions.output(output)
    top = attributions.top(n_features, i)
    marked = marked_rows(highlight, len(attributions))
    left_out = len(attributions.feature_names) - len(top.feature_names)
    labels = distinct(top.feature_names)[::-1]
    paths = _paths(top, i)
    if left_out or np.any(paths[:, 1] != paths[:, 0]):
        labels = [_before(left_out, bool(attributions.offset.any())), *labels]
    else:
        paths = np.delete(paths, 0, axis=1)
    ax = given_or_new(ax, 1.6 + 0.3 * len(labels), 7.6, labels)
    _lines(ax, attributions, paths, marked)
    ax.axvline(
        float(_flat(attributions.base_values, i)[:1].sum()),
        color=colours.NEUTRAL,
        linewidth=0.8,
        linestyle=":",
    )
    ax.set_ylim(0, len(labels))
    ax.set_yticks(np.arange(len(labels)) + 0.5, labels)
    ax.hlines(
        np.arange(len(labels) + 1),
        0,
        1,
        transform=ax.get_yaxis_transform(),
        color=colours.PALE,
        lw=0.6,
        zorder=0,
    )
    ax.set_xlabel(words.log_odds(attributions, i))
    clean(ax)
    return ax


def _before(left_out: int, refined: bool) -> str:
    """Name what comes before the features that are shown."""
    parts = [f"{left_out} other features"] * bool(left_out) + ["refinement"] * refined
    return " and ".join(parts) or "left out"


def _flat(array: FloatArray, i: int) -> FloatArray:
    return array if array.ndim == 1 else array[:, i]


def _paths(top: Attributions, i: int) -> FloatArray:
    """Return the sums along each row's path, (n, n_features + 2): base, with the rest, with each feature."""
    base, rest, offset = (_flat(part, i) for part in (top.base_values, top.rest, top.offset))
    steps = top.contributions(i)[:, ::-1]
    return np.cumsum(np.column_stack([base, rest + offset, steps]), axis=1)


def _lines(ax: Axes, attributions: Attributions, paths: FloatArray, marked: IntArray) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    n, n_steps = paths.shape
    heights = np.broadcast_to(np.arange(n_steps), paths.shape)
    segments = np.stack([paths, heights], axis=2)
    decisions = attributions.decisions
    tints = [colours.class_colour(int(c)) for c in decisions]
    faint = (0.25 if len(marked) else 0.6) if n <= 200 else (0.08 if len(marked) else 0.2)
    ax.add_collection(
        LineCollection(list(segments), colors=tints, linewidths=0.9, alpha=faint if n > 1 else 1.0)
    )
    handles: list[Any] = []
    names = []
    classes = class_labels(attributions.class_names)
    for c in np.unique(decisions):
        handles.append(Line2D([], [], color=colours.class_colour(int(c))))
        names.append(classes[c])
    for k, row in enumerate(marked):
        look: Any = {"color": colours.class_colour(int(decisions[row])), "linestyle": STYLES[k % len(STYLES)]}
        handles += ax.plot(paths[row], heights[row], linewidth=2.4, **look)
        names.append(words.row_label(attributions, int(row)))
    ax.autoscale_view()
    widen_if_flat(ax)
    options = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "fontsize": "small"}
    legend(ax, handles, names, title="decision", **options)
