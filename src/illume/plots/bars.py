"""Bar charts of contributions: `bar` and `waterfall`."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.plots import captions, style
from illume.plots.style import Axes
from illume.results import colours, text
from illume.results.attributions import SURE, Attribution, Attributions


def bar(
    result: Attribution | Attributions,
    *,
    output: int | str | None = None,
    n_features: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw the contributions of one row, or the global importance of a batch, strongest on top.

    Thin lines are 95 % intervals of one row's contributions, where their errors are known.

    `output` chooses the class, by name or position. The default is the decided class of a row; the
    importance of a batch is summed over classes.
    """
    style.require(
        result, (Attribution, Attributions), "bars show attributions", "pass explainer(X) or a row of it"
    )
    style.require_count(n_features, "n_features")
    errors = np.zeros(len(result.feature_names))
    if isinstance(result, Attribution):
        i = result.position(output)
        values, caption = result.contributions(i), captions.contribution_caption(result.batch, i)
        errors = np.nan_to_num(result.errors(i))
    elif output is None:
        values, caption = result.strength, f"mean absolute contribution ({text.owner(result)} log-odds)"
    else:
        i = result.output(output)
        values = result.importance if result.values.ndim == 2 else result.importance[:, i]
        caption = f"mean absolute {captions.contribution_caption(result, i)}"
    order = style.strongest(values, n_features)
    names = captions.distinct_labels([result.feature_names[j] for j in order])
    ax = style.get_axes(ax, 1.2 + 0.32 * len(order), labels=names)
    style.signed_bars(ax, values[order], names, height=0.7)
    if style.interval_lines(ax, values[order], SURE * errors[order]):
        caption += "\nthin lines: 95 % intervals"
    style.zero_line(ax)
    ax.set_xlabel(caption)
    return ax


def waterfall(
    attribution: Attribution,
    *,
    output: int | str | None = None,
    n_features: int = 9,
    ax: Axes | None = None,
) -> Axes:
    """Draw how features lead from the base value to the model's log-odds, strongest on top.

    Thin lines are 95 % intervals of contributions, where their errors are known. For contributions of kind
    `pullback`, the log-odds are the surrogate's.

    `output` chooses the class, by name or position; the default is the decided one.
    """
    style.require(attribution, Attribution, "a waterfall shows one row", "write attributions[0]")
    style.require_count(n_features, "n_features")
    i = attribution.position(output)
    base, score = np.ravel(attribution.base_value)[i], np.ravel(attribution.score)[i]
    lines = attribution.lines(n_features, i)
    names = captions.distinct_labels([line.name for line in lines])
    labels = [
        f"{name} = {captions.as_label(line.value, 16)}" if line.value else name
        for name, line in zip(names, lines, strict=True)
    ]
    steps = np.array([line.contribution for line in lines])
    ends = score - np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    starts = ends - steps
    ax = style.get_axes(ax, 1.8 + 0.36 * len(steps), labels=labels)
    places = style.signed_bars(ax, steps, labels, left=starts)
    between: Any = {"color": colours.NEUTRAL, "linewidth": 0.6, "zorder": 0}
    ax.vlines(starts[:-1], places[:-1] - 0.33, places[1:] + 0.33, **between)
    reach = SURE * np.nan_to_num(np.array([line.standard_error for line in lines]))
    title = f"{captions.decision_caption(attribution)}\nbase value {base:+.2f}, this row {score:+.2f}"
    if style.interval_lines(ax, ends, reach):
        title += "; thin lines: 95 % intervals"
    _write_numbers(ax, steps, ends + np.where(steps >= 0, reach, -reach))
    ax.axvline(base, color=colours.NEUTRAL, linewidth=0.8, linestyle=":")
    ax.set_xlabel(captions.log_odds_caption(attribution.batch, i))
    ax.set_title(title, fontsize="medium")
    return ax


def _write_numbers(ax: Axes, steps: FloatArray, ends: FloatArray) -> None:
    """Write each contribution at the outer end of its bar, or of its interval."""
    look: Any = {"textcoords": "offset points", "va": "center", "fontsize": "small", "color": colours.INK}
    for y, (step, end) in enumerate(zip(steps, ends, strict=True)):
        side, align = (4, "left") if step >= 0 else (-4, "right")
        ax.annotate(f"{step:+.2f}", (end, y), xytext=(side, 0), ha=align, **look)
    ax.use_sticky_edges = False
    ax.margins(x=0.14)
    if not steps.any():
        style.widen_if_flat(ax)
