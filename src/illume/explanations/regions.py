"""Where along a line a surrogate decides for a class: half-spaces for weights, leaves for a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.surrogates.base import TreeSurrogate, Weights


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
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = -value / slope
        low = np.where(slope > 0, np.maximum(self.low, crossing), self.low)
        high = np.where(slope < 0, np.minimum(self.high, crossing), self.high)
        flat_out = (slope == 0) & ((value < 0) | ((value == 0) & positive))
        return replace(self, low=low, high=high).take((low <= high) & ~flat_out)

    def latents(self, r: int) -> tuple[FloatArray, FloatArray]:
        """Return latent r at t = 0, and its slope, of every line."""
        start = self.z[:, r][self.row] + self.grid[self.step] * self.a[:, r][self.row]
        return start, self.b[:, r][self.row]


class Regions(Protocol):
    """Tells where lines lie in a class."""

    def parts(self, pencil: Pencil, c: int) -> Iterator[Pencil]:
        """Yield the parts of the lines that are decided for class c."""
        ...


@dataclass(frozen=True, eq=False)
class LinearRegions:
    """One region per class, bounded by where its log-odds equal another's; ties go to the first class."""

    surrogate: Weights

    def parts(self, pencil: Pencil, c: int) -> Iterator[Pencil]:
        """Yield the one part in which class c beats every other."""
        coef, intercept = self.surrogate.coef_, self.surrogate.intercept_
        if len(coef) == 1:
            coef = np.vstack([np.zeros_like(coef), coef])
            intercept = np.append(0.0, intercept)
        for d in range(len(coef)):
            if d < c:
                pencil = pencil.cut(coef[c] - coef[d], intercept[d] - intercept[c], positive=True)
            elif d > c:
                pencil = pencil.cut(coef[d] - coef[c], intercept[c] - intercept[d], positive=False)
        yield pencil


@dataclass(frozen=True, eq=False)
class TreeRegions:
    """The leaves of each class; `decisions` (n_nodes,) are the leaves' classes."""

    surrogate: TreeSurrogate
    decisions: IntArray

    def parts(self, pencil: Pencil, c: int) -> Iterator[Pencil]:
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
