"""Plots about the explainer: its quality and its training history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from illume.plots.class_look import MOST_CLASSES
from illume.plots.looks import look_of
from illume.plots.style import Axes, get_axes, get_two_axes, hide_frame, require
from illume.results import colours
from illume.results.attributions import Attributions
from illume.results.diagnostics import History
from illume.results.levels import UNKNOWN
from illume.results.quality import Quality


def quality(
    attributions: Attributions,
    *,
    output: int | str | None = None,
    n_bins: int = 10,
    measured: Quality | None = None,
    axes: Sequence[Axes] | None = None,
) -> Any:
    """Draw on two axes how well the surrogate stands in for the black box; return the array of both.

    Of classes: on the left, rows are in `n_bins` groups by the surrogate's probability of a class: close to
    the diagonal, the black box says the same. On the right, the share of rows of each decision on which both
    agree, before any refinement, with 95 % intervals; the title also has the share of the most common one.

    Of numbers: on the left, what both predict, on the diagonal where they are equal; on the right, how much
    more the black box predicts than the surrogate.

    Use rows that the explainer was not fitted on. `measured=explainer.quality_` adds how accurate
    contributions are.
    """
    require(attributions, Attributions, "quality is seen on many rows", "pass the whole batch")
    n = min(len(attributions.class_names), MOST_CLASSES)
    pair = get_two_axes(axes, max(3.8, 1.6 + 0.3 * n))
    summary = look_of(attributions).draw_quality(pair, attributions, attributions.output(output), n_bins)
    title = f"{_contributions_caption(attributions, measured)}\n{summary}"
    pair[1].set_title(title, fontsize="medium", loc="left")
    return pair


def _contributions_caption(attributions: Attributions, measured: Quality | None) -> str:
    outputs = look_of(attributions).outputs
    found, error = None if measured is None else measured.contributions, attributions.typical_error
    if found is not None and found.word != UNKNOWN:
        return (
            f"contributions: R² {found.r2:.3f} ({found.low:.3f} to {found.high:.3f}),\n"
            f"typical error {outputs.format_typical_error(found.error)}, on {found.n_rows} held-out rows"
        )
    if np.isfinite(error):
        return f"contributions: typical error {outputs.format_typical_error(error)} in {outputs.error_unit}"
    return "contributions: accuracy not measured"


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
