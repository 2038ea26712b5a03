r"""The encoders in NumPy: slopes :math:`\psi = \beta W(x)` and latents :math:`z = W(x) x`.

The same network as `networks.MapNetwork`, for explaining without torch.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from illume._typing import FloatArray
from illume.data.threads import row_chunks
from illume.encoders.base import EPSILON
from illume.encoders.soft_bins import HEIGHT, SoftBins

LARGEST = 1e6  # inputs are clipped to so many standard deviations, so that float32 does not overflow
CACHED = 2**15  # entries of maps to work on at once, which fit into a core's cache
MIN_ROWS, MAX_ROWS = 32, 256  # rows to work on at once

Weights = Mapping[str, FloatArray]


class Forward:
    r"""Maps, slopes and latents of rows, from the weights of a trained `MapNetwork`.

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
        self.base = np.asarray(weights.get("base", np.zeros(shape)), dtype=np.float64)
        self.basis = np.asarray(weights["basis"], dtype=np.float64) if "basis" in weights else None

    @property
    def constant(self) -> bool:
        """Whether all rows share one map."""
        return not self.layers

    def factors(self, X: FloatArray) -> FloatArray:
        """Return A (n, k, r) of rows X (n, m), float32; the raw maps themselves if there is no basis."""
        if len(X) == 1:  # BLAS rounds products of a single row differently
            return self.factors(np.repeat(X, 2, axis=0))[:1]
        h: FloatArray = np.clip(X, -LARGEST, LARGEST).astype(np.float32)
        if len(self.bins):
            inside = self.bins.transform(h)
            inside -= np.float32(0.5)
            inside *= np.float32(HEIGHT)
            h = np.hstack([h, inside])
        for weight, bias in self.layers:
            h = h @ weight
            h += bias
            if weight is not self.layers[-1][0]:
                np.maximum(h, 0.0, out=h)
        return h.reshape(len(X), self.shape[0], h.shape[1] // self.shape[0])

    def raw_maps(self, X: FloatArray, alpha: int) -> FloatArray:
        """Return maps (n, k, m), not of unit length, with `alpha` inputs per latent."""
        if self.constant:
            return keep_largest(np.repeat(self.base[None], len(X), axis=0), alpha)
        A = self.factors(X)
        return keep_largest(A if self.basis is None else self.base + A @ self.basis, alpha)

    def unit_maps(self, X: FloatArray, alpha: int) -> FloatArray:
        """Return maps of unit length (n, k, m), float64, with `alpha` inputs per latent."""
        with np.errstate(all="ignore"):
            V = self.raw_maps(X, alpha)
            return np.divide(V, lengths(V)[:, :, None], dtype=np.float64)

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
            V = self.raw_maps(X, alpha)
            length = lengths(V)
            V = V.astype(np.float64, copy=False)
            return (coef / length[:, None, :]) @ V, (V @ at[:, :, None])[:, :, 0] / length
        # Low-rank maps are not made whole: slopes of 1,000 inputs then take 1.3 times less processor time.
        A, (base, basis) = self.factors(X).astype(np.float64), (self.base, self.basis)
        mixed = base @ basis.T
        square = np.square(base).sum(1) + (A * (A @ (basis @ basis.T) + 2 * mixed)).sum(2)
        length = np.sqrt(np.maximum(square, EPSILON**2))
        weights = coef / length[:, None, :]
        slopes = weights @ base + (weights @ A) @ basis
        Z = base @ at[:, :, None] + A @ (basis @ at[:, :, None])
        return slopes, Z[:, :, 0] / length


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
