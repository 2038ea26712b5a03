"""Soft bins: a number as piecewise linear steps between its quantiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray

N_BINS = 32


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
    def fit(cls, X: FloatArray, numeric: BoolArray, n_bins: int = N_BINS) -> SoftBins:
        """Take quantiles of the numeric inputs of X (n, m) as knots; few distinct values are all knots.

        >>> bins = SoftBins.fit(np.array([[0.0], [1.0], [3.0]]), np.array([True]))
        >>> bins.low, 1 / bins.steepness
        (array([0., 1.], dtype=float32), array([1., 2.], dtype=float32))
        """
        columns, low, high = [], [], []
        for j in np.flatnonzero(numeric):
            knots = _knots(X[:, j].astype(np.float32), n_bins)
            columns.append(np.full(len(knots) - 1, j, dtype=np.intp))
            low.append(knots[:-1])
            high.append(knots[1:])
        none = np.empty(0, dtype=np.float32)
        lows, highs = np.concatenate([none, *low]), np.concatenate([none, *high])
        column = np.concatenate([np.empty(0, dtype=np.intp), *columns])
        return cls(column, lows, (1.0 / (highs - lows)).astype(np.float32))

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


def _knots(values: FloatArray, n_bins: int) -> FloatArray:
    """Return ascending knots in single precision, at least two and at most one more than bins."""
    distinct = np.unique(values)
    if len(distinct) > n_bins + 1:
        distinct = np.unique(np.quantile(values, np.linspace(0.0, 1.0, n_bins + 1), method="nearest"))
    if len(distinct) < 2:
        distinct = np.array(
            [distinct[0], distinct[0] + 1.0] if len(distinct) else [0.0, 1.0], dtype=np.float32
        )
    return distinct.astype(np.float32)
