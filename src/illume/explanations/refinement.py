"""Perfect fidelity: move a row's map and inputs towards a neighbour's until the surrogate agrees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.threads import RowChunks
from illume.explanations.neighbours import Neighbours
from illume.explanations.regions import Regions
from illume.explanations.stepping import Line, Steps, StepSearch
from illume.results.trust import Refinement


@dataclass(frozen=True, eq=False)
class Refined:
    """What refinement makes of rows that the surrogate decides otherwise.

    Parameters
    ----------
    Z
        Latents after refinement, (n, k).
    offset
        What is added to `W @ x` beside the change of the map W, (n, k).
    steps
        How far each row goes.
    neighbour, agrees
        Positions among the training rows, -1 for none; whether the surrogate decides as wanted now.
    """

    Z: FloatArray
    offset: FloatArray
    steps: Steps
    neighbour: IntArray
    agrees: BoolArray

    def __getitem__(self, rows: slice) -> Refined:
        steps = Steps(self.steps.gamma_w[rows], self.steps.gamma_x[rows])
        return Refined(self.Z[rows], self.offset[rows], steps, self.neighbour[rows], self.agrees[rows])

    @property
    def refinement(self) -> Refinement:
        """How each row fared; one that still does not agree has no neighbour to speak of."""
        none = np.zeros(len(self.agrees), dtype=bool)
        return Refinement(*self.steps, np.where(self.agrees, self.neighbour, -1), none)

    def mixed(self, mine: FloatArray, theirs: FloatArray) -> FloatArray:
        """Go from what is the rows' own, (n, …), towards their neighbours', as far as the maps go."""
        step = self.steps.gamma_w.reshape(-1, *[1] * (mine.ndim - 1))
        return mine + step * (theirs - mine)


@dataclass(frozen=True, eq=False)
class Refiner:
    r"""Finds the smallest :math:`(\gamma_W, \gamma_x)` of a grid at which the surrogate agrees.

    With a neighbour's map and row, the latents go from :math:`z_i` to
    :math:`(1-\gamma_W) z_i + \gamma_W W_{nn} x_i + \gamma_x W_{nn} (x_{nn} - x_i)`; the sum of both steps is
    minimal, then :math:`\gamma_x`. At (1, 1) it is the neighbour's own latents, which agree.

    Parameters
    ----------
    carry
        From rows and other rows to the latents of the others under the maps of the first.
    decide
        From latents to the surrogate's decisions.
    """

    carry: Callable[[FloatArray, FloatArray], FloatArray]
    decide: Callable[[FloatArray], IntArray]
    regions: Regions
    neighbours: Neighbours

    def __call__(self, X: FloatArray, Z: FloatArray, wanted: IntArray) -> Refined:
        """Refine rows X with latents Z until the surrogate decides as wanted."""
        neighbour = self.neighbours.nearest(Z, wanted)
        some = np.flatnonzero(neighbour >= 0)
        near = neighbour[some]
        a = (
            self.carry(self.neighbours.X[near], X[some]) - Z[some]
        )  # the change that the neighbour's map makes
        b = self.neighbours.Z[near] - (Z[some] + a)  # and then its inputs
        line = Line(Z[some], a, b, self.neighbours.Z[near])
        moved = self.steps(line, wanted[some])
        steps = Steps(np.zeros(len(X)), np.zeros(len(X)))
        steps.gamma_w[some], steps.gamma_x[some] = moved
        latents, offset = Z.copy(), np.zeros_like(Z)
        latents[some], offset[some] = line.at(moved), moved.gamma_x[:, None] * b
        return Refined(latents, offset, steps, neighbour, self.decide(latents) == wanted)

    def steps(self, line: Line, wanted: IntArray) -> Steps:
        """Return the smallest steps of the grid that lead to the wanted decisions."""
        return StepSearch(self.decide, self.regions)(line, wanted)


def carrier(encoder: Any, n_latents: int) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """Return what applies the maps of rows to other rows, in bounded memory."""
    nothing = np.empty((0, n_latents))

    def carry(X: FloatArray, at: FloatArray) -> FloatArray:
        Z = np.empty((len(X), n_latents))
        chunks = RowChunks(len(X))
        for rows in chunks:
            with chunks:
                Z[rows] = encoder.pull_back(X[rows], nothing, at[rows]).Z
        return Z

    return carry
