"""Plots about the explainer: its quality and its training history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from illume.plots.captions import as_label, class_labels
from illume.plots.style import Axes, get_axes, get_two_axes, hide_frame, legend, require
from illume.results import colours
from illume.results.attributions import Attributions
from illume.results.diagnostics import Calibration, ClassAgreement, History
from illume.results.quality import UNKNOWN, Quality

MOST_CLASSES = 20


def quality(
    attributions: Attributions,
    *,
    output: int | str = 0,
    n_bins: int = 10,
    measured: Quality | None = None,
    axes: Sequence[Axes] | None = None,
) -> Any:
    """Draw on two axes how well the surrogate stands in for the black box; return the array of both.

    On the left, rows are grouped by the surrogate's probability of a class: close to the diagonal, the black
    box says the same. On the right, the share of rows of each decision on which both agree, before any
    refinement, with 95 % intervals; the title also has the share of the most common decision. Use rows that
    the explainer was not fitted on. `measured=explainer.quality_` adds how accurate contributions are.
    """
    require(attributions, Attributions, "quality is seen on many rows", "pass the whole batch")
    agreement = attributions.class_agreement
    n = min(len(agreement.names), MOST_CLASSES)
    left, right = pair = get_two_axes(axes, max(3.8, 1.6 + 0.3 * n))
    _draw_calibration(left, attributions.calibration(output, n_bins))
    summary = _draw_agreement(right, agreement)
    title = f"{_contributions_caption(attributions, measured)}\nagreement by decision: {summary}"
    right.set_title(title, fontsize="medium", loc="left")
    return pair


def _contributions_caption(attributions: Attributions, measured: Quality | None) -> str:
    found, error = None if measured is None else measured.contributions, attributions.typical_error
    if found is not None and found.word != UNKNOWN:
        return (
            f"contributions: R² {found.r2:.3f} ({found.low:.3f} to {found.high:.3f}),\n"
            f"off by {found.error:.3f}, on {found.n_rows} held-out rows"
        )
    if np.isfinite(error):
        return f"contributions: typical error {error:.3f} in log-odds"
    return "contributions: accuracy not measured"


def _draw_calibration(ax: Axes, found: Calibration) -> None:
    known = found.n_rows > 0
    x, y = found.surrogate[known], found.black_box[known]
    (diagonal,) = ax.plot([0, 1], [0, 1], color=colours.NEUTRAL, linewidth=0.8, linestyle=":")
    spread = ax.vlines(x, found.low[known], found.high[known], color=colours.FOR, alpha=0.35, linewidth=3)
    size = 20 + 160 * found.n_rows[known] / max(found.n_rows.max(), 1)
    ax.plot(x, y, color=colours.FOR, linewidth=1)
    dots = ax.scatter(x, y, s=size, color=colours.FOR, edgecolors="white", zorder=3)
    labels = ["mean of a group (large: many rows)", "80 % of its rows", "equal"]
    above: Any = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 3}
    legend(ax, [dots, spread, diagonal], labels, columnspacing=1.0, handletextpad=0.4, **above)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-0.03, 1.03)
    name = as_label(found.name, 24)
    ax.set_xlabel(f"surrogate's probability of '{name}'")
    ax.set_ylabel(f"black box's probability of '{name}'")
    error = f"mean gap {found.error:.3f}" if known.any() else "no rows"
    ax.set_title(f"calibration: {error}", fontsize="medium", loc="left", y=1.08)
    hide_frame(ax, "top", "right")


def _draw_agreement(ax: Axes, found: ClassAgreement) -> str:
    """Draw a bar per class; return the share of all rows in words."""
    shown = np.sort(np.argsort(-found.n_rows, kind="stable")[:MOST_CLASSES])
    places, shares = np.arange(len(shown)), np.nan_to_num(found.agreement)[shown]
    low, high = (side[shown] for side in found.interval)
    seen = found.n_rows[shown] > 0
    tints = [colours.class_colour(int(c)) for c in shown]
    ax.barh(places, shares, color=tints, height=min(0.6, 0.2 * len(shown)), alpha=0.85)
    ax.hlines(places[seen], low[seen], high[seen], color=colours.INK, linewidth=1.4)
    labels = class_labels(found.names)
    names = [f"{labels[c]}\n({found.n_rows[c]} rows)" for c in shown]
    ax.set_yticks(places, names, fontsize="medium" if len(shown) <= 8 else "x-small")
    ax.invert_yaxis()
    ax.set_xlim(0, 1.03)
    ax.set_xlabel("share with equal decisions, with 95 % interval")
    hide_frame(ax)
    n = int(found.n_rows.sum())
    if not n:
        return "no rows"
    return f"{found.total:.1%} of {n} rows\n(the most common has {found.n_rows.max() / n:.1%})"


def history(history: History, *, ax: Axes | None = None) -> Axes:
    """Draw the loss on training and validation rows over the epochs, and mark the epoch that was kept."""
    advice = "an identity encoder, for instance, was not trained"
    require(history, History, "a training has a history", advice)
    ax = get_axes(ax)
    table = history.to_dict()
    marker = "o" if len(history) < 2 else None
    ax.plot(table["epoch"], table["loss"], color=colours.NEUTRAL, label="training", marker=marker)
    ax.plot(table["epoch"], table["validation_loss"], color=colours.FOR, label="validation", marker=marker)
    ax.axvline(history.best, color=colours.AGAINST, linestyle=":", label=f"kept: epoch {history.best}")
    ax.set_xlabel("epoch")
    ax.set_ylabel("loss")
    ax.legend(frameon=False)
    hide_frame(ax, "top", "right")
    return ax
