"""Perfect fidelity: move a row's map and inputs towards a neighbour's until the surrogate agrees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from illume._chunks import row_chunks
from illume._typing import BoolArray, FloatArray, IntArray
from illume.explanations.neighbours import Neighbours
from illume.explanations.regions import Pencil, Regions
from illume.explanations.sample import by_class
from illume.results.refinement import Refinement

GRID = np.concatenate([[0.0], np.logspace(-3, 0, 100)])
AT_ONCE = 1024
FEW = 16


class Steps(NamedTuple):
    """How far each row goes towards its neighbour: its map, and its inputs, (n,) each."""

    gamma_w: FloatArray
    gamma_x: FloatArray


@dataclass(frozen=True, eq=False)
class Line:
    """Latents z (n, k), the two directions towards the neighbour's, and the neighbour's own latents."""

    z: FloatArray
    a: FloatArray
    b: FloatArray
    end: FloatArray

    def __getitem__(self, rows: IntArray) -> Line:
        return Line(self.z[rows], self.a[rows], self.b[rows], self.end[rows])

    def at(self, steps: Steps) -> FloatArray:
        """Return the latents after some steps; at the end, the neighbour's own, against rounding."""
        w, x = steps.gamma_w[:, None], steps.gamma_x[:, None]
        return np.where((w == 1) & (x == 1), self.end, self.z + w * self.a + x * self.b)


@dataclass(frozen=True, eq=False)
class Refined:
    """What refinement makes of rows that the surrogate decides otherwise.

    Parameters
    ----------
    W, Z
        Maps (n, k, m) and latents (n, k) after refinement.
    offset
        What was added to `W @ x` beside the change of the map, (n, k).
    steps
        How far each row went.
    neighbour
        Positions among the training rows; -1 for rows left as they were, for want of a neighbour.
    """

    W: FloatArray
    Z: FloatArray
    offset: FloatArray
    steps: Steps
    neighbour: IntArray

    def refinement(self, agrees: BoolArray) -> Refinement:
        """Say how each row fared; one that still does not agree has no neighbour to speak of."""
        none = np.zeros(len(agrees), dtype=bool)
        return Refinement(*self.steps, np.where(agrees, self.neighbour, -1), none)


@dataclass(frozen=True, eq=False)
class Refiner:
    r"""Finds the smallest :math:`(\gamma_W, \gamma_x)` of a grid at which the surrogate agrees.

    With a neighbour's map and row, the latents go from :math:`z_i` to
    :math:`(1-\gamma_W) z_i + \gamma_W W_{nn} x_i + \gamma_x W_{nn} (x_{nn} - x_i)`; the sum of both steps is
    minimal, then :math:`\gamma_x`. At (1, 1) it is the neighbour's own latents, which agree.

    Parameters
    ----------
    encode
        From rows to their maps and latents.
    decide
        From latents to the surrogate's decisions.
    """

    encode: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    decide: Callable[[FloatArray], IntArray]
    regions: Regions
    neighbours: Neighbours

    def __call__(self, X: FloatArray, W: FloatArray, Z: FloatArray, wanted: IntArray) -> Refined:
        """Refine rows X with maps W and latents Z until the surrogate decides as wanted."""
        neighbour = self.neighbours.nearest(Z, wanted)
        some = np.flatnonzero(neighbour >= 0)
        X_near = self.neighbours.X[neighbour[some]]
        W_near, Z_near = self.encode(X_near)
        a = _times(W_near, X[some]) - Z[some]  # the change that the neighbour's map makes
        b = Z_near - (Z[some] + a)  # and then its inputs
        steps = Steps(np.zeros(len(X)), np.zeros(len(X)))
        line = Line(Z[some], a, b, Z_near)
        steps.gamma_w[some], steps.gamma_x[some] = self.steps(line, wanted[some])
        moved = Steps(steps.gamma_w[some], steps.gamma_x[some])
        refined = Refined(W.copy(), Z.copy(), np.zeros_like(Z), steps, neighbour)
        refined.W[some] += moved.gamma_w[:, None, None] * (W_near - W[some])
        refined.Z[some] = line.at(moved)
        refined.offset[some] = moved.gamma_x[:, None] * b
        return refined

    def steps(self, line: Line, wanted: IntArray) -> Steps:
        """Return the smallest steps of the grid that lead to the wanted decisions."""
        result = Steps(np.ones(len(wanted)), np.ones(len(wanted)))
        for c, mine in by_class(wanted):
            for part in row_chunks(len(mine), AT_ONCE):
                rows = mine[part]
                result.gamma_w[rows], result.gamma_x[rows] = self._smallest(line[rows], c)
        # Where rounding makes the surrogate see a threshold elsewhere, the whole grid is tried.
        missed = np.flatnonzero(self.decide(line.at(result)) != wanted)
        for part in row_chunks(len(missed), FEW):
            rows = missed[part]
            result.gamma_w[rows], result.gamma_x[rows] = self._tried(line[rows], wanted[rows])
        return result

    def _smallest(self, line: Line, c: int) -> Steps:
        best = np.full((len(line.z), len(GRID)), np.inf)  # the least gamma_x at each gamma_w
        for lines in self.regions.parts(Pencil.of(line.z, line.a, line.b, GRID), c):
            first = np.searchsorted(GRID, lines.low)
            inside = GRID[np.minimum(first, len(GRID) - 1)] <= lines.high
            row, step = lines.row[inside], lines.step[inside]
            np.minimum.at(best, (row, step), GRID[first[inside]])
        total = (GRID + best)[:, ::-1]  # of equal sums, the largest gamma_w has the smallest gamma_x
        step = len(GRID) - 1 - total.argmin(1)
        gamma_x = best[np.arange(len(best)), step]
        found = np.isfinite(gamma_x)
        return Steps(np.where(found, GRID[step], 1.0), np.where(found, gamma_x, 1.0))

    def _tried(self, line: Line, wanted: IntArray) -> Steps:
        """Try every pair of the grid, in order."""
        w, x = (grid.ravel() for grid in np.meshgrid(GRID, GRID, indexing="ij"))
        order = np.lexsort((x, w + x))
        w, x = w[order], x[order]
        n, k = line.z.shape
        latents = line.z[:, None] + w[:, None] * line.a[:, None] + x[:, None] * line.b[:, None]
        latents[:, -1] = line.end
        hit = self.decide(latents.reshape(-1, k)).reshape(n, -1) == wanted[:, None]
        first = np.where(hit.any(1), hit.argmax(1), len(w) - 1)
        return Steps(w[first], x[first])


def _times(W: FloatArray, X: FloatArray) -> FloatArray:
    return (W @ X[:, :, None])[:, :, 0]
