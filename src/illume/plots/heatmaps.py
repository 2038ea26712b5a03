"""Heat maps: a row's own linear map (`row_map`) and pairs of features (`interactions`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.plots.captions import as_label, distinct_labels, output_label
from illume.plots.style import Axes, get_axes, hide_all, require, require_count, strongest
from illume.results import colours
from illume.results.interactions import Interactions
from illume.results.latents import LatentRow

GAP = 0.35
MOST_NUMBERS = 160  # cells of a map with numbers written in; more could not be read
MOST_COLUMNS = 10
ADVICE = "write explainer.latents(X, maps=True)[0]"


def row_map(
    row: LatentRow,
    *,
    output: int | str | None = None,
    n_inputs: int = 15,
    n_latents: int = 16,
    ax: Axes | None = None,
) -> Axes:
    """Draw the row's map W, inputs downwards and latents to the right, above the surrogate's weights.

    The inputs that contribute most come first, and the latents with the largest effect are kept. Both maps
    have a colour scale of their own. `output` chooses the class, by name or position.
    """
    require(row, LatentRow, "a map belongs to one row", ADVICE)
    require_count(min(n_inputs, n_latents), "n_inputs and n_latents")
    i = row.position(output)
    shown = MapSelection.choose(row, i, n_inputs, n_latents)
    names = distinct_labels([row.batch.input_names[j] for j in shown.inputs])
    width = min(3.4 + 0.55 * len(shown.latents), 12.0)
    ax = get_axes(ax, 2.0 + 0.32 * len(shown.inputs), width, names)
    draw_weights(ax, row.map[np.ix_(shown.latents, shown.inputs)].T)
    draw_weights(ax, row.batch.coefficients[i, shown.latents][None], top=len(shown.inputs) - 0.5 + GAP)
    weight = f"weight for '{output_label(row.batch.labels, i)}'"
    ax.set_yticks([*range(len(names)), len(names) + GAP], [*names, weight])
    ax.set_ylim(len(names) + GAP + 0.5, -0.5)
    ax.set_xlim(-0.5, len(shown.latents) - 0.5)
    shown.label_latents(ax, row)
    hide_all(ax)
    return ax


@dataclass(frozen=True, eq=False)
class MapSelection:
    """Which inputs of a row's map are shown, strongest first, and which latents, in their own order."""

    inputs: IntArray
    latents: IntArray

    @classmethod
    def choose(cls, row: LatentRow, i: int, n_inputs: int, n_latents: int) -> MapSelection:
        """Choose the strongest inputs and latents for output `i`."""
        effects = row.batch.coefficients[i] * row.z
        return cls(strongest(row.contributions[i], n_inputs), np.sort(strongest(effects, n_latents)))

    def label_latents(self, ax: Axes, row: LatentRow, fontsize: str = "medium") -> None:
        """Name the columns, and say below how much of the map is shown."""
        names = distinct_labels([row.batch.names[r] for r in self.latents], 20)
        turned: Any = {"rotation": 90} if len(names) > 16 or max(map(len, names), default=0) > 4 else {}
        ax.set_xticks(np.arange(len(names)), names, fontsize="small", **turned)
        k, m = row.map.shape
        caption = f"{len(self.latents)} of {k} latents" if len(self.latents) < k else "latents"
        caption += f", {len(self.inputs)} of {m} inputs" if len(self.inputs) < m else ""
        ax.set_xlabel(caption, fontsize=fontsize)


def draw_weights(ax: Axes, weights: FloatArray, *, top: float = -0.5) -> None:
    """Draw weights (rows, columns) as unit squares from `top` on, with numbers if there is room."""
    from matplotlib.colors import LinearSegmentedColormap

    rows, columns = weights.shape
    limit = float(np.abs(weights).max(initial=0.0)) or 1.0
    shades = LinearSegmentedColormap.from_list("less-more", [colours.AGAINST, "white", colours.FOR])
    place: Any = {"extent": (-0.5, columns - 0.5, top + rows, top), "aspect": "auto"}
    ax.imshow(weights, cmap=shades, vmin=-limit, vmax=limit, interpolation="nearest", **place)
    if weights.size <= MOST_NUMBERS and columns <= MOST_COLUMNS:
        for r, c in np.argwhere(weights):
            _write_number(ax, c, top + r + 0.5, f"{weights[r, c]:+.2f}", abs(weights[r, c]) / limit)


def _write_number(ax: Axes, x: float, y: float, number: str, share: float) -> None:
    """Write into a cell, in white where the colour is more than about two thirds of the darkest."""
    ink = "white" if share > 0.65 else colours.INK
    ax.text(x, y, number, ha="center", va="center", fontsize="x-small", color=ink)


def interactions(found: Interactions, *, max_features: int = 12, ax: Axes | None = None) -> Axes:
    """Draw a square for each pair of features: how strongly they interact, over all rows.

    A pair's square shows the mean absolute interaction value; the diagonal shows what features contribute
    by themselves.
    """
    from matplotlib.colors import LinearSegmentedColormap

    require(found, Interactions, "this plot shows pairs of features", "pass explainer.interactions(X)")
    k = min(max_features, len(found.features))
    pairs = ~np.eye(k, dtype=bool)
    strength: FloatArray = np.where(pairs, 2, 1) * found.strength[:k, :k]  # both entries of a pair together
    names = [as_label(name, 28) for name in found.features[:k]]
    ax = get_axes(ax, 2.2 + 0.36 * k, 3.6 + 0.42 * k, names)
    shades = LinearSegmentedColormap.from_list("none-much", ["white", colours.FOR])
    limit = float(strength[pairs].max(initial=0.0)) or float(strength.max(initial=0.0)) or 1.0
    image = ax.imshow(strength, cmap=shades, vmin=0.0, vmax=limit, interpolation="nearest")
    for i, j in np.ndindex(k, k):
        _write_number(ax, j, i, f"{strength[i, j]:.2f}", float(strength[i, j]) / limit)
    ax.set_xticks(np.arange(k), names, rotation=40, ha="right", rotation_mode="anchor", fontsize="small")
    ax.set_yticks(np.arange(k), names, fontsize="small")
    hide_all(ax)
    ax.figure.colorbar(image, ax=ax, label="mean |log-odds|", extend="max", pad=0.02, aspect=30)
    return ax
