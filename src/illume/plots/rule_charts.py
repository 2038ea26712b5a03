"""Charts of a rule, as intervals over the features' distributions, and of a counterfactual, as arrows."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.answers import is_missing
from illume.data.frames import Frame, as_frame
from illume.data.require import require_int
from illume.plots.captions import as_label, distinct_labels
from illume.plots.looks import look_of
from illume.plots.style import Axes, get_axes, hide_all, require
from illume.results import colours
from illume.results.conditions import Interval, Membership
from illume.results.counterfactuals import Change, Counterfactual
from illume.results.rules import Rule
from illume.results.text import format_bound, format_value

BINS = 40
HISTOGRAM_HEIGHT = 0.62
LONGEST_CATEGORY = 18
LINE_LENGTH = 52  # in characters
CHIP_PADDING = 5  # in characters


def rule(rule: Rule, frame: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw each condition of a rule on a line, scaled to the feature's range.

    A bar shows the allowed interval, a diamond the row's own value; categories are filled where allowed,
    crossed out where not, and framed where they are the row's own. If a `frame` is given, its rows are shown
    behind as a light histogram. If the rule ends in an interval of numbers, a last line shows it, with the
    row's own prediction, on the range of predictions.
    """
    require(rule, Rule, "this chart shows one rule", "write rules[0]")
    rows = None if frame is None else as_frame(frame)
    conditions = rule.conditions
    names = distinct_labels([condition.dictionary.title(condition.name) for condition in conditions])
    n_lines, number = max(len(conditions), 1), rule.interval is not None
    ax = get_axes(ax, 1.4 + 0.75 * (n_lines + number), labels=names)
    ax.set_xlim(-0.04, 1.04)
    ax.set_ylim(n_lines + number - 0.45, -0.55)
    for y, condition in enumerate(conditions):
        if isinstance(condition, Interval):
            _draw_interval(ax, y, condition, rule, rows)
        else:
            _draw_membership(ax, y, condition, rule)
    if not conditions:
        ax.text(0.5, 0, "no condition: always", ha="center", va="center")
    places, decision = list(range(len(conditions))), as_label(rule.decision)
    if number:
        places, names = [*places, n_lines], [*names, _draw_answer(ax, n_lines, rule)]
        decision = f"{names[-1].removeprefix('→ ')}: {decision}"
    ax.set_yticks(places, names)
    ax.set_xticks([])
    hide_all(ax)
    ax.set_title(f"→ {decision}", loc="left", fontweight="bold", fontsize="medium")
    ax.set_xlabel(rule.measured.replace("  coverage", "\ncoverage"), fontsize="small", loc="left")
    return ax


def _draw_answer(ax: Axes, y: int, rule: Rule) -> str:
    """Draw the interval that a rule ends in, and the row's prediction; return the number's name."""
    batch, look = rule.batch, look_of(rule)
    i, show = batch.question.output, batch.outputs.format_bound
    low, high = rule.interval or look.answer_range(i)
    own = float(batch.predictions[0, i])
    seen = (*look.answer_range(i), low, high, own)
    start, span = min(seen), (max(seen) - min(seen)) or 1.0
    left, right, at = ((number - start) / span for number in (low, high, own))
    ax.axhline(y - 0.55, color=colours.PALE, linewidth=0.8)
    ax.hlines(y, 0, 1, color=colours.PALE, linewidth=1, zorder=1)
    ax.barh(y, right - left, left=left, height=0.13, color=colours.INK, edgecolor=colours.INK, zorder=2)
    below: Any = {"va": "top", "fontsize": "small"}
    ax.text(left, y + 0.12, show(low), ha="left" if left < 0.12 else "right", **below)
    ax.text(right, y + 0.12, show(high), ha="right" if right > 0.88 else "left", **below)
    if batch.data is not None:
        diamond: Any = {"marker": "D", "s": 46, "color": "white", "edgecolors": colours.INK, "zorder": 4}
        ax.scatter([at], [y], linewidths=1.5, **diamond)
        _write(ax, (at, y - 0.16), f"this row: {show(own)}", va="bottom", colour=colours.INK)
    return f"→ {look.names[i]}"


def _draw_interval(ax: Axes, y: int, condition: Interval, rule: Rule, rows: Frame | None) -> None:
    own = None if rule.batch.data is None else rule.value(condition.name)
    value = math.nan if own is None or is_missing(own) else float(own)
    numbers = None if rows is None else rows.numbers(condition.name)
    low, high = _shown_range(rule, condition, value, numbers)

    def place(number: float) -> float:
        return (min(max(number, low), high) - low) / (high - low)

    if numbers is not None:
        _draw_histogram(ax, y, numbers, _bin_edges(low, high, rule.feature(condition.name).whole))
    ax.hlines(y, 0, 1, color=colours.PALE, linewidth=1, zorder=1)
    left, right = place(condition.low), place(condition.high)
    ax.barh(y, right - left, left=left, height=0.13, color=colours.FOR, edgecolor=colours.FOR, zorder=2)
    _write_bounds(ax, y, condition, left, right)
    if not math.isnan(value):
        diamond: Any = {"marker": "D", "s": 46, "color": "white", "edgecolors": colours.INK, "zorder": 4}
        ax.scatter([place(value)], [y], linewidths=1.5, **diamond)
        _write(
            ax, (place(value), y - 0.16), f"this row: {format_value(value)}", va="bottom", colour=colours.INK
        )
    elif rule.batch.data is not None:
        ax.text(1.0, y - 0.22, "this row: missing", ha="right", va="bottom", fontsize="small")


def _shown_range(
    rule: Rule, condition: Interval, value: float, numbers: FloatArray | None
) -> tuple[float, float]:
    """Return the range of a line: the usual values, the condition's bounds and the row's own value."""
    feature = rule.feature(condition.name)
    usual = [feature.low, feature.high]
    if numbers is not None and np.isfinite(numbers).any():
        usual = np.nanquantile(numbers[~np.isinf(numbers)], [0.005, 0.995]).tolist()
    seen = [number for number in (*usual, condition.low, condition.high, value) if math.isfinite(number)]
    low, high = min(seen), max(seen)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _bin_edges(low: float, high: float, whole: bool) -> FloatArray:
    """Return the edges of a histogram; of whole numbers, each bin holds equally many.

    >>> _bin_edges(0.0, 3.0, whole=True)
    array([0. , 0.5, 1.5, 2.5, 3. ])
    """
    if not whole:
        return np.linspace(low, high, BINS + 1)
    step = max(1, math.ceil((high - low) / BINS))
    inner = np.arange(math.floor(low) + step - 0.5, high, step)
    return np.concatenate([[low], inner[inner > low], [high]])


def _draw_histogram(ax: Axes, y: int, numbers: FloatArray, edges: FloatArray) -> None:
    """Draw the distribution of numbers on a line; those outside its range count at its ends."""
    low, high = edges[0], edges[-1]
    counts, _ = np.histogram(np.clip(numbers[np.isfinite(numbers)], low, high), edges)
    heights = HISTOGRAM_HEIGHT * counts / max(counts.max(), 1)
    x = (edges - low) / (high - low)
    ax.stairs(y - heights, x, baseline=y, fill=True, color=colours.PALE, alpha=0.8, zorder=0)


def _write_bounds(ax: Axes, y: int, condition: Interval, left: float, right: float) -> None:
    """Write the bounds below the ends of a bar; an open side gets an arrow instead."""
    below: Any = {"va": "top", "fontsize": "small", "color": colours.FOR}
    if condition.missing:
        ax.text(1.0, y + 0.12, "or missing", ha="right", **below)
    if condition.low == condition.high:
        _write(ax, (left, y + 0.12), f"= {format_bound(condition.low)}", va="top", colour=colours.FOR)
        return
    wide = right - left > 0.25
    both = math.isfinite(condition.low) and math.isfinite(condition.high)
    ends = [
        (left, "≥", condition.low, "<", "left", "right"),
        (right, "≤", condition.high, ">", "right", "left"),
    ]
    for x, sign, number, arrow, inwards, outwards in ends:
        if not math.isfinite(number):
            ax.scatter([x], [y], marker=arrow, s=110, color=colours.FOR, zorder=3)
        elif both:
            towards = inwards if wide else "left" if x < 0.1 else "right" if x > 0.9 else outwards
            ax.text(x, y + 0.12, f"{sign} {format_bound(number)}", ha=towards, **below)
        else:
            _write(ax, (x, y + 0.12), f"{sign} {format_bound(number)}", va="top", colour=colours.FOR)


def _write(ax: Axes, at: tuple[float, float], text: str, *, va: str, colour: str) -> None:
    """Write a text above or below a place, aligned inwards near the edges."""
    towards = "left" if at[0] < 0.12 else "right" if at[0] > 0.88 else "center"
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6}
    ax.text(*at, as_label(text), bbox=box, ha=towards, va=va, fontsize="small", color=colour, zorder=5)


def _draw_membership(ax: Axes, y: int, condition: Membership, rule: Rule) -> None:
    own = None
    if rule.batch.data is not None:
        found = rule.value(condition.name)
        own = condition.dictionary.category(condition.name, found)
    values = [(value, True) for value in condition.allowed] + [(value, False) for value in condition.excluded]
    chips = [(condition.dictionary.category(condition.name, value), allowed) for value, allowed in values]
    draw_chips(ax, y, sorted(chips, key=lambda chip: (chip[0] != own, not chip[1])), own)


def draw_chips(ax: Axes, y: float, values: list[tuple[str, bool]], own: str | None) -> None:
    """Draw categories side by side, filled if allowed; count those that do not fit on the line."""
    from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea

    shown: list[Any] = []
    length = 0
    for name, allowed in values:
        cross, row = "" if allowed else "✗ ", "this row: " if name == own else ""
        text = f"{cross}{row}{as_label(name, LONGEST_CATEGORY)}"
        length += len(text) + CHIP_PADDING
        if length > LINE_LENGTH and shown:
            break
        edge = colours.INK if row else colours.FOR if allowed else colours.NEUTRAL
        box = {"boxstyle": "round,pad=0.4", "edgecolor": edge, "linewidth": 2.4 if row else 0.8}
        box |= {"facecolor": colours.FOR if allowed else "white", "linestyle": "-" if allowed else ":"}
        look = {"fontsize": "small", "color": "white" if allowed else colours.NEUTRAL, "bbox": box}
        shown.append(TextArea(text, textprops=look))
    left = len(values) - len(shown)
    if left:
        more = f"and {left} more, {sum(allowed for _, allowed in values[-left:])} of them allowed"
        shown.append(TextArea(more, textprops={"fontsize": "small", "color": colours.NEUTRAL}))
    line = HPacker(children=shown, sep=18, pad=6, align="center")
    place: Any = {"box_alignment": (0, 0.5), "frameon": False, "pad": 0, "annotation_clip": False}
    ax.add_artist(AnnotationBbox(line, (0, y), **place))


def counterfactual(result: Counterfactual, *, n_examples: int = 3, ax: Axes | None = None) -> Axes:
    """Draw for each example what changes, from the row's value to the new one, and what is answered then.

    Every line spans the range of its feature; categories, and numbers that were missing, are written. If
    there is no example, the reason is shown.
    """
    require(result, Counterfactual, "this picture shows one row", "write counterfactuals[0]")
    require_int("n_examples", n_examples)
    batch, look, examples = result.batch, look_of(result), result.examples[:n_examples]
    asked = batch.question.output
    features = list(dict.fromkeys(change.feature for example in examples for change in example.changes))
    titles = [batch.dictionary.title(name) for name in features]
    label = dict(zip(features, distinct_labels(titles), strict=True))
    n_lines = sum(1 + len(example.changes) for example in examples)
    ax = get_axes(ax, 1.0 + 0.42 * max(n_lines, 2), labels=list(label.values()))
    ticks: dict[float, str] = {}
    y = 0.0
    for example, p in zip(examples, batch.example_predictions, strict=False):
        bold = ax.text(-0.24, y, f"→ {look.answer(p)}", va="center", fontweight="bold", fontsize="medium")
        beside: Any = {"xycoords": bold, "va": "center", "fontsize": "small", "color": colours.NEUTRAL}
        ax.annotate(f"    distance {example.distance:.2f}", (1, 0.5), **beside)
        colour = look.arrow_colour(batch.predictions[0], p, asked)
        for change in example.changes:
            y += 1.0
            _draw_change(ax, y, change, result, colour)
            ticks[y] = label[change.feature]
        y += 1.3
    if not examples:
        reason = textwrap.fill(" ".join(result.reason.split()), 60).replace("$", r"\$")
        ax.text(0.5, 0.5, f"no counterfactual:\n{reason}", ha="center", va="center")
    ax.set_xlim(-0.24, 1.24)
    ax.set_ylim(max(y - 0.6, 1.0), -0.6)
    ax.set_yticks(list(ticks), list(ticks.values()))
    ax.set_xticks([])
    hide_all(ax)
    ax.set_title(f"now {look.answer(batch.predictions[0])}", loc="left", fontsize="medium")
    return ax


def _draw_change(ax: Axes, y: float, change: Change, result: Counterfactual, colour: str) -> None:
    feature, show = result.feature(change.feature), change.dictionary.show
    arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
    look: Any = {"va": "center", "fontsize": "small"}
    if not feature.numeric or is_missing(change.before) or is_missing(change.after):
        ax.annotate("", (0.54, y), xytext=(0.46, y), arrowprops=arrow)
        ax.text(0.44, y, as_label(show(change.feature, change.before), 24), ha="right", **look)
        ax.text(
            0.56, y, as_label(show(change.feature, change.after), 24), ha="left", fontweight="bold", **look
        )
        return
    before, after = float(change.before), float(change.after)
    low, high = min(feature.low, before, after), max(feature.high, before, after)
    start, end = ((number - low) / ((high - low) or 1.0) for number in (before, after))
    ax.hlines(y, 0, 1, color=colours.PALE, linewidth=1, zorder=0)
    ax.scatter([start], [y], s=26, color=colours.NEUTRAL, zorder=2)
    ax.annotate("", (end, y), xytext=(start, y), arrowprops=arrow)
    side = 1 if end >= start else -1
    look |= {"textcoords": "offset points", "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.8}}
    texts = [format_value(number) for number in (before, after)]
    if texts[0] == texts[1]:
        texts = [format_bound(number) for number in (before, after)]
    for x, text, towards, weight in zip((start, end), texts, (-side, side), ("normal", "bold"), strict=True):
        align = "left" if towards > 0 else "right"
        ax.annotate(text, (x, y), xytext=(8 * towards, 0), ha=align, fontweight=weight, **look)
