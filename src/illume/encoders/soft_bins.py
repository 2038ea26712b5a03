"""Soft bins: a number as piecewise linear steps between its quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray

N_BINS = 32
MOST_BINS = 1024  # of all inputs together: wide data have fewer bins for each
FEWEST_EACH, MOST_EACH = 4, 255  # of one input; fewer do not pay
HEIGHT = 0.25  # of bins that a network is trained on: from minus half of it to half of it
LEAST = 1e-6  # no bin is narrower


@dataclass(frozen=True, eq=False)
class SoftBins:
    """Piecewise linear encoding of numeric inputs.

    Each bin of an input is 0 below its lower knot, 1 above its upper knot and linear in between, so that a
    weighted sum of an input's bins is any function that is linear between knots.

    Parameters
    ----------
    column
        Which input each bin belongs to, (d,); bins of one input stand side by side, in ascending order.
    low
        The lower knots, (d,).
    steepness
        One divided by the distance between lower and upper knot, (d,).
    """

    column: IntArray
    low: FloatArray
    steepness: FloatArray

    @classmethod
    def fit(
        cls, X: FloatArray, numeric: BoolArray, n_bins: int = N_BINS, *, narrowest: float = 0.0
    ) -> SoftBins:
        """Take quantiles of the numeric inputs of X (n, m) as knots; few distinct values are all knots.

        Knots are `narrowest` standard deviations apart, or more.

        >>> bins = SoftBins.fit(np.array([[0.0], [1.0], [3.0]]), np.array([True]))
        >>> bins.low, 1 / bins.steepness
        (array([0., 1.], dtype=float32), array([1., 2.], dtype=float32))
        """
        columns, low, high = [], [], []
        if not n_bins:
            return cls.none()
        for j in np.flatnonzero(numeric):
            knots = _knots(X[:, j].astype(np.float32), n_bins, narrowest)
            columns.append(np.full(len(knots) - 1, j, dtype=np.intp))
            low.append(knots[:-1])
            high.append(knots[1:])
        none = np.empty(0, dtype=np.float32)
        lows, highs = np.concatenate([none, *low]), np.concatenate([none, *high])
        column = np.concatenate([np.empty(0, dtype=np.intp), *columns])
        return cls(column, lows, (1.0 / (highs - lows)).astype(np.float32))

    @classmethod
    def none(cls) -> SoftBins:
        """Return no bins at all."""
        nothing = np.empty(0, dtype=np.float32)
        return cls(np.empty(0, dtype=np.intp), nothing, nothing)

    def __len__(self) -> int:
        return len(self.column)

    def transform(self, X: FloatArray) -> FloatArray:
        """Return how far into each bin the rows X (n, m) are, (n, d), between 0 and 1.

        >>> bins = SoftBins.fit(np.array([[0.0], [1.0], [3.0]]), np.array([True]))
        >>> bins.transform(np.array([[-1.0], [0.5], [2.0], [9.0]]))
        array([[0. , 0. ],
               [0.5, 0. ],
               [1. , 0.5],
               [1. , 1. ]], dtype=float32)
        """
        inside = X.astype(np.float32, copy=False)[:, self.column]
        inside -= self.low
        inside *= self.steepness
        return np.clip(inside, 0.0, 1.0, out=inside)


def levelled(weight: FloatArray, bias: FloatArray, n_bins: int) -> tuple[FloatArray, FloatArray]:
    """Return a first layer, trained on bins of some `HEIGHT`, for bins from 0 to 1.

    >>> weight, bias = levelled(np.array([[3.0, 8.0]]), np.array([5.0]), 1)
    >>> weight, bias
    (array([[3., 2.]]), array([4.]))
    """
    weight = weight.copy()
    weight[:, weight.shape[1] - n_bins :] *= HEIGHT
    return weight, bias - weight[:, weight.shape[1] - n_bins :].sum(1) / 2


def resolved_bins(n_bins: Any, n_numeric: int) -> int:
    """Return how many bins each of so many numeric inputs may have; none where there is room for few only.

    >>> resolved_bins(32, 30), resolved_bins(32, 100), resolved_bins(32, 300), resolved_bins(0, 30)
    (32, 10, 0, 0)
    """
    if isinstance(n_bins, bool) or not (isinstance(n_bins, Integral) and 0 <= int(n_bins) <= MOST_EACH):
        raise ValueError(f"n_bins must be an integer from 0 to {MOST_EACH}, found {n_bins!r}")
    room = MOST_BINS // max(n_numeric, 1)
    return min(int(n_bins), room) if room >= FEWEST_EACH else 0


def _knots(values: FloatArray, n_bins: int, narrowest: float) -> FloatArray:
    """Return ascending knots in single precision, at least two and at most one more than bins."""
    distinct = np.unique(values)
    if len(distinct) > n_bins + 1:
        distinct = np.unique(np.quantile(values, np.linspace(0.0, 1.0, n_bins + 1), method="nearest"))
    spread = float(np.std(values, dtype=np.float64)) if len(values) else 0.0
    least = max(narrowest * spread, LEAST)
    knots: list[np.float32] = []
    for value in distinct:
        if not knots or value - knots[-1] > least:
            knots.append(value)
    if len(knots) < 2:
        first = knots[0] if knots else np.float32(0.0)
        knots = [first, first + np.float32(1.0)]
    return np.array(knots, dtype=np.float32)
