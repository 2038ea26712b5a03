"""Soft bins: a number as piecewise linear steps between its quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray

N_BINS = 32
MAX_TOTAL = 1024  # bins of all inputs together; wide data get fewer per input
MIN_EACH, MAX_EACH = 4, 255  # bins of one input; fewer are not worth having
HEIGHT = 0.25  # networks see bins centred, from -HEIGHT / 2 to HEIGHT / 2
MIN_WIDTH = 1e-6  # of a bin


@dataclass(frozen=True, eq=False)
class SoftBins:
    """Piecewise linear encoding of numeric inputs.

    Each bin of an input is 0 below its lower knot, 1 above its upper knot and linear in between, so that
    weighted sums of an input's bins are the functions that are linear between knots. Bins of one input are
    adjacent and in ascending order; `steepness` is 1 / (upper knot - lower knot). All arrays are (d,).
    """

    column: IntArray
    low: FloatArray
    steepness: FloatArray

    @classmethod
    def fit(
        cls, X: FloatArray, numeric: BoolArray, n_bins: int = N_BINS, *, narrowest: float = 0.0
    ) -> SoftBins:
        """Take quantiles of the numeric inputs of X (n, m) as knots, or all values where there are few.

        Knots are more than `narrowest` standard deviations apart.

        >>> bins = SoftBins.fit(np.array([[0.0], [1.0], [3.0]]), np.array([True]))
        >>> bins.low, 1 / bins.steepness
        (array([0., 1.], dtype=float32), array([1., 2.], dtype=float32))
        """
        columns = np.flatnonzero(numeric)
        if not (n_bins and len(columns)):
            return cls.none()
        knots = [_knots(X[:, j].astype(np.float32), n_bins, narrowest) for j in columns]
        low = np.concatenate([each[:-1] for each in knots])
        widths = np.concatenate([each[1:] for each in knots]) - low
        column = np.repeat(columns, [len(each) - 1 for each in knots]).astype(np.intp)
        return cls(column, low, (1.0 / widths).astype(np.float32))

    @classmethod
    def none(cls) -> SoftBins:
        """Return no bins."""
        empty = np.empty(0, dtype=np.float32)
        return cls(np.empty(0, dtype=np.intp), empty, empty)

    def __len__(self) -> int:
        return len(self.column)

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the bins of rows X (n, m), (n, d), between 0 and 1.

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


def resolve_n_bins(n_bins: Any, n_numeric: int) -> int:
    """Return the number of bins for each of the numeric inputs; 0 if there are too many inputs.

    >>> resolve_n_bins(32, 30), resolve_n_bins(32, 100), resolve_n_bins(32, 300), resolve_n_bins(0, 30)
    (32, 10, 0, 0)
    """
    if isinstance(n_bins, bool) or not (isinstance(n_bins, Integral) and 0 <= int(n_bins) <= MAX_EACH):
        raise ValueError(f"n_bins must be an integer from 0 to {MAX_EACH}, found {n_bins!r}")
    room = MAX_TOTAL // max(n_numeric, 1)
    return min(int(n_bins), room) if room >= MIN_EACH else 0


def _knots(values: FloatArray, n_bins: int, narrowest: float) -> FloatArray:
    """Return 2 to n_bins + 1 ascending knots, float32."""
    distinct = np.unique(values)
    if len(distinct) > n_bins + 1:
        distinct = np.unique(np.quantile(values, np.linspace(0.0, 1.0, n_bins + 1), method="nearest"))
    spread = float(np.std(values, dtype=np.float64)) if len(values) else 0.0
    least = max(narrowest * spread, MIN_WIDTH)
    knots: list[np.float32] = []
    for value in distinct:
        if not knots or value - knots[-1] > least:
            knots.append(value)
    if len(knots) < 2:
        first = knots[0] if knots else np.float32(0.0)
        knots = [first, first + np.float32(1.0)]
    return np.array(knots, dtype=np.float32)
