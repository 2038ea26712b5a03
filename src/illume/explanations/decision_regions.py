"""The steps that refinement tries: none, and a thousandth to the whole way, evenly in logarithms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.surrogates.base import TreeSurrogate, Weights

SHIFT = 15  # leaves 8 bits of a float32's mantissa: cells narrower than the steps are apart
LEAST, MOST = 2.0**-11, 2.0  # cells between them; all steps but 0 are well inside


class Grid:
    """Steps in ascending order, from 0 to 1, neighbouring ones but the first two more than 1 % apart.

    >>> Grid(np.array([0.0, 0.1, 1.0])).at_least(np.array([0.0, 0.05, 0.1, 0.2, 3.0]))
    array([0. , 0.1, 0.1, 1. , inf])
    """

    def __init__(self, values: FloatArray) -> None:
        self.values, self.down = values, values[::-1].copy()
        self._or_none = np.append(values, np.inf)
        self._first = int(_cells(np.array([LEAST]))[0])
        cells = np.arange(self._first, int(_cells(np.array([MOST]))[0]) + 1, dtype=np.int32)
        lower = (cells << SHIFT).view(np.float32).astype(np.float64) * (1 - 1e-6)  # against rounding
        self._place = np.where(lower < LEAST, 0, np.searchsorted(values, lower))

    def __len__(self) -> int:
        return len(self.values)

    def at_least(self, t: FloatArray) -> FloatArray:
        """Return the least step that is no less than each number (0 or more); infinity where there is none.

        The upper bits of a number tell one of two steps, as a search would, only faster.
        """
        place = self._place.take(_cells(np.clip(t, LEAST, MOST)) - self._first)
        place += t > self._or_none.take(place)
        return self._or_none.take(place)


def _cells(t: FloatArray) -> IntArray:
    """Return the upper bits of numbers, which ascend as they do."""
    return t.astype(np.float32).view(np.int32) >> SHIFT


@dataclass(frozen=True, eq=False)
class Pencil:
    r"""For every row, lines of latents :math:`z + s a + t b` over t from 0 to 1, one for each s of a grid.

    Parameters
    ----------
    z, a, b
        Start and the two directions, (n, k).
    grid
        The values of s and of t.
    row, step
        Which row, and which s, each line is of, (l,).
    low, high
        The part of t that is still in question, (l,).
    """

    z: FloatArray
    a: FloatArray
    b: FloatArray
    grid: FloatArray
    row: IntArray
    step: IntArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, z: FloatArray, a: FloatArray, b: FloatArray, grid: FloatArray) -> Pencil:
        """Return all lines of all rows."""
        row = np.repeat(np.arange(len(z)), len(grid))
        step = np.tile(np.arange(len(grid)), len(z))
        return cls(z, a, b, grid, row, step, np.zeros(len(row)), np.ones(len(row)))

    def __len__(self) -> int:
        return len(self.row)

    def take(self, lines: Any) -> Pencil:
        """Keep some lines."""
        names = ("row", "step", "low", "high")
        return replace(self, **{name: getattr(self, name)[lines] for name in names})

    def cut(self, normal: FloatArray, offset: float, positive: bool) -> Pencil:
        """Keep the parts where `normal @ latents - offset` is positive, or where it is not."""
        start, along, across = ((v @ normal)[self.row] for v in (self.z, self.a, self.b))
        return self.cut_at(start + self.grid[self.step] * along - offset, across, positive)

    def cut_at(self, value: FloatArray, slope: FloatArray, positive: bool) -> Pencil:
        """Keep the parts where `value + t * slope` is positive, or where it is not; drop empty lines."""
        if not positive:
            value, slope = -value, -slope
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            crossing = -value / slope
        low = np.where(slope > 0, np.maximum(self.low, crossing), self.low)
        high = np.where(slope < 0, np.minimum(self.high, crossing), self.high)
        flat_out = (slope == 0) & ((value < 0) | ((value == 0) & positive))
        return replace(self, low=low, high=high).take((low <= high) & ~flat_out)

    def latents(self, r: int) -> tuple[FloatArray, FloatArray]:
        """Return latent r at t = 0, and its slope, of every line."""
        start = self.z[:, r][self.row] + self.grid[self.step] * self.a[:, r][self.row]
        return start, self.b[:, r][self.row]


class Plane(NamedTuple):
    """Latents z (n, k) and two directions: :math:`z + s a + t b` for s and t from 0 to 1."""

    z: FloatArray
    a: FloatArray
    b: FloatArray


class Regions(Protocol):
    """Tells where latents lie in a class."""

    def least(self, plane: Plane, grid: Grid, c: int) -> FloatArray:
        """Return the least t of the grid that class c is decided at, for every s of it, (n, g).

        It is infinite where there is none. The steps s are in descending order.
        """
        ...


def least_of_parts(parts: Iterable[Pencil], n_rows: int, grid: Grid) -> FloatArray:
    """Return the least t of the grid (n, g) that is inside any of the parts of lines."""
    values = grid.values
    best = np.full((n_rows, len(values)), np.inf)
    for lines in parts:
        first = np.searchsorted(values, lines.low)
        inside = values[np.minimum(first, len(values) - 1)] <= lines.high
        row, step = lines.row[inside], lines.step[inside]
        np.minimum.at(best, (row, step), values[first[inside]])
    return best


@dataclass(frozen=True, eq=False)
class LinearRegions:
    """One region per class, bounded by where its log-odds equal another's; ties go to the first class."""

    surrogate: Weights

    def least(self, plane: Plane, grid: Grid, c: int) -> FloatArray:
        """Return the least t of the grid at which class c beats every other, for every s of it, (n, g)."""
        if len(self.surrogate.coef_) > 1:
            return least_of_parts([self._part(Pencil.of(*plane, grid.down), c)], len(plane.z), grid)
        sign, coef = (1.0 if c else -1.0), self.surrogate.coef_[0]
        start, along, across = (sign * (v @ coef) for v in plane)
        value = (start + sign * self.surrogate.intercept_[0])[:, None] + grid.down * along[:, None]
        rising = np.where(across > 0, across, 0.0)[:, None]  # where it does not, t = 0 does or none
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            crossing = np.fmax(np.divide(-value, rising, out=value), 0.0, out=value)
        return grid.at_least(crossing)

    def _part(self, pencil: Pencil, c: int) -> Pencil:
        """Return the one part in which class c beats every other."""
        coef, intercept = self.surrogate.coef_, self.surrogate.intercept_
        for d in range(len(coef)):
            if d < c:
                pencil = pencil.cut(coef[c] - coef[d], intercept[d] - intercept[c], positive=True)
            elif d > c:
                pencil = pencil.cut(coef[d] - coef[c], intercept[c] - intercept[d], positive=False)
        return pencil


@dataclass(frozen=True, eq=False)
class TreeRegions:
    """The leaves of each class; `decisions` (n_nodes,) are the leaves' classes."""

    surrogate: TreeSurrogate
    decisions: IntArray

    def least(self, plane: Plane, grid: Grid, c: int) -> FloatArray:
        """Return the least t of the grid that lies in a leaf of class c, for every s of it, (n, g)."""
        return least_of_parts(self._parts(Pencil.of(*plane, grid.down), c), len(plane.z), grid)

    def _parts(self, pencil: Pencil, c: int) -> Iterator[Pencil]:
        """Go down the tree with the lines, each node with those that pass it, and yield those at leaves."""
        leads = self._leads_to(c)
        tree, todo = self.surrogate, [(0, pencil)]
        while todo:
            node, lines = todo.pop()
            if not leads[node] or not len(lines):
                continue
            if tree.children_left_[node] < 0:
                yield lines
                continue
            value, slope = lines.latents(int(tree.feature_[node]))
            value = value - tree.threshold_[node]
            todo.append((int(tree.children_right_[node]), lines.cut_at(value, slope, positive=True)))
            todo.append((int(tree.children_left_[node]), lines.cut_at(value, slope, positive=False)))

    def _leads_to(self, c: int) -> BoolArray:
        """Return which nodes have a leaf of class c below them."""
        tree = self.surrogate
        leads = (tree.children_left_ < 0) & (self.decisions == c)
        for node in range(len(leads) - 1, -1, -1):  # children come after their parents
            if tree.children_left_[node] >= 0:
                leads[node] = leads[tree.children_left_[node]] or leads[tree.children_right_[node]]
        return leads
