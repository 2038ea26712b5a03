"""Attributions side by side: of several explainers for one row, or of two rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.plots import captions, style
from illume.plots.style import Axes
from illume.results import colours
from illume.results.attributions import Attribution
from illume.results.text import format_value


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
    style.require_count(n_features, "n_features")
    names, rows = _rows_to_compare(attributions, feature_names, output)
    sizes = np.abs(rows).sum(1, keepdims=True)
    shares = rows / np.where(sizes > 0, sizes, 1.0)
    order = style.strongest(np.abs(shares).max(0), n_features)
    values = (shares if normalise else rows)[:, order]
    labels = captions.distinct_labels([names[j] for j in order])
    ax = style.get_axes(ax, 1.4 + len(order) * max(0.34, 0.15 * len(values)), 7.6, labels)
    height, places = 0.8 / len(values), np.arange(len(order))
    bars = [
        ax.barh(places - 0.4 + height * (e + 0.5), row, 0.92 * height, color=colours.class_colour(e + 1))
        for e, row in enumerate(values)
    ]
    ax.set_yticks(places, labels)
    ax.set_ylim(len(order) - 0.5, -0.5)
    style.zero_line(ax)
    unit = "share of the sum of absolute contributions" if normalise else "contribution"
    ax.set_xlabel(unit if normalise else f"{unit}, in the explainer's own unit")
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
    output: int | str | None = None,
    n_features: int = 10,
    axes: Sequence[Axes] | None = None,
) -> Any:
    """Draw the contributions in two rows on two axes with one scale; return the array of both.

    Features that contribute most in either row are on top, named on the left, each with the row's value.
    `output` chooses the class, by name or position; the default is the one decided in the first row.
    """
    rows = (first, second)
    for row in rows:
        style.require(row, Attribution, "two rows are compared", "write attributions[0], attributions[1]")
    style.require_count(n_features, "n_features")
    if first.feature_names != second.feature_names:
        raise ValueError("the two rows have different features; compare rows of one explainer")
    i = first.position(output)
    largest = np.maximum(*(np.abs(row.contributions(i)) for row in rows))
    order = style.strongest(largest, n_features)
    names = captions.distinct_labels([first.feature_names[j] for j in order])
    pair = style.get_two_axes(axes, 1.9 + 0.34 * len(order), names)
    reach = 1.1 * float(largest.max(initial=0.0)) or 1.0
    for ax, row, labels in zip(pair, rows, (names, [""] * len(names)), strict=True):
        values = [captions.as_label(format_value(row.data[j]), 16) for j in order]
        equations = [f"{name} = {value}" for name, value in zip(labels, values, strict=True)]
        style.signed_bars(ax, row.contributions(i)[order], equations)
        style.zero_line(ax)
        ax.set_xlim(-reach, reach)
        ax.set_xlabel(captions.contribution_caption(row.batch, i))
        ax.set_title(captions.decision_caption(row), fontsize="medium")
    return pair
