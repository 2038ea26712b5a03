r"""The encoders in NumPy: slopes :math:`\psi = \beta W(x)` and latents :math:`z = W(x) x`.

The same network as `networks.MapNetwork`, for explaining without torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.require import require_int
from illume.data.threads import row_chunks
from illume.encoders.base import EPSILON

LARGEST = 1e6  # inputs are clipped to so many standard deviations, so that float32 does not overflow
CACHED = 2**15  # entries of maps to work on at once, which fit into a core's cache
MIN_ROWS, MAX_ROWS = 32, 256  # rows to work on at once
N_BINS = 32
MAX_TOTAL = 1024  # bins of all inputs together; wide data get fewer per input
MIN_EACH, MAX_EACH = 4, 255  # bins of one input; fewer are not worth having
HEIGHT = 0.25  # networks see bins centred, from -HEIGHT / 2 to HEIGHT / 2
MIN_WIDTH = 1e-6  # of a bin

Weights = Mapping[str, FloatArray]


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
    require_int("n_bins", n_bins, 0, MAX_EACH)
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


class Forward:
    r"""Maps, slopes and latents of rows, from the weights of a trained `MapNetwork`.

    With levels l(x) (k,), latents are :math:`W(x) x + l(x)`.

    Raw maps are A(x), or :math:`V_0 + A(x) B` by their factors. The network runs in float32; what follows is
    float64, because contributions of rows far out may cancel.

    >>> weights = {"base": np.array([[3.0, 4.0]], dtype=np.float32)}  # one map for all rows
    >>> slopes, Z = Forward(weights, (1, 2)).pull_back(np.array([[1.0, 1.0]]), np.array([[10.0]]), None, 2)
    >>> slopes, Z
    (array([[[6., 8.]]]), array([[1.4]]))
    """

    def __init__(self, weights: Weights, shape: tuple[int, int], bins: SoftBins | None = None) -> None:
        self.shape, self.bins = shape, bins or SoftBins.none()
        self.layers = tuple(
            (np.ascontiguousarray(weights[f"layers.{i}.weight"].T), weights[f"layers.{i}.bias"])
            for i in (0, 2, 4)
            if f"layers.{i}.weight" in weights
        )
        self.level: tuple[FloatArray, FloatArray] | None = None
        if "level.weight" in weights:
            self.level = np.ascontiguousarray(weights["level.weight"].T), weights["level.bias"]
        self.base = np.asarray(weights.get("base", np.zeros(shape)), dtype=np.float64)
        self.basis = np.asarray(weights["basis"], dtype=np.float64) if "basis" in weights else None

    @property
    def constant(self) -> bool:
        """Whether all rows share one map."""
        return not self.layers

    def factors(self, X: FloatArray) -> FloatArray:
        """Return A (n, k, r) of rows X (n, m), float32; the raw maps themselves if there is no basis."""
        return self._run(X)[0]

    def levels(self, X: FloatArray) -> FloatArray:
        """Return what is added to the latents of each row (n, k)."""
        if self.level is None:
            return np.zeros((len(X), self.shape[0]))
        return self._run(X)[1]

    def _run(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return A (n, k, r), float32, and levels (n, k)."""
        if len(X) == 1:  # BLAS rounds products of a single row differently
            A, level = self._run(np.repeat(X, 2, axis=0))
            return A[:1], level[:1]
        h: FloatArray = np.clip(X, -LARGEST, LARGEST).astype(np.float32)
        if len(self.bins):
            inside = self.bins.transform(h)
            inside -= np.float32(0.5)
            inside *= np.float32(HEIGHT)
            h = np.hstack([h, inside])
        *hidden, (last, last_bias) = self.layers
        for weight, bias in hidden:
            h = h @ weight
            h += bias
            np.maximum(h, 0.0, out=h)
        level = np.zeros((len(X), self.shape[0])) if self.level is None else h @ self.level[0] + self.level[1]
        h = h @ last
        h += last_bias
        return h.reshape(len(X), self.shape[0], h.shape[1] // self.shape[0]), level.astype(np.float64)

    def raw_maps(self, X: FloatArray, alpha: int) -> FloatArray:
        """Return maps (n, k, m), not of unit length, with `alpha` inputs per latent."""
        return self._whole(self.factors(X), alpha)

    def _whole(self, A: FloatArray, alpha: int) -> FloatArray:
        return keep_largest(A if self.basis is None else self.base + A @ self.basis, alpha)

    def unit_maps(self, X: FloatArray, alpha: int) -> FloatArray:
        """Return maps of unit length (n, k, m), float64, with `alpha` inputs per latent.

        A map that all rows share is seen n times, not copied.
        """
        with np.errstate(all="ignore"):
            V = keep_largest(self.base[None], alpha) if self.constant else self.raw_maps(X, alpha)
            W = np.divide(V, lengths(V)[:, :, None], dtype=np.float64)
        return np.broadcast_to(W, (len(X), *self.shape))

    def pull_back(
        self, X: FloatArray, coef: FloatArray, at: FloatArray | None, alpha: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return slopes (n, c, m) of weights (c, k), and the latents (n, k) of rows `at`, or X."""
        at = X if at is None else at
        k, m = self.shape
        if self.constant:
            W = self.unit_maps(np.zeros((1, m)), alpha)[0]
            return np.broadcast_to(coef @ W, (len(X), len(coef), m)), at @ W.T
        slopes, Z = np.empty((len(X), len(coef), m)), np.empty((len(X), k))
        size = min(max(CACHED // (k * m), MIN_ROWS), MAX_ROWS)
        for rows in row_chunks(len(X), size):
            with np.errstate(all="ignore"):
                slopes[rows], Z[rows] = self._pull_back(X[rows], coef, at[rows], alpha)
        return slopes, Z

    def _pull_back(
        self, X: FloatArray, coef: FloatArray, at: FloatArray, alpha: int
    ) -> tuple[FloatArray, FloatArray]:
        if self.basis is None or alpha < self.shape[1]:
            A, level = self._run(X)
            V = self._whole(A, alpha)
            length = lengths(V)
            V = V.astype(np.float64, copy=False)
            return (coef / length[:, None, :]) @ V, (V @ at[:, :, None])[:, :, 0] / length + level
        # Low-rank maps are not made whole: slopes of 1,000 inputs then take 1.3 times less processor time.
        A, level = self._run(X)
        A, (base, basis) = A.astype(np.float64), (self.base, self.basis)
        mixed = base @ basis.T
        square = np.square(base).sum(1) + (A * (A @ (basis @ basis.T) + 2 * mixed)).sum(2)
        length = np.sqrt(np.maximum(square, EPSILON**2))
        weights = coef / length[:, None, :]
        slopes = weights @ base + (weights @ A) @ basis
        Z = base @ at[:, :, None] + A @ (basis @ at[:, :, None])
        return slopes, Z[:, :, 0] / length + level


def keep_largest(V: FloatArray, alpha: int) -> FloatArray:
    """Set all but the `alpha` largest absolute weights of each direction to 0; of equal ones, the first stay.

    >>> keep_largest(np.array([[[3.0, -4.0, 1.0, 3.0]]]), 2)
    array([[[ 3., -4.,  0.,  0.]]])
    """
    if alpha >= V.shape[-1]:
        return V
    order = np.argsort(-np.abs(V), axis=-1, kind="stable")[..., :alpha]
    kept = np.zeros_like(V)
    np.put_along_axis(kept, order, np.take_along_axis(V, order, axis=-1), axis=-1)
    return kept


def lengths(V: FloatArray) -> FloatArray:
    """Return the lengths (n, k) of raw maps, float64, at least `EPSILON`.

    Not a matrix product, which rounds differently for different numbers of rows.

    >>> lengths(np.array([[[3.0, 4.0], [0.0, 0.0]]], dtype=np.float32))
    array([[5.e+00, 1.e-08]])
    """
    return np.maximum(np.sqrt(np.einsum("nkm,nkm->nk", V, V)), EPSILON, dtype=np.float64)
