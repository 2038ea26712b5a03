"""A sample cut into bins, so that all thresholds of all features are tried by one matrix product."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.explanations.boxes import Boxes
from illume.explanations.sample import Sample

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
