"""A rule as a chart of intervals: what each condition allows, over how the feature is distributed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import FloatArray
from illume.data.column_values import is_missing
from illume.data.frames import Frame, as_frame
from illume.data.schema import MISSING
from illume.plots.axes import as_text, given_or_new, require
from illume.plots.chips import chips
from illume.plots.names import class_labels, distinct
from illume.results import colours
from illume.results.conditions import Interval, Membership
from illume.results.rules import Rule
from illume.results.text import format_bound, format_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 40
TALL = 0.62  # of a line's height, for the histogram


def rule(rule: Rule, frame: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw each condition of a rule on a line of its own, scaled to the feature's range.

    A bar shows the allowed interval, a diamond the row's own value; categories are filled where allowed,
    crossed out where not, and framed where they are the row's own. Rows of a `frame`, if given, are shown
    behind as a light histogram.
    """
    require(rule, Rule, "this chart shows one rule", "write rules[0]")
    rows = None if frame is None else as_frame(frame)
    conditions = rule.conditions
    names = distinct([condition.name for condition in conditions])
    ax = given_or_new(ax, 1.4 + 0.75 * max(len(conditions), 1), labels=names)
    ax.set_xlim(-0.04, 1.04)
    ax.set_ylim(max(len(conditions), 1) - 0.45, -0.55)
    for y, condition in enumerate(conditions):
        if isinstance(condition, Interval):
            _interval(ax, y, condition, rule, rows)
        else:
            _membership(ax, y, condition, rule)
    if not conditions:
        ax.text(0.5, 0, "no condition: always", ha="center", va="center")
    ax.set_yticks(range(len(conditions)), names)
    ax.set_xticks([])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    decision = class_labels(rule.batch.class_names)[int(rule.batch.decisions[0])]
    ax.set_title(f"→ {decision}", loc="left", fontweight="bold", fontsize="medium")
    ax.set_xlabel(rule.measured.replace("  coverage", "\ncoverage"), fontsize="small", loc="left")
    return ax


def _own(rule: Rule, name: str) -> Any:
    """Return the row's own value; None where it is missing, or not known."""
    return None if rule.batch.data is None else rule.value(name)


def _interval(ax: Axes, y: int, condition: Interval, rule: Rule, rows: Frame | None) -> None:
    own = _own(rule, condition.name)
    value = math.nan if is_missing(own) else float(own)
    numbers = None if rows is None else rows.numbers(condition.name)
    low, high = _span(rule, condition, value, numbers)

    def place(number: float) -> float:
        return (min(max(number, low), high) - low) / (high - low)

    if numbers is not None:
        _histogram(ax, y, numbers, _edges(low, high, rule.feature(condition.name).whole))
    ax.hlines(y, 0, 1, color=colours.PALE, linewidth=1, zorder=1)
    left, right = place(condition.low), place(condition.high)
    ax.barh(y, right - left, left=left, height=0.13, color=colours.FOR, edgecolor=colours.FOR, zorder=2)
    _bounds(ax, y, condition, left, right)
    if math.isnan(value):
        if rule.batch.data is not None:
            ax.text(1.0, y - 0.22, "this row: missing", ha="right", va="bottom", fontsize="small")
        return
    ax.scatter(
        [place(value)], [y], marker="D", s=46, color="white", edgecolors=colours.INK, linewidths=1.5, zorder=4
    )
    _beside(ax, (place(value), y - 0.16), f"this row: {format_value(value)}", va="bottom", colour=colours.INK)


def _span(rule: Rule, condition: Interval, value: float, numbers: FloatArray | None) -> tuple[float, float]:
    """Return the range that a line shows: what is usual, and whatever must be seen on it."""
    feature = rule.feature(condition.name)
    usual = [feature.low, feature.high]
    if numbers is not None and np.isfinite(numbers).any():
        usual = np.nanquantile(numbers[~np.isinf(numbers)], [0.005, 0.995]).tolist()
    seen = [number for number in (*usual, condition.low, condition.high, value) if math.isfinite(number)]
    low, high = min(seen), max(seen)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _edges(low: float, high: float, whole: bool) -> FloatArray:
    """Return where the bars of a histogram begin and end; as many whole numbers in each.

    >>> _edges(0.0, 3.0, whole=True)
    array([0. , 0.5, 1.5, 2.5, 3. ])
    """
    if not whole:
        return np.linspace(low, high, BINS + 1)
    step = max(1, math.ceil((high - low) / BINS))
    inner = np.arange(math.floor(low) + step - 0.5, high, step)
    return np.concatenate([[low], inner[inner > low], [high]])


def _histogram(ax: Axes, y: int, numbers: FloatArray, edges: FloatArray) -> None:
    """Draw how numbers are distributed, the bars on a line; those beyond the line count at its ends."""
    low, high = edges[0], edges[-1]
    counts, _ = np.histogram(np.clip(numbers[np.isfinite(numbers)], low, high), edges)
    heights = TALL * counts / max(counts.max(), 1)
    x = (edges - low) / (high - low)
    ax.stairs(y - heights, x, baseline=y, fill=True, color=colours.PALE, alpha=0.8, zorder=0)


def _bounds(ax: Axes, y: int, condition: Interval, left: float, right: float) -> None:
    """Write the bounds below their ends; an open side has an arrow instead."""
    if condition.low == condition.high:
        _beside(ax, (left, y + 0.12), f"= {format_bound(condition.low)}", va="top", colour=colours.FOR)
        return
    apart = right - left > 0.25
    texts = [
        (left, f"≥ {format_bound(condition.low)}", math.isfinite(condition.low), "left" if apart else "right")
    ]
    texts += [
        (
            right,
            f"≤ {format_bound(condition.high)}",
            math.isfinite(condition.high),
            "right" if apart else "left",
        )
    ]
    both = texts[0][2] and texts[1][2]
    for x, text, closed, side in texts:
        if not closed:
            marker = "<" if x == left else ">"
            ax.scatter([x], [y], marker=marker, s=110, color=colours.FOR, zorder=3)
        elif both:
            edge = "left" if x < 0.1 and not apart else "right" if x > 0.9 and not apart else side
            ax.text(x, y + 0.12, text, ha=edge, va="top", fontsize="small", color=colours.FOR)
        else:
            _beside(ax, (x, y + 0.12), text, va="top", colour=colours.FOR)
    if condition.missing:
        ax.text(1.0, y + 0.12, "or missing", ha="right", va="top", fontsize="small", color=colours.FOR)


def _beside(ax: Axes, at: tuple[float, float], text: str, *, va: str, colour: str) -> None:
    """Write a text above or below a place, turned inwards near the edges."""
    towards = "left" if at[0] < 0.12 else "right" if at[0] > 0.88 else "center"
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6}
    ax.text(*at, as_text(text), bbox=box, ha=towards, va=va, fontsize="small", color=colour, zorder=5)


def _membership(ax: Axes, y: int, condition: Membership, rule: Rule) -> None:
    own = MISSING if is_missing(found := _own(rule, condition.name)) else str(found)
    values = [(MISSING if value is None else str(value), True) for value in condition.allowed]
    values += [(MISSING if value is None else str(value), False) for value in condition.excluded]
    mine = own if rule.batch.data is not None else None
    chips(ax, y, sorted(values, key=lambda chip: (chip[0] != mine, not chip[1])), mine)
