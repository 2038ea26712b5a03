r"""Maps of low rank for wide data: :math:`V(x) = V_0 + A(x) B`, and their forward pass in NumPy.

A network whose answer is a whole map has some :math:`m^2 k` weights. Here it answers with the small matrix
A (k, r); V0 (k, m) and the basis B (r, m) are the same for all rows, so weights and time grow as m.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from illume._typing import FloatArray
from illume.encoders.base import EPSILON
from illume.encoders.bin_table import BinTable
from illume.encoders.forward import LARGEST, keep_largest
from illume.encoders.soft_bins import SoftBins, levelled

WIDE = 500
"""From so many inputs on, `rank="auto"` takes maps of low rank."""

RANK = 32
WIDTH = 256
"""How wide the hidden layers of a low-rank network are, whatever the number of inputs."""

Float32Array = npt.NDArray[np.float32]
Shape = tuple[int, ...]


def resolved_rank(rank: Any, n_inputs: int) -> int | None:
    """Return the rank of the maps' varying part; None is a whole map for every row.

    >>> resolved_rank("auto", 30), resolved_rank("auto", 500), resolved_rank(8, 5), resolved_rank(None, 999)
    (None, 32, 5, None)
    """
    if isinstance(rank, str) and rank == "auto":
        return RANK if n_inputs >= WIDE else None
    if rank is None:
        return None
    if isinstance(rank, bool) or not (isinstance(rank, Integral) and int(rank) > 0):
        raise ValueError(f"rank must be 'auto', None (whole maps) or a positive integer, found {rank!r}")
    return min(int(rank), n_inputs)


def low_rank_shapes(
    n_inputs: int, n_latents: int, width: int, rank: int, n_bins: int = 0
) -> dict[str, Shape]:
    """Return the names and shapes of all weights; `n_bins` is the number of all bins.

    >>> low_rank_shapes(9, 2, 4, 3)["layers.4.weight"], low_rank_shapes(9, 2, 4, 3)["basis"]
    ((6, 4), (3, 9))
    """
    sizes = {0: (width, n_inputs + n_bins), 2: (width, width), 4: (n_latents * rank, width)}
    shapes: dict[str, Shape] = {"base": (n_latents, n_inputs), "basis": (rank, n_inputs)}
    for i, shape in sizes.items():
        shapes |= {f"layers.{i}.weight": shape, f"layers.{i}.bias": shape[:1]}
    return shapes


@dataclass(frozen=True, eq=False)
class LowRankForward:
    r"""The forward pass of a trained low-rank network, without torch and without whole maps.

    `of` turns the weights such that the basis Q is orthonormal and V0 orthogonal to it. A direction's length
    is then :math:`\sqrt{|V_{0r}|^2 + |A_r|^2}`, a sum of squares, in which nothing cancels.

    Parameters
    ----------
    layers
        Transposed weights and biases of the three linear layers, in float32; the last gives A, flat.
    span
        V0 above Q, (k + r, m).
    square
        :math:`|V_{0r}|^2`, (k,).
    table
        What the bins add to the first layer.
    """

    layers: tuple[tuple[Float32Array, Float32Array], ...]
    span: FloatArray
    square: FloatArray
    table: BinTable

    @classmethod
    def of(cls, weights: Mapping[str, FloatArray], bins: SoftBins | None = None) -> LowRankForward:
        """Make the weights of a `LowRankNetwork`, by name, ready."""
        bins = bins or SoftBins.none()
        base, basis = (weights[name].astype(np.float64) for name in ("base", "basis"))
        Q, triangle = np.linalg.qr(basis.T)
        Q, turn = Q.T, triangle.T  # the basis is turn @ Q
        within = base @ Q.T
        outside = base - within @ Q
        k, r = within.shape
        last = weights["layers.4.weight"].astype(np.float64).reshape(k, r, -1)
        weight = np.einsum("rs,krw->ksw", turn, last).reshape(k * r, -1)
        bias = weights["layers.4.bias"].astype(np.float64).reshape(k, r) @ turn + within
        layers = [(weights[f"layers.{i}.weight"], weights[f"layers.{i}.bias"]) for i in (0, 2)]
        first, offset = levelled(*layers[0], len(bins))
        layers[0] = (first[:, : base.shape[1]], offset)
        layers.append((weight, bias.ravel()))
        ready = tuple((np.ascontiguousarray(W.T, np.float32), b.astype(np.float32)) for W, b in layers)
        square = np.square(outside).sum(1)
        table = BinTable(bins, first[:, base.shape[1] :])
        return cls(ready, np.concatenate([outside, Q]), square, table)

    @property
    def shape(self) -> tuple[int, int]:
        """How many latents and inputs there are, (k, m)."""
        return len(self.square), self.span.shape[1]

    def maps(self, X: Float32Array) -> Float32Array:
        """Return raw maps (n, k, m), neither scaled nor sparse."""
        k, r = len(self.square), len(self.span) - len(self.square)
        A = self._factors(X).reshape(-1, r)
        small = self.span.astype(np.float32)
        return (A @ small[k:]).reshape(len(X), *self.shape) + small[:k]

    def unit_maps(self, X: FloatArray, alpha: int) -> FloatArray:
        """Return maps of unit length (n, k, m), float64, with `alpha` inputs per latent."""
        V, length = self.directions(X, alpha)
        return V / length[:, :, None]

    def directions(self, X: FloatArray, alpha: int) -> tuple[FloatArray, FloatArray]:
        """Return whole maps (n, k, m) with `alpha` inputs per latent, and their lengths (n, k)."""
        A, length = self._known(X)
        k = len(self.square)
        V = (A.reshape(-1, A.shape[2]) @ self.span[k:]).reshape(len(X), *self.shape) + self.span[:k]
        if alpha >= self.shape[1]:
            return V, length
        kept = keep_largest(V, alpha)
        return kept, np.maximum(np.sqrt(np.square(kept).sum(2)), EPSILON)

    def pull_back(
        self, X: FloatArray, coef: FloatArray, at: FloatArray | None, alpha: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return slopes (n, c, m) of weights (c, k), and the latents (n, k) of `at`, or of X itself.

        Whole maps are made only where they are sparse.
        """
        there = X if at is None else at
        if alpha < self.shape[1]:
            V, length = self.directions(X, alpha)
            return (coef / length[:, None, :]) @ V, (V @ there[:, :, None])[:, :, 0] / length
        A, length = self._known(X)
        k = len(self.square)
        weights = coef / length[:, None, :]
        mixed = np.concatenate([weights, weights @ A], axis=2)
        slopes = (mixed.reshape(-1, len(self.span)) @ self.span).reshape(len(X), len(coef), self.shape[1])
        seen = there @ self.span.T
        Z = seen[:, :k] + (A @ seen[:, k:, None])[:, :, 0]
        return slopes, Z / length

    def _known(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return A (n, k, r) and the lengths of all directions (n, k), in double precision."""
        small = np.clip(X, -LARGEST, LARGEST).astype(np.float32)
        A = self._factors(small).astype(np.float64)
        length = np.sqrt(self.square + np.square(A).sum(2))
        return A, np.maximum(length, EPSILON)

    def _factors(self, X: Float32Array) -> Float32Array:
        hidden = X
        for weight, bias in self.layers[:-1]:
            seen, hidden = hidden, hidden @ weight
            hidden += bias
            if seen is X and len(self.table):
                hidden += self.table(X)
            np.maximum(hidden, 0.0, out=hidden)
        weight, bias = self.layers[-1]
        A = hidden @ weight
        A += bias
        k = len(self.square)
        return A.reshape(len(X), k, len(self.span) - k)
