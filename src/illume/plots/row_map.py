"""One row's own linear map as a heat map, with the surrogate's weights below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from illume._typing import IntArray
from illume.plots.axes import given_or_new, require, require_count
from illume.plots.heat import heat, name_columns
from illume.plots.names import distinct
from illume.plots.words import output_label
from illume.results.latents import LatentRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 0.35
ADVICE = "write explainer.latents(X, maps=True)[0]"


def row_map(
    row: LatentRow,
    *,
    output: int | str | None = None,
    n_inputs: int = 15,
    n_latents: int = 16,
    ax: Axes | None = None,
) -> Axes:
    """Draw the row's map W, inputs downwards and latents to the right, and the surrogate's weights beneath.

    The inputs that contribute most come first, and the latents that count most are kept. Both maps have a
    colour scale of their own. `output` chooses the class, by name or position, where there are several.
    """
    require(row, LatentRow, "a map belongs to one row", ADVICE)
    require_count(min(n_inputs, n_latents), "n_inputs and n_latents")
    i = row.position(output)
    shown = Shown.of(row, i, n_inputs, n_latents)
    names = distinct([row.batch.input_names[j] for j in shown.inputs])
    width = min(3.4 + 0.55 * len(shown.latents), 12.0)
    ax = given_or_new(ax, 2.0 + 0.32 * len(shown.inputs), width, names)
    heat(ax, row.map[np.ix_(shown.latents, shown.inputs)].T)
    heat(ax, row.batch.coefficients[i, shown.latents][None], top=len(shown.inputs) - 0.5 + GAP)
    weight = f"weight for '{output_label(row.batch.labels, i)}'"
    ax.set_yticks([*range(len(names)), len(names) + GAP], [*names, weight])
    ax.set_ylim(len(names) + GAP + 0.5, -0.5)
    ax.set_xlim(-0.5, len(shown.latents) - 0.5)
    name_columns(ax, shown.latent_names(row))
    ax.set_xlabel(shown.said(row))
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return ax


@dataclass(frozen=True, eq=False)
class Shown:
    """Which inputs are shown, those that contribute most first, and which latents, in their own order."""

    inputs: IntArray
    latents: IntArray

    @classmethod
    def of(cls, row: LatentRow, i: int, n_inputs: int, n_latents: int) -> Shown:
        """Choose for output i."""
        inputs = np.argsort(-np.abs(row.contributions[i]), kind="stable")[:n_inputs]
        counts = np.abs(row.batch.coefficients[i] * row.z)
        return cls(inputs, np.sort(np.argsort(-counts, kind="stable")[:n_latents]))

    def latent_names(self, row: LatentRow) -> list[str]:
        """Return the names of the latents that are shown."""
        return distinct([row.batch.names[r] for r in self.latents], 20)

    def said(self, row: LatentRow) -> str:
        """Say how much of the map is shown."""
        k, m = row.map.shape
        latents = f"{len(self.latents)} of {k} latents" if len(self.latents) < k else "latents"
        return f"{latents}, {len(self.inputs)} of {m} inputs" if len(self.inputs) < m else latents
