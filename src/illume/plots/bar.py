"""Bars: which features matter, for one row or over all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from illume.plots.axes import as_text, clean, given_or_new
from illume.results import colours
from illume.results.attribution import Attribution
from illume.results.attributions import Attributions

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def bar(result: Attribution | Attributions, *, n_features: int = 10, ax: Axes | None = None) -> Axes:
    """Draw contributions of one row, or global importance of a batch, strongest on top.

    With more than two classes the importance is summed over classes.
    """
    if isinstance(result, Attribution):
        values, label = result.contributions(), f"contribution to the log-odds of {result.output_name!r}"
    else:
        values, label = result.strength, "mean absolute contribution (log-odds)"
    order = np.argsort(-np.abs(values), kind="stable")[:n_features]
    ax = given_or_new(ax, 1.2 + 0.32 * len(order))
    place = np.arange(len(order))
    fill = [colours.of(values[j]) for j in order]
    ax.barh(place, values[order], color=fill, height=0.7)
    ax.set_yticks(place, [as_text(result.feature_names[j]) for j in order])
    ax.invert_yaxis()
    ax.axvline(0, color=colours.NEUTRAL, linewidth=0.8)
    ax.set_xlabel(label.replace("$", r"\$"))
    clean(ax)
    return ax
