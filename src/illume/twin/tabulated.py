"""Models of few different rows: all are asked, and networks are written down instead of trained, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.twin.network_arrays import Codes, Coding, ModelArrays, Table, ValueArrays, gate

MOST_CELLS = 256
STEEP = 40.0  # how much a unit's input falls with each feature that is not its cell's
ON = gate(np.array([STEEP / 2, 1.0], dtype=np.float64))[0]  # what a unit answers to its own cell


@dataclass(frozen=True, eq=False)
class Grid:
    """All combinations of the values of a few features, the last one's changing fastest.

    Each feature's values are entries of the coding's table, `nodes`, and stand in `rows` of the frame.
    """

    nodes: tuple[IntArray, ...]
    rows: tuple[IntArray, ...]

    @classmethod
    def find(cls, codes: Codes) -> Grid | None:
        """Return the grid that coded rows lie on; None if it is large, or values lie between entries."""
        if not np.isin(codes.part, (0.0, 1.0)).all() or not codes.at.shape[1]:
            return None
        found = [np.unique(column, return_index=True) for column in _nodes(codes).T]
        if math.prod(len(nodes) for nodes, _ in found) > MOST_CELLS:
            return None
        return cls(*zip(*found, strict=True))

    def __len__(self) -> int:
        return math.prod(map(len, self.nodes))

    @property
    def digits(self) -> IntArray:
        """Which value each feature has in each cell, (cells, m)."""
        every = np.meshgrid(*(np.arange(len(nodes)) for nodes in self.nodes), indexing="ij")
        return np.stack([each.ravel() for each in every], 1)

    @property
    def sources(self) -> IntArray:
        """Rows of the frame that hold each cell's values, (cells, m)."""
        return np.stack([rows[digit] for rows, digit in zip(self.rows, self.digits.T, strict=True)], 1)

    def place(self, codes: Codes) -> IntArray:
        """Return the cells that coded rows lie in, (n,); -1 for those that lie in none."""
        nodes, cell = _nodes(codes), np.zeros(len(codes), dtype=np.intp)
        inside = np.isin(codes.part, (0.0, 1.0)).all(1)
        for j, known in enumerate(self.nodes):
            digit = np.searchsorted(known, nodes[:, j]).clip(max=len(known) - 1)
            inside &= known[digit] == nodes[:, j]
            cell = cell * len(known) + digit
        return np.where(inside, cell, -1)


def _nodes(codes: Codes) -> IntArray:
    return codes.at + codes.part.astype(codes.at.dtype)


def exact_values(scores: FloatArray, digits: IntArray, background: IntArray) -> FloatArray:
    """Return Shapley values (cells, m, c) of a table of scores (cells, c) against rows in some of its cells.

    >>> both = np.array([[0.0], [0.0], [0.0], [1.0]])  # 1 where both features are 1
    >>> exact_values(both, np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0]))[3, :, 0]
    array([0.5, 0.5])
    """
    m = digits.shape[1]
    sizes = digits.max(0) + 1
    strides = np.cumprod(np.append(sizes[1:], 1)[::-1])[::-1]
    cells, counts = np.unique(background, return_counts=True)
    subsets = (np.arange(2**m)[:, None] >> np.arange(m)) & 1
    means = []
    for subset in subsets:
        mixed = (digits @ (subset * strides))[:, None] + digits[cells] @ ((1 - subset) * strides)
        means.append(np.average(scores[mixed], axis=1, weights=counts))
    value, size = np.stack(means), subsets.sum(1)
    found = np.empty((len(digits), m, scores.shape[1]))
    for j in range(m):
        without = np.flatnonzero(subsets[:, j] == 0)
        weights = 1 / (m * np.array([math.comb(m - 1, k) for k in size[without]]))
        found[:, j] = np.tensordot(weights, value[without + 2**j] - value[without], 1)
    return found


def tabulate(
    coding: Coding, grid: Grid, scores: FloatArray, background: IntArray, common: Codes
) -> tuple[ModelArrays, ValueArrays]:
    """Return networks with one unit for each cell, which answer with the cell's scores and Shapley values.

    A value that is in no cell counts as the most frequent one of `common` rows.
    """
    digits, (n_cells, c) = grid.digits, scores.shape
    m, d = digits.shape[1], max(map(len, grid.nodes)) + 1
    nodes = np.zeros((coding.size, c + d), dtype=np.float32)
    seen = _nodes(common)
    for j, known in enumerate(grid.nodes):
        own = np.zeros((len(known), d), dtype=np.float32)
        own[np.arange(len(known)), np.arange(len(known))] = own[:, -1] = 1.0
        usual = int(np.searchsorted(known, np.bincount(seen[:, j]).argmax()))
        first, last = coding.starts[j], coding.starts[j] + coding.widths[j]
        nodes[first : last + 1, c:] = own[usual]
        nodes[known, c:] = own
    match = np.zeros((m, d, n_cells), dtype=np.float32)
    for j in range(m):
        match[j, digits[:, j], np.arange(n_cells)] = STEEP
    first, ones = match.reshape(m * d, n_cells), np.ones(n_cells, dtype=np.float32)
    nothing, bias = np.zeros_like(first), -STEEP * (m - 0.5) * ones
    values = np.zeros((2 * n_cells, m, d, c), dtype=np.float32)
    values[:n_cells, :, -1] = exact_values(scores, digits, background) / ON
    model = ModelArrays(
        Table(nodes, c),
        np.hstack([first, nothing]),
        np.concatenate([bias, ones]),
        (scores / ON).astype(np.float32),
        np.zeros(c, dtype=np.float32),
    )
    return model, ValueArrays(
        Table(nodes, c),
        np.zeros((m, c), dtype=np.float32),
        np.hstack([first, nothing, nothing]),
        np.concatenate([bias, ones, 0 * ones]),
        values.reshape(2 * n_cells, -1),
        np.zeros(m * d * c, dtype=np.float32),
    )
