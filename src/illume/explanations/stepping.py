"""The smallest steps towards a neighbour after which the surrogate decides as wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.threads import RowChunks
from illume.explanations.grid import Grid
from illume.explanations.regions import Plane, Regions
from illume.explanations.sample import by_class

GRID = np.concatenate([[0.0], np.logspace(-3, 0, 100)])
STEPS = Grid(GRID)
AT_ONCE = 256  # rows, whose steps then stay in the cache of a core
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
class StepSearch:
    """Finds the smallest steps of the grid: their sum is minimal, then that of the inputs.

    `decide` goes from latents to the surrogate's decisions; `regions` tells where they lie.
    """

    decide: Callable[[FloatArray], IntArray]
    regions: Regions

    def __call__(self, line: Line, wanted: IntArray) -> Steps:
        """Return the smallest steps of the grid that lead to the wanted decisions."""
        result = Steps(np.ones(len(wanted)), np.ones(len(wanted)))
        for c, mine in by_class(wanted):
            chunks = RowChunks(len(mine), AT_ONCE)
            for part in chunks:
                with chunks:
                    rows = mine[part]
                    result.gamma_w[rows], result.gamma_x[rows] = self._smallest(line[rows], c)
        # Where rounding makes the surrogate see a threshold elsewhere, the whole grid is tried.
        missed = np.flatnonzero(self.decide(line.at(result)) != wanted)
        chunks = RowChunks(len(missed), FEW)
        for part in chunks:
            with chunks:
                rows = missed[part]
                result.gamma_w[rows], result.gamma_x[rows] = self.tried(line[rows], wanted[rows])
        return result

    def _smallest(self, line: Line, c: int) -> Steps:
        best = self.regions.least(Plane(line.z, line.a, line.b), STEPS, c)
        step = (STEPS.down + best).argmin(1)  # of equal sums, the largest gamma_w has the smallest gamma_x
        gamma_x = best[np.arange(len(best)), step]
        found = np.isfinite(gamma_x)
        return Steps(np.where(found, STEPS.down[step], 1.0), np.where(found, gamma_x, 1.0))

    def tried(self, line: Line, wanted: IntArray) -> Steps:
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
