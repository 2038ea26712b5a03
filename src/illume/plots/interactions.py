"""Interactions: a matrix of pairs of features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from illume.plots.axes import as_text, given_or_new, require
from illume.results import colours
from illume.results.interactions import Interactions

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def interactions(found: Interactions, *, max_features: int = 12, ax: Axes | None = None) -> Axes:
    """Draw a square for each pair of features: how strongly they act together, over all rows.

    A pair's square shows the mean absolute interaction value; the diagonal shows what features contribute
    by themselves.
    """
    require(found, Interactions, "this plot shows pairs of features", "pass explainer.interactions(X)")
    k = min(max_features, len(found.features))
    strength = found.strength[:k, :k].copy()
    strength[~np.eye(k, dtype=bool)] *= 2  # both entries of a pair together
    names = [as_text(name, 28) for name in found.features[:k]]
    ax = given_or_new(ax, height=2.2 + 0.36 * k, width=3.6 + 0.42 * k, labels=names)
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("none-much", ["white", colours.FOR])
    beside = strength[~np.eye(k, dtype=bool)]
    limit = float(beside.max(initial=0.0)) or float(strength.max(initial=0.0)) or 1.0
    image = ax.imshow(strength, cmap=shades, vmin=0.0, vmax=limit, interpolation="nearest")
    for i in range(k):
        for j in range(k):
            ink = "white" if strength[i, j] > 0.65 * limit else colours.INK
            ax.text(j, i, f"{strength[i, j]:.2f}", ha="center", va="center", fontsize="x-small", color=ink)
    ax.set_xticks(np.arange(k), names, rotation=40, ha="right", rotation_mode="anchor", fontsize="small")
    ax.set_yticks(np.arange(k), names, fontsize="small")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    label = "mean |log-odds|"
    ax.figure.colorbar(image, ax=ax, label=label, extend="max", pad=0.02, aspect=30)
    return ax
