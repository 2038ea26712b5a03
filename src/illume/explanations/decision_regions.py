"""Where along lines of latents a surrogate decides for a class: half-spaces, or leaves of a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.surrogates.base import TreeSurrogate, Weights

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
