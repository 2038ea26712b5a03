"""A counterfactual as arrows: from what a row is to what would be decided otherwise."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from illume.data.column_values import is_missing
from illume.plots.axes import as_text, given_or_new, require, require_count
from illume.plots.names import class_labels, distinct
from illume.results import colours
from illume.results.counterfactuals import Change, Counterfactual, Example
from illume.results.text import format_bound, format_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def counterfactual(result: Counterfactual, *, n_examples: int = 3, ax: Axes | None = None) -> Axes:
    """Draw for each example what changes, from the row's value to the new one, and what is decided then.

    Every line has the range of its feature; categories, and numbers that were missing, are written. A row
    that has no example gets the reason.
    """
    require(result, Counterfactual, "this picture shows one row", "write counterfactuals[0]")
    require_count(n_examples, "n_examples")
    examples = result.examples[:n_examples]
    lines = sum(1 + len(example.changes) for example in examples)
    names: list[tuple[float, str]] = []
    changed = list(dict.fromkeys(change.feature for example in examples for change in example.changes))
    names_of_classes = result.batch.class_names
    classes = dict(zip(names_of_classes, class_labels(names_of_classes), strict=True))
    label = dict(zip(changed, distinct(changed), strict=True))
    ax = given_or_new(ax, 1.0 + 0.42 * max(lines, 2), labels=list(label.values()))
    y = 0.0
    for example in examples:
        _head(ax, y, example, classes[example.decision])
        colour = colours.class_colour(result.batch.class_names.index(example.decision))
        for change in example.changes:
            y += 1.0
            _change(ax, y, change, result, colour)
            names.append((y, change.feature))
        y += 1.3
    if not examples:
        reason = textwrap.fill(" ".join(result.reason.split()), 60).replace("$", r"\$")
        ax.text(0.5, 0.5, f"no counterfactual:\n{reason}", ha="center", va="center")
    ax.set_xlim(-0.24, 1.24)
    ax.set_ylim(max(y - 0.6, 1.0), -0.6)
    ax.set_yticks([place for place, _ in names], [label[name] for _, name in names])
    ax.set_xticks([])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_title(
        f"now {classes[result.decision]}, probability {result.probability:.3f}", loc="left", fontsize="medium"
    )
    return ax


def _head(ax: Axes, y: float, example: Example, decision: str) -> None:
    """Name the new decision, and how far the example is."""
    text = f"→ {decision}, probability {example.probability:.3f}"
    far = f"    distance {example.distance:.2f}"
    bold = ax.text(-0.24, y, text, va="center", fontweight="bold", fontsize="medium")
    ax.annotate(far, (1, 0.5), xycoords=bold, va="center", fontsize="small", color=colours.NEUTRAL)


def _change(ax: Axes, y: float, change: Change, result: Counterfactual, colour: str) -> None:
    feature = result.feature(change.feature)
    arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
    if not feature.numeric or is_missing(change.before) or is_missing(change.after):
        ax.annotate("", (0.54, y), xytext=(0.46, y), arrowprops=arrow)
        ax.text(0.44, y, as_text(format_value(change.before), 24), va="center", ha="right", fontsize="small")
        ax.text(
            0.56,
            y,
            as_text(format_value(change.after), 24),
            va="center",
            ha="left",
            fontsize="small",
            fontweight="bold",
        )
        return
    before, after = float(change.before), float(change.after)
    low, high = min(feature.low, before, after), max(feature.high, before, after)
    start, end = ((number - low) / ((high - low) or 1.0) for number in (before, after))
    ax.hlines(y, 0, 1, color=colours.PALE, linewidth=1, zorder=0)
    ax.scatter([start], [y], s=26, color=colours.NEUTRAL, zorder=2)
    ax.annotate("", (end, y), xytext=(start, y), arrowprops=arrow)
    outwards = ("right", "left") if end >= start else ("left", "right")
    steps = (-8, 8) if end >= start else (8, -8)
    texts = zip((start, end), _texts(before, after), ("normal", "bold"), strict=True)
    for (x, text, weight), side, step in zip(texts, outwards, steps, strict=True):
        ax.annotate(
            text,
            (x, y),
            xytext=(step, 0),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize="small",
            fontweight=weight,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )


def _texts(before: float, after: float) -> tuple[str, str]:
    """Return two numbers as short text that differs where they do."""
    texts = format_value(before), format_value(after)
    return texts if texts[0] != texts[1] else (format_bound(before), format_bound(after))
