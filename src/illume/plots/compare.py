"""Several explainers on one row: their attributions side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from illume._typing import FloatArray
from illume.plots.axes import as_text, clean, given_or_new, legend, require, require_count
from illume.plots.names import distinct
from illume.results import colours
from illume.results.attributions import Attribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def compare(
    attributions: Mapping[str, Any],
    *,
    feature_names: Sequence[str] | None = None,
    output: int | str | None = None,
    normalise: bool = False,
    n_features: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw what several explainers say of one row, a bar each per feature, features of most weight on top.

    Parameters
    ----------
    attributions
        From each explainer's name to a row's `Attribution`, or to an array of one number per feature (or what
        has such an array as `values`, a row of a `shap.Explanation` for instance).
    feature_names
        What features are called, where no `Attribution` says so.
    output
        The class of the `Attribution`s, by name or position, where there are several; by default the one
        that the first of them decided.
    normalise
        Divide by the sum of absolute values, for explainers that speak in different units.
    """
    require(attributions, Mapping, "explainers are compared by name", 'write {"illume": attributions[0], …}')
    require_count(n_features, "n_features")
    names, rows = _rows(attributions, feature_names, output)
    sizes = np.abs(rows).sum(1, keepdims=True)
    shares = rows / np.where(sizes > 0, sizes, 1.0)
    order = np.argsort(-np.abs(shares).max(0), kind="stable")[:n_features]
    values = (shares if normalise else rows)[:, order]
    height = 0.8 / len(values)
    labels = distinct([names[j] for j in order])
    ax = given_or_new(ax, 1.4 + len(order) * max(0.34, 0.15 * len(values)), 7.6, labels)
    handles = []
    for e, mine in enumerate(values):
        place = np.arange(len(order)) - 0.4 + height * (e + 0.5)
        handles.append(
            ax.barh(place, mine, height=0.92 * height, color=colours.CLASSES[(e + 1) % len(colours.CLASSES)])
        )
    ax.set_yticks(np.arange(len(order)), labels)
    ax.set_ylim(len(order) - 0.5, -0.5)
    ax.axvline(0, color=colours.NEUTRAL, linewidth=0.8)
    ax.set_xlabel(
        "share of the sum of absolute contributions"
        if normalise
        else "contribution, in the explainer's own unit"
    )
    options = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "fontsize": "small"}
    legend(ax, handles, [as_text(name, 24) for name in attributions], **options)
    clean(ax)
    return ax


def _rows(
    attributions: Mapping[str, Any], feature_names: Sequence[str] | None, output: int | str | None
) -> tuple[tuple[str, ...], FloatArray]:
    """Return the features' names and one line of numbers per explainer, all of the same length."""
    if not attributions:
        raise ValueError("there is nothing to compare; pass at least one explainer's attributions")
    known = [one for one in attributions.values() if isinstance(one, Attribution)]
    names = tuple(feature_names) if feature_names is not None else known[0].feature_names if known else None
    if names is None:
        raise ValueError("arrays do not say what features are called; pass feature_names=[…]")
    chosen = output if output is not None or not known else known[0].output_name
    rows = [_row(name, one, names, chosen) for name, one in attributions.items()]
    return names, np.stack(rows)


def _row(name: str, one: Any, names: tuple[str, ...], output: int | str | None) -> FloatArray:
    if isinstance(one, Attribution):
        if one.feature_names != names:
            raise ValueError(f"{name!r} has other features than the others, or in another order")
        return one.contributions(output)
    values = np.asarray(getattr(one, "values", one), dtype=np.float64)
    if values.shape != (len(names),):
        raise ValueError(
            f"{name!r} has an array of shape {values.shape}, expected one number for each of {len(names)} "
            f"features; pass one row, and of several classes one"
        )
    return values
