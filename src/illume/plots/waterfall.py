"""The waterfall: from the base value to one row's score, a feature at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.plots import words
from illume.plots.axes import as_text, clean, given_or_new, require, require_count, widen_if_flat
from illume.plots.names import distinct
from illume.results import colours
from illume.results.attributions import SURE, Attribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def waterfall(
    attribution: Attribution,
    *,
    output: int | str | None = None,
    n_features: int = 9,
    ax: Axes | None = None,
) -> Axes:
    """Draw how features lead from the base value to the model's log-odds, strongest on top.

    Thin lines are 95 % intervals of contributions, where their errors are known. Of kind `pullback`, the
    log-odds are the surrogate's.

    `output` chooses the class, by name or position, where there are several; by default the decided one.
    """
    require(attribution, Attribution, "a waterfall shows one row", "write attributions[0]")
    require_count(n_features, "n_features")
    i = attribution.position(output)
    base, score = np.ravel(attribution.base_value)[i], np.ravel(attribution.score)[i]
    lines = attribution.lines(n_features, i)
    steps = np.array([line.contribution for line in lines])
    names = distinct([line.name for line in lines])
    labels = [
        f"{name} = {as_text(line.value, 16)}" if line.value else name
        for name, line in zip(names, lines, strict=True)
    ]
    ends = score - np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    starts = ends - steps
    ax = given_or_new(ax, 1.8 + 0.36 * len(steps), labels=labels)
    place = np.arange(len(steps))
    ax.barh(
        place, steps, left=starts, color=[colours.contribution_colour(step) for step in steps], height=0.66
    )
    _connect(ax, place, starts)
    reach = SURE * np.nan_to_num(np.array([line.standard_error for line in lines]))
    _intervals(ax, place, ends, reach)
    _write_numbers(ax, place, steps, starts, reach)
    ax.set_yticks(place, labels)
    ax.invert_yaxis()
    ax.axvline(base, color=colours.NEUTRAL, linewidth=0.8, linestyle=":")
    ax.set_xlabel(words.log_odds(attribution.batch, i))
    title = f"{words.verdict(attribution)}\nbase value {base:+.2f}, this row {score:+.2f}"
    if reach.any():
        title += "; thin lines: 95 % intervals"
    ax.set_title(title, fontsize="medium")
    clean(ax)
    return ax


def _connect(ax: Axes, place: IntArray, starts: FloatArray) -> None:
    """Draw a thin line from each bar to the next."""
    ax.vlines(
        starts[:-1], place[:-1] - 0.33, place[1:] + 0.33, color=colours.NEUTRAL, linewidth=0.6, zorder=0
    )


def _intervals(ax: Axes, place: IntArray, ends: FloatArray, reach: FloatArray) -> None:
    """Draw a thin line around the outer end of each bar whose error is known."""
    known = reach > 0
    if known.any():
        ax.hlines(
            place[known],
            (ends - reach)[known],
            (ends + reach)[known],
            color=colours.INK,
            linewidth=0.9,
            zorder=3,
        )


def _write_numbers(
    ax: Axes, place: IntArray, steps: FloatArray, starts: FloatArray, reach: FloatArray
) -> None:
    """Write each contribution at the outer end of its bar, or of its interval."""
    for y, step, end, beyond in zip(place, steps, starts + steps, reach, strict=True):
        side = 1 if step >= 0 else -1
        ax.annotate(
            f"{step:+.2f}",
            (end + side * beyond, y),
            xytext=(4 * side, 0),
            textcoords="offset points",
            va="center",
            ha="left" if side > 0 else "right",
            fontsize="small",
            color=colours.INK,
        )
    ax.use_sticky_edges = False
    ax.margins(x=0.14)
    if not steps.any():
        widen_if_flat(ax)
