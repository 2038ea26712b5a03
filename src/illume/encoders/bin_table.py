"""What the bins of a row add to a layer, looked up instead of multiplied.

Along one input, a weighted sum of its bins is linear between knots. So each input adds a mixture of two rows
of a table, whatever the number of its bins, and all of them together are one sparse matrix product.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array  # type: ignore[import-untyped]

from illume._typing import FloatArray, IntArray
from illume.encoders.soft_bins import SoftBins

FEW = 64  # rows that are compared with all knots at once


class BinTable:
    """The sum of weights (w, d) over soft bins, (n, m) to (n, w), in single precision.

    >>> bins = SoftBins.fit(np.array([[0.0], [1.0], [3.0]]), np.array([True]))
    >>> table = BinTable(bins, np.array([[10.0, 4.0]]))
    >>> table(np.array([[-1.0], [0.5], [2.0], [9.0]], dtype=np.float32))
    array([[ 0.],
           [ 5.],
           [12.],
           [14.]], dtype=float32)
    """

    def __init__(self, bins: SoftBins, weight: FloatArray) -> None:
        self.columns, first, count = np.unique(bins.column, return_index=True, return_counts=True)
        p, most = len(count), int(count.max(initial=1))
        within = np.arange(len(bins)) - np.repeat(first, count)
        # between an input's first knot and its last, one row for every input
        self.inner = np.full((p, most - 1), np.inf, dtype=np.float32)
        inner = within > 0
        self.inner[np.repeat(np.arange(p), count)[inner], within[inner] - 1] = bins.low[inner]
        self.low, self.steepness = bins.low, bins.steepness
        self.first = first[:, None]
        self.start = (first + np.arange(p))[:, None]  # in the table, an input has one row more than bins
        self.table = np.zeros((len(bins) + p, len(weight)), dtype=np.float32)
        for a, start, n in zip(first, self.start[:, 0], count, strict=True):
            self.table[start + 1 : start + n + 1] = np.cumsum(
                weight[:, a : a + n], axis=1, dtype=np.float64
            ).T

    def __len__(self) -> int:
        return len(self.low)

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the sums of rows X (n, m), float32."""
        x = np.ascontiguousarray(X.T[self.columns] if len(self.columns) < X.shape[1] else X.T)
        place = self._places(x)
        bins = place + self.first
        deep = x
        deep -= self.low.take(bins)
        deep *= self.steepness.take(bins)
        np.clip(deep, 0.0, 1.0, out=deep)
        place += self.start
        index = np.empty((len(X), len(x), 2), dtype=np.int32)
        share = np.empty(index.shape, dtype=np.float32)
        index[:, :, 0] = place.T
        np.add(index[:, :, 0], 1, out=index[:, :, 1])
        share[:, :, 1] = deep.T
        np.subtract(1.0, share[:, :, 1], out=share[:, :, 0])
        ends = np.arange(len(X) + 1, dtype=np.int32) * (2 * len(x))
        mixtures = csr_array((share.ravel(), index.ravel(), ends), shape=(len(X), len(self.table)))
        found: FloatArray = mixtures @ self.table
        return found

    def _places(self, x: FloatArray) -> IntArray:
        """Return in which of its bins each number is, (p, n)."""
        if x.shape[1] <= FEW:
            return np.count_nonzero(x[:, None, :] >= self.inner[:, :, None], axis=1)
        found, above = np.zeros(x.shape, dtype=np.uint8), np.empty(x.shape, dtype=np.bool_)
        for knots in self.inner.T:
            np.greater_equal(x, knots[:, None], out=above)
            np.add(found, above.view(np.uint8), out=found)
        return found.astype(np.intp)
