"""Perfect fidelity: move a row's map and inputs towards a neighbour's until the surrogate agrees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.threads import RowChunks, row_chunks
from illume.explanations.neighbours import Neighbours
from illume.results.trust import Refinement
from illume.surrogates.base import FittedWeights, TreeSurrogate, Weights, probabilities_of

# Steps in ascending order: none, then a thousandth to the whole way, evenly in logarithms.
GRID = np.concatenate([[0.0], np.logspace(-3, 0, 100)])


class Plane(NamedTuple):
    r"""Latents :math:`z + s a + t b` for s and t from 0 to 1; z, a and b are (n, k)."""

    z: FloatArray
    a: FloatArray
    b: FloatArray

    def project(self, normal: FloatArray) -> Plane:
        """Return the plane's coordinates along a normal (k,), each (n, 1)."""
        return Plane(*((v @ normal)[:, None] for v in self))


class Regions(Protocol):
    """Where latents are decided for a class."""

    def least(self, plane: Plane, c: int) -> FloatArray:
        """Return the least t of the grid at which class c is decided, for every s of it: (n, g).

        Infinite where there is none.
        """
        ...


class _Intervals(NamedTuple):
    """An interval of t for each row and each s of the grid, (n, g); empty where `low > high`."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def whole(cls, n: int) -> _Intervals:
        return cls(np.zeros((n, len(GRID))), np.ones((n, len(GRID))))

    def cut(self, value: FloatArray, slope: FloatArray, positive: bool) -> _Intervals:
        """Keep where `value + t * slope` is positive, or where it is not; value is (n, g), slope (n, 1)."""
        if not positive:
            value, slope = -value, -slope
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            crossing = -value / slope
        low = np.where(slope > 0, np.maximum(self.low, crossing), self.low)
        high = np.where(slope < 0, np.minimum(self.high, crossing), self.high)
        outside = (slope == 0) & ((value < 0) | ((value == 0) & positive))
        return _Intervals(np.where(outside, np.inf, low), high)

    def least(self) -> FloatArray:
        """Return the least t of the grid in each interval, infinite where there is none."""
        t = np.append(GRID, np.inf)[np.searchsorted(GRID, self.low)]
        return np.where(t <= self.high, t, np.inf)


@dataclass(frozen=True, eq=False)
class LinearRegions:
    """One region per class, bounded by where its log-odds equal another's; ties go to the first class."""

    surrogate: Weights

    def least(self, plane: Plane, c: int) -> FloatArray:
        """See `Regions`."""
        coef, intercept = self.surrogate.coef_, self.surrogate.intercept_
        if len(coef) == 1:  # two classes, one row of weights
            coef, intercept = np.vstack([np.zeros_like(coef), coef]), np.append(0.0, intercept)
        found = _Intervals.whole(len(plane.z))
        for d in range(len(coef)):
            if d != c:
                first, second = max(c, d), min(c, d)
                z, a, b = plane.project(coef[first] - coef[second])
                value = z + intercept[first] - intercept[second] + GRID * a
                found = found.cut(value, b, positive=c > d)
        return found.least()


@dataclass(frozen=True, eq=False)
class TreeRegions:
    """The leaves of each class; `decisions` (n_nodes,) are the leaves' classes."""

    surrogate: TreeSurrogate
    decisions: IntArray

    def least(self, plane: Plane, c: int) -> FloatArray:
        """See `Regions`. Every node gets the rows that have a line through it."""
        tree, leads = self.surrogate, self._leads_to(c)
        best = np.full((len(plane.z), len(GRID)), np.inf)
        todo = [(0, np.arange(len(plane.z)), _Intervals.whole(len(plane.z)))]
        while todo:
            node, rows, found = todo.pop()
            if not leads[node] or not len(rows):
                continue
            if tree.children_left_[node] < 0:
                best[rows] = np.minimum(best[rows], found.least())
                continue
            z, a, b = (v[rows, tree.feature_[node], None] for v in plane)
            value = z - tree.threshold_[node] + GRID * a
            for child, positive in ((tree.children_right_[node], True), (tree.children_left_[node], False)):
                low, high = found.cut(value, b, positive)
                some = (low <= high).any(1)
                todo.append((int(child), rows[some], _Intervals(low[some], high[some])))
        return best

    def _leads_to(self, c: int) -> BoolArray:
        """Return which nodes have a leaf of class c below them."""
        tree = self.surrogate
        leads = (tree.children_left_ < 0) & (self.decisions == c)
        for node in range(len(leads) - 1, -1, -1):  # children come after their parents
            if tree.children_left_[node] >= 0:
                leads[node] = leads[tree.children_left_[node]] or leads[tree.children_right_[node]]
        return leads


AT_ONCE = 256  # rows, whose steps then stay in the cache of a core
WHOLE_GRID_AT_ONCE = 16

Decide = Callable[[FloatArray], IntArray]


class Steps(NamedTuple):
    """How far each row goes towards its neighbour: its map, and its inputs, (n,) each."""

    gamma_w: FloatArray
    gamma_x: FloatArray


class Line(NamedTuple):
    """Latents z (n, k), the two directions towards the neighbour's, and the neighbour's own latents."""

    z: FloatArray
    a: FloatArray
    b: FloatArray
    end: FloatArray

    def take(self, rows: IntArray) -> Line:
        """Keep some rows."""
        return Line(*(array[rows] for array in self))

    def at(self, steps: Steps) -> FloatArray:
        """Return the latents after some steps; at the end, exactly the neighbour's own."""
        w, x = steps.gamma_w[:, None], steps.gamma_x[:, None]
        return np.where((w == 1) & (x == 1), self.end, self.z + w * self.a + x * self.b)


def smallest_steps(line: Line, wanted: IntArray, decide: Decide, regions: Regions) -> Steps:
    """Return the smallest steps that are decided as wanted: by their sum, then by gamma_x.

    Parameters
    ----------
    decide
        From latents to the surrogate's decisions.
    regions
        Where the surrogate decides for a class, up to rounding.
    """
    result = Steps(np.ones(len(wanted)), np.ones(len(wanted)))
    for c in np.unique(wanted):
        mine = np.flatnonzero(wanted == c)
        for part in row_chunks(len(mine), AT_ONCE):
            rows = mine[part]
            gamma_x = regions.least(Plane(*line.take(rows)[:3]), int(c))[:, ::-1]
            step = (GRID[::-1] + gamma_x).argmin(1)  # of equal sums, the first has the smallest gamma_x
            best = gamma_x[np.arange(len(rows)), step]
            found = np.isfinite(best)
            result.gamma_w[rows[found]], result.gamma_x[rows[found]] = GRID[::-1][step[found]], best[found]
    # Where rounding makes the surrogate see a threshold elsewhere, the whole grid is tried.
    missed = np.flatnonzero(decide(line.at(result)) != wanted)
    for part in row_chunks(len(missed), WHOLE_GRID_AT_ONCE):
        rows = missed[part]
        result.gamma_w[rows], result.gamma_x[rows] = search_grid(line.take(rows), wanted[rows], decide)
    return result


def search_grid(line: Line, wanted: IntArray, decide: Decide) -> Steps:
    """Return the smallest steps by trying every pair of the grid."""
    w, x = (grid.ravel() for grid in np.meshgrid(GRID, GRID, indexing="ij"))
    order = np.lexsort((x, w + x))
    w, x = w[order], x[order]
    n, k = line.z.shape
    latents = line.z[:, None] + w[:, None] * line.a[:, None] + x[:, None] * line.b[:, None]
    latents[:, -1] = line.end
    hit = decide(latents.reshape(-1, k)).reshape(n, -1) == wanted[:, None]
    first = np.where(hit.any(1), hit.argmax(1), len(w) - 1)
    return Steps(w[first], x[first])


@dataclass(frozen=True, eq=False)
class Refined:
    """Refined rows.

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
        """How each row was refined; one that still does not agree has no neighbour."""
        none = np.zeros(len(self.agrees), dtype=bool)
        return Refinement(*self.steps, np.where(self.agrees, self.neighbour, -1), none)

    def mixed(self, mine: FloatArray, theirs: FloatArray) -> FloatArray:
        """Move the rows' own maps or slopes (n, …) towards their neighbours', by gamma_w."""
        step = self.steps.gamma_w.reshape(-1, *[1] * (mine.ndim - 1))
        return mine + step * (theirs - mine)


@dataclass(frozen=True, eq=False)
class LatentRefiner:
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
    decide: Decide
    regions: Regions
    neighbours: Neighbours

    def __call__(self, X: FloatArray, Z: FloatArray, wanted: IntArray) -> Refined:
        """Refine rows X with latents Z until the surrogate decides as wanted."""
        neighbour = self.neighbours.nearest(Z, wanted)
        some = np.flatnonzero(neighbour >= 0)
        near = neighbour[some]
        carried, end = self.carry(self.neighbours.X[near], X[some]), self.neighbours.Z[near]
        line = Line(Z[some], carried - Z[some], end - carried, end)
        moved = smallest_steps(line, wanted[some], self.decide, self.regions)
        steps = Steps(np.zeros(len(X)), np.zeros(len(X)))
        steps.gamma_w[some], steps.gamma_x[some] = moved
        latents, offset = Z.copy(), np.zeros_like(Z)
        latents[some], offset[some] = line.at(moved), moved.gamma_x[:, None] * line.b
        return Refined(latents, offset, steps, neighbour, self.decide(latents) == wanted)


def carrier(encoder: Any, n_latents: int) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """Return a function that applies the maps of rows to other rows, in bounded memory."""
    nothing = np.empty((0, n_latents))

    def carry(X: FloatArray, at: FloatArray) -> FloatArray:
        Z = np.empty((len(X), n_latents))
        chunks = RowChunks(len(X))
        for rows in chunks:
            with chunks:
                Z[rows] = encoder.pull_back(X[rows], nothing, at[rows]).Z
        return Z

    return carry


class RefinedScores(NamedTuple):
    """Steps towards the neighbours, what the moved inputs add to the log-odds, and whether rows agree now."""

    steps: Steps
    offset: FloatArray
    agrees: BoolArray


def refine_scores(mine: FloatArray, carried: FloatArray, near: FloatArray, wanted: IntArray) -> RefinedScores:
    r"""Refine under a linear surrogate, where only the log-odds of latents count.

    The log-odds (n, d) are the rows' own :math:`\beta z_i + \beta_0`, those of the rows under the
    neighbours' maps :math:`\beta W_{nn} x_i + \beta_0`, and the neighbours' own; after the steps they are
    :math:`s_i + \gamma_W (s_{carried} - s_i) + \gamma_x (s_{nn} - s_{carried})`.

    >>> refine_scores(*(np.array([[score]]) for score in (-1.0, -1.0, 1.0)), np.array([1])).steps
    Steps(gamma_w=array([0.]), gamma_x=array([0.53366992]))
    """
    d = mine.shape[1]
    line = Line(mine, carried - mine, near - carried, near)
    steps = smallest_steps(line, wanted, _decide, LinearRegions(FittedWeights(np.eye(d), np.zeros(d))))
    offset = steps.gamma_x[:, None] * line.b
    return RefinedScores(steps, offset, _decide(line.at(steps)) == wanted)


def _decide(scores: FloatArray) -> IntArray:
    return probabilities_of(scores).argmax(1)
