"""Perfect fidelity: move a row's map and inputs towards a neighbour's until the surrogate agrees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.questions import Question
from illume.data.threads import row_chunks
from illume.explanations.neighbours import Neighbours
from illume.results.trust import Refinement
from illume.surrogates.base import LinearSurrogate, TreeSurrogate

# Steps in ascending order: none, then a thousandth to the whole way, evenly in logarithms.
GRID = np.concatenate([[0.0], np.logspace(-3, 0, 100)])
AT_ONCE = 256  # rows, whose steps then stay in the cache of a core
WHOLE_GRID_AT_ONCE = 16


class Path(NamedTuple):
    r"""Latents :math:`z + \gamma_W a + \gamma_x b` between a row and its neighbour, (n, k) each.

    At (1, 1) they are exactly the neighbour's own latents, `end`.
    """

    z: FloatArray
    a: FloatArray
    b: FloatArray
    end: FloatArray

    def take(self, rows: IntArray) -> Path:
        """Return the paths of some rows."""
        return Path(*(array[rows] for array in self))

    def at(self, gamma_w: FloatArray, gamma_x: FloatArray) -> FloatArray:
        """Return the latents after steps (n,) of each kind."""
        w, x = gamma_w[:, None], gamma_x[:, None]
        return np.where((w == 1) & (x == 1), self.end, self.z + w * self.a + x * self.b)


class Regions(Protocol):
    """The regions of the latent space that a surrogate decides for each class."""

    def holds(self, Z: FloatArray, wanted: IntArray) -> BoolArray:
        """Return where the surrogate decides as wanted, (n,)."""
        ...

    def least(self, path: Path, c: int) -> FloatArray:
        """Return the smallest gamma_x at which class c is decided, for each gamma_w of the grid, (n, g).

        It is a value of the grid, or infinite where there is none. Rounding may make `holds` differ.
        """
        ...


class _Intervals(NamedTuple):
    """An interval of gamma_x per row and gamma_w of the grid, (n, g); empty where `low > high`."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def whole(cls, n: int) -> _Intervals:
        return cls(np.zeros((n, len(GRID))), np.ones((n, len(GRID))))

    def cut(self, value: FloatArray, slope: FloatArray, positive: bool) -> _Intervals:
        """Keep the part where `value + gamma_x * slope` is positive, or where it is not.

        `value` is (n, g), `slope` is (n, 1).
        """
        if not positive:
            value, slope = -value, -slope
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            crossing = -value / slope
        low = np.where(slope > 0, np.maximum(self.low, crossing), self.low)
        high = np.where(slope < 0, np.minimum(self.high, crossing), self.high)
        outside = (slope == 0) & ((value < 0) | ((value == 0) & positive))
        return _Intervals(np.where(outside, np.inf, low), high)

    def least(self) -> FloatArray:
        """Return the smallest value of the grid in each interval, infinite where there is none."""
        t = np.append(GRID, np.inf)[np.searchsorted(GRID, self.low)]
        return np.where(t <= self.high, t, np.inf)


@dataclass(frozen=True, eq=False)
class LinearRegions:
    """One region per class, bounded by where its log-odds equal another's; ties go to the first class.

    With a threshold, the regions of two classes meet at its log-odds.
    """

    surrogate: LinearSurrogate
    question: Question

    def holds(self, Z: FloatArray, wanted: IntArray) -> BoolArray:
        return self.question.holds(self.surrogate.answers(Z), wanted)

    def least(self, path: Path, c: int) -> FloatArray:
        coef, intercept = self.surrogate.coef_, self.surrogate.intercept_
        if len(coef) == 1:  # two classes, one row of weights
            edge: float = self.question.log_odds  # type: ignore[attr-defined]
            coef, intercept = np.vstack([np.zeros_like(coef), coef]), np.append(edge, intercept)
        found = _Intervals.whole(len(path.z))
        for d in range(len(coef)):
            if d != c:
                first, second = max(c, d), min(c, d)
                normal = coef[first] - coef[second]
                z, a, b = ((v @ normal)[:, None] for v in path[:3])
                value = z + intercept[first] - intercept[second] + GRID * a
                found = found.cut(value, b, positive=c > d)
        return found.least()


@dataclass(frozen=True, eq=False)
class TreeRegions:
    """The leaves of each decision; `answers` (n_nodes, c) are those of the nodes."""

    surrogate: TreeSurrogate
    question: Question
    answers: FloatArray

    def holds(self, Z: FloatArray, wanted: IntArray) -> BoolArray:
        return self.question.of_shares.holds(self.surrogate.answers(Z), wanted)

    def least(self, path: Path, c: int) -> FloatArray:
        """See `Regions`. Rows are followed down the tree into every node that their path crosses."""
        tree, right = self.surrogate, self.question.of_shares.holds(self.answers, c)
        best = np.full((len(path.z), len(GRID)), np.inf)
        todo = [(0, np.arange(len(path.z)), _Intervals.whole(len(path.z)))]
        while todo:
            node, rows, found = todo.pop()
            if tree.children_left_[node] < 0:
                if right[node]:
                    best[rows] = np.minimum(best[rows], found.least())
                continue
            z, a, b = (v[rows, tree.feature_[node], None] for v in path[:3])
            value = z - tree.threshold_[node] + GRID * a
            for child, positive in ((tree.children_right_[node], True), (tree.children_left_[node], False)):
                low, high = found.cut(value, b, positive)
                some = (low <= high).any(1)
                if some.any():
                    todo.append((int(child), rows[some], _Intervals(low[some], high[some])))
        return best


def smallest_steps(path: Path, wanted: IntArray, regions: Regions) -> tuple[FloatArray, FloatArray]:
    """Return the smallest steps (n,) that are decided as wanted: by their sum, then by gamma_x."""
    gamma_w, gamma_x = np.ones(len(wanted)), np.ones(len(wanted))
    for c in np.unique(wanted):
        mine = np.flatnonzero(wanted == c)
        for part in row_chunks(len(mine), AT_ONCE):
            rows = mine[part]
            least = regions.least(path.take(rows), int(c))[:, ::-1]
            step = (GRID[::-1] + least).argmin(1)  # of equal sums, the first has the smallest gamma_x
            best = least[np.arange(len(rows)), step]
            found = np.isfinite(best)
            gamma_w[rows[found]], gamma_x[rows[found]] = GRID[::-1][step[found]], best[found]
    # Where rounding makes the surrogate see a threshold elsewhere, the whole grid is tried.
    missed = np.flatnonzero(~regions.holds(path.at(gamma_w, gamma_x), wanted))
    for part in row_chunks(len(missed), WHOLE_GRID_AT_ONCE):
        rows = missed[part]
        gamma_w[rows], gamma_x[rows] = search_grid(path.take(rows), wanted[rows], regions)
    return gamma_w, gamma_x


def search_grid(path: Path, wanted: IntArray, regions: Regions) -> tuple[FloatArray, FloatArray]:
    """Return the smallest steps by trying every pair of the grid."""
    w, x = (grid.ravel() for grid in np.meshgrid(GRID, GRID, indexing="ij"))
    order = np.lexsort((x, w + x))
    w, x = w[order], x[order]
    n, k = path.z.shape
    latents = path.z[:, None] + w[:, None] * path.a[:, None] + x[:, None] * path.b[:, None]
    latents[:, -1] = path.end
    hit = regions.holds(latents.reshape(-1, k), np.repeat(wanted, len(w))).reshape(n, -1)
    first = np.where(hit.any(1), hit.argmax(1), len(w) - 1)
    return w[first], x[first]


@dataclass(frozen=True, eq=False)
class Refined:
    """Refined rows.

    Parameters
    ----------
    slopes
        The slopes under the neighbours' maps, (n, c, m).
    Z
        Latents after refinement, (n, k).
    offset
        What is added to `W @ x` beside the change of the map W, (n, k).
    refinement
        The steps and the neighbours, by their positions among the training rows.
    """

    slopes: FloatArray
    Z: FloatArray
    offset: FloatArray
    refinement: Refinement

    def mix(self, mine: FloatArray, theirs: FloatArray) -> FloatArray:
        """Move the rows' own maps, slopes or contributions (n, …) towards their neighbours', by gamma_w."""
        step = self.refinement.gamma_w.reshape(-1, *[1] * (mine.ndim - 1))
        return mine + step * (theirs - mine)


@dataclass(frozen=True, eq=False)
class Refiner:
    r"""Finds the smallest :math:`(\gamma_W, \gamma_x)` of a grid at which the surrogate agrees.

    With a neighbour's map and row, the latents go from :math:`z_i` to
    :math:`(1-\gamma_W) z_i + \gamma_W W_{nn} x_i + \gamma_x W_{nn} (x_{nn} - x_i)`; the sum of both steps is
    minimal, then :math:`\gamma_x`. At (1, 1) it is the neighbour's own latents, which agree.

    Parameters
    ----------
    coef
        The weights on latents (c, k) whose slopes are returned.
    """

    encoder: Any
    regions: Regions
    neighbours: Neighbours
    coef: FloatArray

    def __call__(
        self, X: FloatArray, Z: FloatArray, wanted: IntArray, near: IntArray | None = None
    ) -> Refined:
        """Refine rows X with latents Z until the surrogate decides as wanted; `near` are their neighbours."""
        near = self.neighbours.nearest(Z, wanted) if near is None else near
        slopes, latents, offset = np.zeros((len(X), len(self.coef), X.shape[1])), Z.copy(), np.zeros_like(Z)
        found = Refinement.empty(len(X))
        some = np.flatnonzero(near >= 0)
        pulled = self.encoder.pull_back(self.neighbours.X[near[some]], self.coef, X[some])
        slopes[some], end = pulled.slopes, self.neighbours.Z[near[some]]
        path = Path(Z[some], pulled.Z - Z[some], end - pulled.Z, end)
        found.gamma_w[some], found.gamma_x[some] = smallest_steps(path, wanted[some], self.regions)
        latents[some] = path.at(found.gamma_w[some], found.gamma_x[some])
        offset[some] = found.gamma_x[some, None] * path.b
        found.agreed[:] = False
        found.neighbour[:] = np.where(self.regions.holds(latents, wanted), near, -1)
        return Refined(slopes, latents, offset, found)
