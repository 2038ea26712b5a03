"""Answered rows that boxes are tried on: which of them a box covers, and how they were decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.threads import RowChunks
from illume.explanations.boxes import Boxes
from illume.explanations.layout import Layout

BOXES_AT_ONCE = 512  # boxes times rows, a byte each, stay in the processor's cache


class Counts(NamedTuple):
    """How many rows each box covers, and how many of them have the wanted decision, (n,) each."""

    covered: FloatArray
    correct: FloatArray


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows X (N, m) with the black box's decisions (N,).

    Parameters
    ----------
    values, ranks
        Per numeric input: the values that occur, ascending, and each row's position among them.
    codes
        Per categorical feature: each row's category as a position among the feature's inputs; the number
        of categories for a row that has none of them.
    """

    layout: Layout
    X: FloatArray
    decisions: IntArray
    values: tuple[FloatArray, ...]
    ranks: tuple[IntArray, ...]
    codes: tuple[IntArray, ...]

    @classmethod
    def of(cls, layout: Layout, X: FloatArray, decisions: IntArray) -> Sample:
        """Sort every numeric input once."""
        values: list[FloatArray] = []
        ranks: list[IntArray] = []
        for j in layout.numbers:
            found, rank = np.unique(X[:, j], return_inverse=True)
            values.append(found)
            ranks.append(rank.astype(np.uint16 if len(found) < 2**16 else np.uint32))
        own = layout.own(X)
        codes = []
        for inputs in layout.categorical:
            has = own[:, inputs]
            codes.append(np.where(has.any(1), has.argmax(1), has.shape[1]))
        return cls(layout, X, decisions, tuple(values), tuple(ranks), tuple(codes))

    def __len__(self) -> int:
        return len(self.X)

    def members(self, boxes: Boxes) -> BoolArray:
        """Return which rows are in which box, (n, N)."""
        inside = np.ones((len(boxes), len(self)), dtype=bool)
        for j, values, rank in zip(self.layout.numbers, self.values, self.ranks, strict=True):
            low, high = boxes.low[:, j], boxes.high[:, j]
            if np.isinf(low).all() and np.isinf(high).all():
                continue
            first = np.searchsorted(values, low, side="left").astype(rank.dtype)
            last = np.searchsorted(values, high, side="right").astype(rank.dtype)
            width = np.where(last > first, last - first, 0).astype(rank.dtype)
            # Unsigned numbers wrap around, so that one comparison tells both sides.
            inside &= (rank - first[:, None]) < width[:, None]
        for inputs, code in zip(self.layout.categorical, self.codes, strict=True):
            allowed = boxes.allowed[:, inputs]
            if not allowed.all():
                none = allowed.all(1, keepdims=True)  # without a condition, a row of no known category is in
                inside &= np.hstack([allowed, none])[:, code]
        return inside

    def counts(self, boxes: Boxes, wanted: IntArray, but: FloatArray | None = None) -> Counts:
        """Count covered rows and covered rows of the wanted decision, box by box.

        Each box was made for a row of `but` (n, m): where that row is in the sample, it does not count.
        """
        result = Counts(np.empty(len(boxes)), np.empty(len(boxes)))
        n_classes = 1 + max(self.decisions.max(initial=0), wanted.max(initial=0))
        label = np.eye(n_classes, dtype=np.float32)[self.decisions]
        chunks = RowChunks(len(boxes), BOXES_AT_ONCE)
        for rows in chunks:
            with chunks:
                by_class = self.members(boxes[rows]).astype(np.float32) @ label
                result.covered[rows] = by_class.sum(1)
                result.correct[rows] = by_class[np.arange(len(by_class)), wanted[rows]]
        if but is not None and len(self):
            itself = self._positions(but)
            known = np.flatnonzero(itself >= 0)
            known = known[self._member(boxes, known, itself[known])]
            result.covered[known] -= 1
            result.correct[known] -= self.decisions[itself[known]] == wanted[known]
        return result

    def _positions(self, X: FloatArray) -> IntArray:
        """Return where rows stand in the sample, -1 for those that do not."""
        mine, theirs = _hashed(self.X), _hashed(X)
        order = np.argsort(mine, kind="stable")
        at = order[np.minimum(np.searchsorted(mine[order], theirs), max(len(mine) - 1, 0))]
        return np.where((self.X[at] == X).all(1), at, -1)

    def _member(self, boxes: Boxes, box: IntArray, row: IntArray) -> BoolArray:
        """Return whether single rows of the sample are in single boxes."""
        X, layout = self.X[row], self.layout
        inside = (boxes.low[box] <= X) & (boxes.high[box] >= X)
        return np.asarray(np.where(layout.onehot, ~layout.own(X) | boxes.allowed[box], inside).all(1))


def _hashed(X: FloatArray) -> IntArray:
    """Return a number per row that equal rows share."""
    bits = np.ascontiguousarray(X + 0.0, dtype=np.float64).view(np.uint64)  # + 0.0, for there are two zeros
    odd = np.random.default_rng(0).integers(1, 2**63, size=X.shape[1], dtype=np.uint64) | np.uint64(1)
    return ((bits ^ (bits >> np.uint64(29))) * odd).sum(1, dtype=np.uint64)


def spread(decisions: IntArray, n: int, least: int = 0) -> IntArray:
    """Return about n positions, from every decision in its share and at least so many, ascending.

    >>> spread(np.array([0, 0, 0, 0, 1, 1]), 3)
    array([0, 2, 4])
    >>> spread(np.array([0] * 1000 + [1]), 2, least=1)
    array([   0,  500, 1000])
    """
    if len(decisions) <= n:
        return np.arange(len(decisions))
    order = np.argsort(decisions, kind="stable")
    kept = [order[np.arange(n) * len(order) // n]]
    for c in np.unique(decisions) if least else ():
        mine = np.flatnonzero(decisions == c)
        few = min(least, len(mine))
        if np.count_nonzero(decisions[kept[0]] == c) < few:
            kept.append(mine[np.arange(few) * len(mine) // few])
    return np.unique(np.concatenate(kept))


def by_class(wanted: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Yield every class and the positions of the boxes that want it."""
    for c in np.unique(wanted):
        yield int(c), np.flatnonzero(wanted == c)


BINS = 16


@dataclass(frozen=True, eq=False)
class Bins:
    """Every row of a sample in one bin per feature: of equal size for numbers, a bin per category.

    Bins of all numbers stand side by side, then those of all categories: T in all.

    Parameters
    ----------
    edges
        Where each numeric bin ends, (T_n,); infinite for the last bin of a feature.
    feature
        Which numeric input a numeric bin belongs to, counted from 0, (T_n,).
    first
        The first bin of each numeric input, (F_n,).
    place
        The bin of each row on each numeric input, counted from that input's first, (F_n, N).
    has
        Which rows have each category, (T_c, N).
    table
        1 where a row is in a bin, (N, T), for counting by matrix products.
    """

    sample: Sample
    edges: FloatArray
    feature: IntArray
    first: IntArray
    place: IntArray
    has: BoolArray
    table: FloatArray

    @classmethod
    def of(cls, sample: Sample) -> Bins:
        """Cut at quantiles, at a round number between values that occur."""
        layout = sample.layout
        edges = [
            _edges(sample.X[:, j], values, layout.mean[j], layout.scale[j])
            for j, values in zip(layout.numbers, sample.values, strict=True)
        ]
        place = [
            np.searchsorted(e, sample.X[:, j], side="left")
            for j, e in zip(sample.layout.numbers, edges, strict=True)
        ]
        widths = np.array([len(e) for e in edges], dtype=np.intp)
        first = np.cumsum(widths) - widths
        n = len(sample)
        own = sample.layout.own(sample.X)[:, sample.layout.onehot]
        table = np.zeros((n, widths.sum() + own.shape[1]), dtype=np.float32)
        for start, at in zip(first, place, strict=True):
            table[np.arange(n), start + at] = 1.0
        table[:, widths.sum() :] = own
        return cls(
            sample=sample,
            edges=np.concatenate([*edges, []]),
            feature=np.repeat(np.arange(len(edges)), widths),
            first=first,
            place=np.array(place, dtype=np.uint8).reshape(len(edges), n),
            has=np.ascontiguousarray(own.T),
            table=table,
        )

    def reordered(self, order: IntArray) -> Bins:
        """Return the same bins with the sample's rows in another order."""
        return replace(self, place=self.place[:, order], has=self.has[:, order], table=self.table[order])

    @property
    def n_numeric(self) -> int:
        """How many bins are of numbers, T_n."""
        return len(self.edges)

    @property
    def n_categories(self) -> int:
        """How many bins are categories, T_c."""
        return len(self.has)

    def among_categories(self, inputs: slice) -> slice:
        """Return where the inputs of a categorical feature stand among all categories."""
        before = int(np.count_nonzero(~self.sample.layout.onehot[: inputs.start]))
        return slice(inputs.start - before, inputs.stop - before)

    def stop(self, f: int) -> int:
        """Return where the bins of numeric input f end."""
        return int(self.first[f + 1]) if f + 1 < len(self.first) else self.n_numeric

    def places(self, X: FloatArray) -> IntArray:
        """Return the bin of each row of X on each numeric input, among all bins, (n, F_n)."""
        at = np.empty((len(X), len(self.first)), dtype=np.intp)
        for f, j in enumerate(self.sample.layout.numbers):
            edges = self.edges[self.first[f] : self.stop(f)]
            at[:, f] = self.first[f] + np.searchsorted(edges, X[:, j], side="left")
        return at

    def snapped(self, boxes: Boxes, X: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Return at which ends of bins the upper and lower bounds of boxes around X lie, (n, T_n) each.

        A bound goes to the nearest end that leaves the row inside.
        """
        at = self.places(X)
        upper, lower = (np.zeros((len(X), self.n_numeric), dtype=bool) for _ in range(2))
        for f, j in enumerate(self.sample.layout.numbers):
            first, inner = self.first[f], self.stop(f) - self.first[f] - 1
            if not inner:
                continue
            edges = self.edges[first : first + inner]
            middle, own = (edges[1:] + edges[:-1]) / 2, at[:, f] - first
            nearest = np.maximum(np.searchsorted(middle, boxes.high[:, j]), own)
            rows = np.flatnonzero(np.isfinite(boxes.high[:, j]) & (nearest < inner))
            upper[rows, first + nearest[rows]] = True
            nearest = np.minimum(np.searchsorted(middle, boxes.low[:, j]), own - 1)
            rows = np.flatnonzero(np.isfinite(boxes.low[:, j]) & (nearest >= 0))
            lower[rows, first + nearest[rows]] = True
        return upper, lower


def _edges(column: FloatArray, values: FloatArray, mean: float, scale: float) -> FloatArray:
    """Return where the bins of a numeric input end; the last end is infinite."""
    if len(values) > BINS:
        cut = np.unique(np.quantile(column, np.arange(1, BINS) / BINS, method="nearest"))
        cut = cut[cut < values[-1]]
    else:
        cut = values[:-1]
    after = values[np.searchsorted(values, cut, side="right")]
    with np.errstate(over="ignore", invalid="ignore"):
        edges = (roundest(mean + scale * cut, mean + scale * after) - mean) / scale
    edges = np.where((cut < edges) & (edges < after), edges, cut + (after - cut) / 2)
    return np.append(edges, np.inf)


def roundest(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return a number of few digits strictly between two others, or their middle.

    >>> roundest(np.array([3.0, 9.87, 0.1234]), np.array([4.0, 10.2, 0.1239]))
    array([ 3.5   , 10.    ,  0.1235])
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _roundest(low, high)


def _roundest(low: FloatArray, high: FloatArray) -> FloatArray:
    found, margin = low + (high - low) / 2, (high - low) / 100
    todo = np.isfinite(found) & (low < high)
    top = np.maximum(np.abs(low), np.abs(high))
    power = np.ceil(np.log10(np.where(top > 0, top, 1.0)))
    for digits in range(17):
        for fraction, after in ((1.0, 1), (1.0, 2), (0.5, 1), (0.5, 2)):
            step = fraction * 10.0 ** (power - digits)
            candidate = (np.floor(low / step) + after) * step
            fits = todo & (low + margin < candidate) & (candidate < high - margin)
            found, todo = np.where(fits, candidate, found), todo & ~fits
    return found
