"""Bar charts of contributions: of a row or a batch, of several explainers, and of two rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.data.answers import is_missing
from illume.data.require import require_int
from illume.plots import captions, looks, style
from illume.plots.look import tick_label
from illume.plots.style import Axes
from illume.results import colours
from illume.results.attributions import Attribution, Attributions
from illume.results.reasons import SURE


def bar(
    result: Attribution | Attributions,
    *,
    output: int | str | None = None,
    n_features: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw the contributions of one row, or the global importance of a batch, strongest on top.

    Colours are the signs of one row's contributions; importance has no sign, and one colour. Thin lines are
    95 % intervals of one row's contributions, where their errors are known.

    `output` chooses the class, by name or position. The default is the decided class of a row; the
    importance of a batch is summed over classes, which the axis says.
    """
    style.require(
        result, (Attribution, Attributions), "bars show attributions", "pass explainer(X) or a row of it"
    )
    require_int("n_features", n_features)
    labels = result.feature_labels
    reach: FloatArray = np.zeros(len(labels))
    look, i = looks.look_of(result), 0
    if isinstance(result, Attribution):
        i = result.position(output)
        values, caption = result.contributions(i), look.contribution(result.batch, i)
        reach = SURE * np.nan_to_num(result.errors(i))
    elif output is None:
        values, caption = result.strength, look.describe_strength(result)
    else:
        i = result.output(output)
        values = result.importance if result.values.ndim == 2 else result.importance[:, i]
        caption = f"mean absolute {look.contribution(result, i)}"
    order = style.strongest(values, n_features)
    names = captions.distinct_labels([labels[j] for j in order])
    ax = style.get_axes(ax, 1.2 + 0.32 * len(order), labels=names)
    known = reach[order].any()
    colour = None if isinstance(result, Attribution) else colours.NEUTRAL
    reaches = reach[order] if known else None
    style.signed_bars(ax, values[order], names, height=0.7, reach=reaches, colour=colour)
    caption += "\nthin lines: 95 % intervals" if known else ""
    style.zero_line(ax)
    look.format_axis(ax.xaxis, i)
    ax.set_xlabel(caption)
    return ax


def waterfall(
    attribution: Attribution,
    *,
    output: int | str | None = None,
    n_features: int = 9,
    ax: Axes | None = None,
) -> Axes:
    """Draw how features lead from the base value to the model's score, strongest on top.

    Thin lines are 95 % intervals of contributions, where their errors are known. For contributions of kind
    `pullback`, the score is the surrogate's. With a threshold, a dashed line is where the decision changes.

    `output` chooses the class, by name or position; the default is the decided one.
    """
    style.require(attribution, Attribution, "a waterfall shows one row", "write attributions[0]")
    require_int("n_features", n_features)
    i, look, outputs = attribution.position(output), looks.look_of(attribution), attribution.batch.outputs
    base, score = np.ravel(attribution.base_value)[i], np.ravel(attribution.score)[i]
    lines = attribution.lines(n_features, i)
    names = captions.distinct_labels([line.label for line in lines])
    labels = [
        f"{name} = {captions.as_label(line.value, 16)}" if line.value else name
        for name, line in zip(names, lines, strict=True)
    ]
    steps = np.array([line.contribution for line in lines])
    ends = score - np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    starts = ends - steps
    ax = style.get_axes(ax, 1.8 + 0.36 * len(steps), labels=labels)
    reach = SURE * np.nan_to_num(np.array([line.standard_error for line in lines]))
    bars = style.signed_bars(ax, steps, labels, left=starts, reach=reach if reach.any() else None)
    moves = [outputs.format_score(step, i) for step in steps]
    ax.bar_label(bars, moves, padding=4, fontsize="small", color=colours.INK)
    places = np.arange(len(steps))
    between: Any = {"color": colours.NEUTRAL, "linewidth": 0.6, "zorder": 0}
    ax.vlines(starts[:-1], places[:-1] - 0.33, places[1:] + 0.33, **between)
    ends_at = f"base value {look.show_total(base, i)}, this row {look.show_total(score, i)}"
    title = f"{look.row(attribution)}\n{ends_at}"
    title += "; thin lines: 95 % intervals" if reach.any() else ""
    ax.use_sticky_edges = False
    ax.margins(x=0.06 + 0.011 * max(map(len, moves), default=0))
    style.widen_if_flat(ax, np.append(starts, ends))
    ax.axvline(base, color=colours.NEUTRAL, linewidth=0.8, linestyle=":")
    if outputs.edge is not None:
        ax.axvline(outputs.edge, color=colours.INK, linewidth=0.8, linestyle="--", zorder=0)
        title += "\ndashed: where the threshold changes the decision"
    ax.set_xlabel(look.total(attribution.batch, i))
    look.format_axis(ax.xaxis, i, total=True)
    ax.set_title(title, fontsize="medium")
    return ax


def compare(
    attributions: Mapping[str, Any],
    *,
    feature_names: Sequence[str] | None = None,
    output: int | str | None = None,
    normalise: bool = False,
    n_features: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw what several explainers say about one row: a bar for each, the strongest features on top.

    Parameters
    ----------
    attributions
        Maps each explainer's name to a row's `Attribution`, to an array with one number per feature, or to
        an object with such an array as `values`, such as a row of a `shap.Explanation`.
    feature_names
        Needed if there is no `Attribution` among them.
    output
        The class of the `Attribution`s, by name or position; the default is the one that the first of them
        decided.
    normalise
        Divide by the sum of absolute values, for explainers with different units.
    """
    style.require(
        attributions, Mapping, "explainers are compared by name", 'write {"illume": attributions[0], …}'
    )
    require_int("n_features", n_features)
    names, rows = _rows_to_compare(attributions, feature_names, output)
    sizes = np.abs(rows).sum(1, keepdims=True)
    shares = rows / np.where(sizes > 0, sizes, 1.0)
    order = style.strongest(np.abs(shares).max(0), n_features)
    values = (shares if normalise else rows)[:, order]
    shown = next((one.feature_labels for one in attributions.values() if isinstance(one, Attribution)), names)
    labels = captions.distinct_labels([(names if feature_names else shown)[j] for j in order])
    ax = style.get_axes(ax, 1.4 + len(order) * max(0.34, 0.15 * len(values)), 7.6, labels)
    height, places = 0.8 / len(values), np.arange(len(order))
    bars = [
        ax.barh(places - 0.4 + height * (e + 0.5), row, 0.92 * height, color=colours.class_colour(e + 1))
        for e, row in enumerate(values)
    ]
    ax.set_yticks(places, labels)
    ax.set_ylim(len(order) - 0.5, -0.5)
    style.zero_line(ax)
    share, unit = "share of the sum of absolute contributions", "contribution, in the explainer's own unit"
    ax.xaxis.set_major_formatter(tick_label)
    ax.set_xlabel(share if normalise else unit)
    style.legend(ax, bars, [captions.as_label(name, 24) for name in attributions])
    style.hide_frame(ax)
    return ax


def _rows_to_compare(
    attributions: Mapping[str, Any], feature_names: Sequence[str] | None, output: int | str | None
) -> tuple[tuple[str, ...], FloatArray]:
    """Return the feature names and one row of numbers per explainer."""
    if not attributions:
        raise ValueError("there is nothing to compare; pass at least one explainer's attributions")
    own = [one for one in attributions.values() if isinstance(one, Attribution)]
    names = tuple(feature_names) if feature_names is not None else own[0].feature_names if own else None
    if names is None:
        raise ValueError("arrays do not say what features are called; pass feature_names=[…]")
    chosen = output if output is not None or not own else own[0].output_name
    return names, np.stack([_row(name, one, names, chosen) for name, one in attributions.items()])


def _row(name: str, one: Any, names: tuple[str, ...], output: int | str | None) -> FloatArray:
    if isinstance(one, Attribution):
        if one.feature_names != names:
            raise ValueError(f"{name!r} has other features than the others, or in another order")
        return one.contributions(output)
    values = np.asarray(getattr(one, "values", one), dtype=np.float64)
    if values.shape != (len(names),):
        raise ValueError(
            f"{name!r} has an array of shape {values.shape}, expected one number for each of {len(names)} "
            "features; pass one row, and one class if there are several"
        )
    return values


def compare_rows(
    first: Attribution,
    second: Attribution,
    *,
    names: Sequence[str] = ("before", "after"),
    output: int | str | None = None,
    n_features: int = 10,
    axes: Sequence[Axes] | None = None,
) -> Any:
    """Draw the contributions in two rows on two axes with one scale; return the array of both.

    Features that contribute most in either row are on top, named on the left, each with the row's value. On
    the right, values that changed are bold, after an arrow; the title says how many of all changed.

    `names` are what to call the two rows. `output` chooses the class, by name or position; the default is the
    one decided in the first row.
    """
    rows = (first, second)
    for row in rows:
        style.require(row, Attribution, "two rows are compared", "write attributions[0], attributions[1]")
    require_int("n_features", n_features)
    if first.feature_names != second.feature_names:
        raise ValueError("the two rows have different features; compare rows of one explainer")
    i, look = first.position(output), looks.look_of(first)
    largest = np.maximum(*(np.abs(row.contributions(i)) for row in rows))
    order = style.strongest(largest, n_features)
    labels = captions.distinct_labels([first.feature_labels[j] for j in order])
    pair = style.get_two_axes(axes, 2.1 + 0.34 * len(order), labels)
    reach = 1.1 * float(largest.max(initial=0.0)) or 1.0
    show = first.batch.dictionary.show
    shown = [[captions.as_label(show(row.feature_names[j], row.data[j]), 16) for j in order] for row in rows]
    changed = _changed(first, second)
    moved = [f"→ {value}" if changed[j] else "same" for j, value in zip(order, shown[1], strict=True)]
    equations = [f"{label} = {value}" for label, value in zip(labels, shown[0], strict=True)]
    heads = (names[0], f"{names[1]}: {int(changed.sum())} of {len(changed)} values changed")
    for ax, row, ticks, head in zip(pair, rows, (equations, moved), heads, strict=True):
        style.signed_bars(ax, row.contributions(i)[order], ticks)
        style.zero_line(ax)
        ax.set_xlim(-reach, reach)
        look.format_axis(ax.xaxis, i, most=5)
        ax.set_xlabel(look.contribution(row.batch, i))
        ax.set_title(f"{captions.as_label(head, 60)}\n{look.row(row)}", fontsize="medium")
    for tick, j in zip(pair[1].get_yticklabels(), order, strict=True):
        tick.set(
            fontweight="bold" if changed[j] else "normal", color="black" if changed[j] else colours.NEUTRAL
        )
    return pair


def _changed(first: Attribution, second: Attribution) -> BoolArray:
    """Return which features have different values in two rows; a missing value is like another."""
    pairs = zip(first.data.tolist(), second.data.tolist(), strict=True)
    return np.array([a != b and not (is_missing(a) and is_missing(b)) for a, b in pairs], dtype=bool)
