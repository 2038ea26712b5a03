"""A counterfactual as arrows from the row's values to the changed ones."""

from __future__ import annotations

import textwrap
from typing import Any

from illume.data.column_values import is_missing
from illume.plots.captions import as_label, class_labels, distinct_labels
from illume.plots.style import Axes, get_axes, hide_all, require, require_count
from illume.results import colours
from illume.results.counterfactuals import Change, Counterfactual, Example
from illume.results.text import format_bound, format_value


def counterfactual(result: Counterfactual, *, n_examples: int = 3, ax: Axes | None = None) -> Axes:
    """Draw for each example what changes, from the row's value to the new one, and what is decided then.

    Every line spans the range of its feature; categories, and numbers that were missing, are written. If
    there is no example, the reason is shown.
    """
    require(result, Counterfactual, "this picture shows one row", "write counterfactuals[0]")
    require_count(n_examples, "n_examples")
    examples, classes = result.examples[:n_examples], result.batch.class_names
    class_label = dict(zip(classes, class_labels(classes), strict=True))
    features = list(dict.fromkeys(change.feature for example in examples for change in example.changes))
    label = dict(zip(features, distinct_labels(features), strict=True))
    n_lines = sum(1 + len(example.changes) for example in examples)
    ax = get_axes(ax, 1.0 + 0.42 * max(n_lines, 2), labels=list(label.values()))
    ticks: dict[float, str] = {}
    y = 0.0
    for example in examples:
        _draw_head(ax, y, example, class_label[example.decision])
        colour = colours.class_colour(classes.index(example.decision))
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
    title = f"now {class_label[result.decision]}, probability {result.probability:.3f}"
    ax.set_title(title, loc="left", fontsize="medium")
    return ax


def _draw_head(ax: Axes, y: float, example: Example, decision: str) -> None:
    """Name the new decision, and the distance of the example."""
    text = f"→ {decision}, probability {example.probability:.3f}"
    bold = ax.text(-0.24, y, text, va="center", fontweight="bold", fontsize="medium")
    beside: Any = {"xycoords": bold, "va": "center", "fontsize": "small", "color": colours.NEUTRAL}
    ax.annotate(f"    distance {example.distance:.2f}", (1, 0.5), **beside)


def _draw_change(ax: Axes, y: float, change: Change, result: Counterfactual, colour: str) -> None:
    feature = result.feature(change.feature)
    arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
    look: Any = {"va": "center", "fontsize": "small"}
    if not feature.numeric or is_missing(change.before) or is_missing(change.after):
        ax.annotate("", (0.54, y), xytext=(0.46, y), arrowprops=arrow)
        ax.text(0.44, y, as_label(format_value(change.before), 24), ha="right", **look)
        ax.text(0.56, y, as_label(format_value(change.after), 24), ha="left", fontweight="bold", **look)
        return
    before, after = float(change.before), float(change.after)
    low, high = min(feature.low, before, after), max(feature.high, before, after)
    start, end = ((number - low) / ((high - low) or 1.0) for number in (before, after))
    ax.hlines(y, 0, 1, color=colours.PALE, linewidth=1, zorder=0)
    ax.scatter([start], [y], s=26, color=colours.NEUTRAL, zorder=2)
    ax.annotate("", (end, y), xytext=(start, y), arrowprops=arrow)
    side = 1 if end >= start else -1
    look |= {"textcoords": "offset points", "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.8}}
    texts = zip((start, end), _distinct_texts(before, after), (-side, side), ("normal", "bold"), strict=True)
    for x, text, towards, weight in texts:
        align = "left" if towards > 0 else "right"
        ax.annotate(text, (x, y), xytext=(8 * towards, 0), ha=align, fontweight=weight, **look)


def _distinct_texts(before: float, after: float) -> tuple[str, str]:
    """Return two numbers as short text, with more digits if they would look the same."""
    texts = format_value(before), format_value(after)
    return texts if texts[0] != texts[1] else (format_bound(before), format_bound(after))
