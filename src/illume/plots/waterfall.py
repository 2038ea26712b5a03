"""The waterfall: from the base value to one row's score, a feature at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.plots.axes import as_text, clean, given_or_new
from illume.results import colours, text
from illume.results.attribution import Attribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def waterfall(attribution: Attribution, *, n_features: int = 9, ax: Axes | None = None) -> Axes:
    """Draw how features lead from the base value to the surrogate's log-odds, strongest on top."""
    if not isinstance(attribution, Attribution):
        raise TypeError(
            f"a waterfall shows one row, found {type(attribution).__name__}; write attributions[0]"
        )
    i = attribution.output
    base, score = np.ravel(attribution.base_value)[i], np.ravel(attribution.score)[i]
    lines = attribution.lines(n_features)
    steps = np.array([line.contribution for line in lines])
    labels = [as_text(line.name) + (f" = {as_text(line.value)}" if line.value else "") for line in lines]
    ends = score - np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    starts = ends - steps
    ax = given_or_new(ax, 1.6 + 0.36 * len(steps))
    place = np.arange(len(steps))
    ax.barh(place, steps, left=starts, color=[colours.of(step) for step in steps], height=0.66)
    _connect(ax, place, starts)
    _write_numbers(ax, place, steps, starts)
    ax.set_yticks(place, labels)
    ax.invert_yaxis()
    ax.axvline(base, color=colours.NEUTRAL, linewidth=0.8, linestyle=":")
    batch = attribution.batch
    named = text.output(batch.output_names, batch.class_names, i).replace("$", r"\$")
    ax.set_xlabel(named)
    ax.set_title(f"{_title(attribution)}\nbase value {base:+.2f}, this row {score:+.2f}", fontsize="medium")
    clean(ax)
    return ax


def _connect(ax: Axes, place: IntArray, starts: FloatArray) -> None:
    """Draw a thin line from each bar to the next."""
    for above, below, x in zip(place[:-1], place[1:], starts[:-1], strict=True):
        ax.plot([x, x], [above - 0.33, below + 0.33], color=colours.NEUTRAL, linewidth=0.6, zorder=0)


def _write_numbers(ax: Axes, place: IntArray, steps: FloatArray, starts: FloatArray) -> None:
    """Write each contribution at the outer end of its bar."""
    ends = starts + steps
    room = 0.02 * (np.ptp(np.concatenate([starts, ends])) or 1.0)
    for y, step, end in zip(place, steps, ends, strict=True):
        x, side = (end + room, "left") if step >= 0 else (end - room, "right")
        ax.text(x, y, f"{step:+.2f}", va="center", ha=side, fontsize="small", color=colours.of(step))
    ax.use_sticky_edges = False
    ax.margins(x=0.12)


def _title(attribution: Attribution) -> str:
    return (
        f"{as_text(attribution.decision)}, probability {attribution.probability:.3f} "
        f"(surrogate {attribution.surrogate_probability:.3f}, {attribution.verdict})"
    )
