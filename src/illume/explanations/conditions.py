"""All conditions that a rule may get, numbered, so that they are tried at once on a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.explanations.bins import Bins
from illume.explanations.boxes import Boxes


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions by number, K = 2 (T_n + T_c) in all.

    Each end of a numeric bin as an upper bound, then as a lower bound; each category excluded, then alone.
    """

    bins: Bins

    @property
    def _starts(self) -> IntArray:
        numbers, categories = self.bins.n_numeric, self.bins.n_categories
        return np.cumsum([0, numbers, numbers, categories])

    def kind(self, code: IntArray) -> tuple[IntArray, IntArray]:
        """Return what kind of condition (0 upper, 1 lower, 2 excluded, 3 alone), and the bin it is about."""
        starts = self._starts
        kind = np.searchsorted(starts[1:], code, side="right")
        return kind, code - starts[kind]

    def kept(self, counts: FloatArray, rows: IntArray) -> FloatArray:
        """Turn counts of rows per bin (u, T), and in all (u,), into how many each condition keeps, (u, K)."""
        numeric, categories = counts[:, : self.bins.n_numeric], counts[:, self.bins.n_numeric :]
        total = rows[:, None].astype(np.float32)
        upto = np.cumsum(numeric, axis=1) - total * self.bins.feature.astype(np.float32)
        return np.hstack([upto, total - upto, total - categories, categories])

    def violated(self, code: IntArray) -> BoolArray:
        """Return which rows of the sample violate each condition, (u, N)."""
        kind, at = self.kind(code)
        result = np.empty((len(code), len(self.bins.sample)), dtype=bool)
        number = kind < 2
        e = at[number]
        f = self.bins.feature[e]
        above = self.bins.place[f] > (e - self.bins.first[f]).astype(np.uint8)[:, None]
        result[number] = above == (kind[number] == 0)[:, None]
        has = self.bins.has[at[~number]]
        result[~number] = has == (kind[~number] == 2)[:, None]
        return result

    def possible(self, X: FloatArray) -> BoolArray:
        """Return which conditions hold for a row and exclude something, (n, K)."""
        bins, layout = self.bins, self.bins.sample.layout
        upper = np.arange(bins.n_numeric) >= bins.places(X)[:, bins.feature]
        inner = np.isfinite(bins.edges)
        own = layout.own(X)[:, layout.onehot]
        known = layout.admissible(X)[:, layout.onehot] == own  # False where a row has no known category
        return np.hstack([upper & inner, ~upper & inner, ~own & known, own])

    def preferred(self, boxes: Boxes, X: FloatArray) -> BoolArray:
        """Return which conditions are those of boxes around the rows, as near as bins can tell, (n, K)."""
        upper, lower = self.bins.snapped(boxes, X)
        layout = self.bins.sample.layout
        allowed = boxes.allowed[:, layout.onehot]
        alone = allowed.copy()
        for inputs in layout.categorical:
            alone[:, self.bins.among_categories(inputs)] &= (
                boxes.allowed[:, inputs].sum(1, keepdims=True) == 1
            )
        return np.hstack([upper, lower, ~allowed, alone])

    def tighten(self, boxes: Boxes, rows: IntArray, code: IntArray) -> None:
        """Put each row's condition into its box, in place; a row stands once among `rows`."""
        layout = self.bins.sample.layout
        kind, at = self.kind(code)
        for bound, number, narrower in ((boxes.high, 0, np.minimum), (boxes.low, 1, np.maximum)):
            i, e = rows[kind == number], at[kind == number]
            j = layout.numbers[self.bins.feature[e]]
            # Edges lie between values that occur, so that both ends of an interval may belong to it.
            bound[i, j] = narrower(bound[i, j], self.bins.edges[e])
        onehot = np.flatnonzero(layout.onehot)
        i, q = rows[kind == 2], onehot[at[kind == 2]]
        boxes.allowed[i, q] = False
        i, q = rows[kind == 3], onehot[at[kind == 3]]
        siblings = layout.owner == layout.owner[q][:, None]
        boxes.allowed[i] &= ~siblings | (np.arange(layout.n_inputs) == q[:, None])
