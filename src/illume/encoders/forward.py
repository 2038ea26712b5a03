"""The forward pass of a trained encoder in plain NumPy: rows in, slopes and latents out."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from illume._typing import FloatArray
from illume.data.threads import row_chunks
from illume.encoders.base import EPSILON
from illume.encoders.bin_table import BinTable
from illume.encoders.soft_bins import SoftBins, levelled

LARGEST = 1e6  # standard deviations that a network is shown at most, so that float32 never overflows
BUFFER = 2**18  # entries of raw maps at once: so many stay in the cache of a core
FEWEST, MOST = 256, 1024  # rows at once
SMALL = 2**17  # weights; a small network works on a row alone beside a row of zeros, for products of one
# row are rounded otherwise than those of many. With many weights that would take three times as long.

Weights = Mapping[str, FloatArray]


class Forward(Protocol):
    """A trained network at explain time: weights in plain arrays, nothing that is changed by a call."""

    @property
    def shape(self) -> tuple[int, int]:
        """Latents and inputs, (k, m)."""

    def maps(self, X: FloatArray) -> FloatArray:
        """Return the raw maps V (n, k, m), float32, of rows X (n, m)."""

    def unit_maps(self, X: FloatArray, alpha: int) -> FloatArray:
        """Return maps of unit length (n, k, m), float64, with `alpha` inputs per latent."""

    def pull_back(
        self, X: FloatArray, coef: FloatArray, at: FloatArray | None, alpha: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return slopes (n, c, m) of weights (c, k), and the latents (n, k) of rows `at` or X."""


@dataclass(frozen=True, eq=False)
class Maps:
    """Some rows with their slopes (n, c, m) and maps; latents are read off the maps when they are wanted.

    `maps` (n, k, m) are not scaled; `length` (n, k) is what they are to be divided by.
    """

    rows: slice
    slopes: FloatArray
    maps: FloatArray
    length: FloatArray

    def latents(self, at: FloatArray, some: Any = slice(None)) -> FloatArray:
        """Return the latents of `some` of the rows, which are `at` (n, m)."""
        with np.errstate(all="ignore"):
            Z: FloatArray = np.matmul(self.maps[some], at[some][:, :, None])[:, :, 0]
            Z /= self.length[some]
        return Z


class Room(threading.local):
    """Buffers that a thread keeps from call to call: memory that was just handed out is slow at first.

    Copies, in this process or another, begin with none.
    """

    buffers: tuple[FloatArray, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return Room, ()


class InPieces(ABC):
    """Works through rows a few at a time in buffers that every thread has of its own.

    The network works in float32. What is summed after it is float64: rows may lie a billion standard
    deviations out, where contributions cancel that float32 could not tell apart.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape, self.room = shape, Room()

    @property
    def rows_at_once(self) -> int:
        """How many rows are worked on at once."""
        return min(max(BUFFER // (self.shape[0] * self.shape[1]), FEWEST), MOST)

    @abstractmethod
    def _buffers(self, n_rows: int) -> tuple[FloatArray, ...]:
        """Return room for the network's work on so many rows."""

    @abstractmethod
    def _raw(self, X: FloatArray, buffers: Sequence[FloatArray]) -> FloatArray:
        """Return raw maps (n, k, m), which may lie in a buffer."""

    def _kept(self, n_rows: int, n_outputs: int) -> tuple[FloatArray, ...]:
        """Return this thread's room for so many rows: for slopes, maps in double precision, the network."""
        kept = self.room.buffers
        if not kept or len(kept[1]) < n_rows:
            kept = (np.empty((0, 0)), np.empty((n_rows, *self.shape)), *self._buffers(n_rows))
        if kept[0].shape[:2] != (len(kept[1]), n_outputs):
            kept = (np.empty((len(kept[1]), n_outputs, self.shape[1])), *kept[1:])
        self.room.buffers = kept
        return kept

    def maps(self, X: FloatArray) -> FloatArray:
        """Return the raw maps V (n, k, m), float32, of rows X (n, m)."""
        V = np.empty((len(X), *self.shape), dtype=np.float32)
        size = self.rows_at_once
        _, _, *buffers = self._kept(min(len(X), size), 0)
        with np.errstate(all="ignore"):
            for rows in row_chunks(len(X), size):
                V[rows] = self._raw(X[rows], buffers)
        return V

    def unit_maps(self, X: FloatArray, alpha: int) -> FloatArray:
        """Return maps of unit length (n, k, m), float64, with `alpha` inputs per latent."""
        with np.errstate(all="ignore"):
            return scaled(keep_largest(self.maps(X), alpha))

    def pieces(self, X: FloatArray, coef: FloatArray, alpha: int) -> Iterator[Maps]:
        """Yield slopes of weights (c, k), a few rows at a time, in room that the next few will have, too.

        The maps are never scaled to unit length; the weights are divided by the lengths instead.
        """
        size = self.rows_at_once
        slopes, double, *buffers = self._kept(min(len(X), size), len(coef))
        for rows in row_chunks(len(X), size):
            with np.errstate(all="ignore"):
                V = keep_largest(self._raw(X[rows], buffers), alpha)
                wide, mine = double[: len(V)], slopes[: len(V)]
                np.copyto(wide, V)
                length = lengths(V)
                if len(coef):
                    np.matmul(coef / length[:, None, :], wide, out=mine)
            yield Maps(rows, mine, wide, length)

    def pull_back(
        self, X: FloatArray, coef: FloatArray, at: FloatArray | None, alpha: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return slopes (n, c, m) of weights (c, k), and the latents (n, k) of rows `at` or X."""
        at = X if at is None else at
        slopes, Z = np.empty((len(X), len(coef), X.shape[1])), np.empty((len(X), self.shape[0]))
        for piece in self.pieces(X, coef, alpha):
            slopes[piece.rows], Z[piece.rows] = piece.slopes, piece.latents(at[piece.rows])
        return slopes, Z


class DenseForward(InPieces):
    """Linear layers with ReLU between them, (n, m) to raw maps (n, k, m); biases are folded into the layers.

    A column of ones is carried through all layers; ReLU leaves it as it is, and its weights are the biases.
    What the first layer gets from bins is looked up, so that it hardly matters how many there are.

    >>> weights = {"layers.0.weight": np.array([[-1.0, 0.0], [0.0, 1.0]]), "layers.0.bias": np.ones(2)}
    >>> weights |= {"layers.2.weight": np.eye(2), "layers.2.bias": np.array([0.0, 5.0])}
    >>> DenseForward(weights, (1, 2)).maps(np.array([[3.0, 4.0]]))  # (0, 5), then (0, 5 + 5)
    array([[[ 0., 10.]]], dtype=float32)
    """

    def __init__(self, weights: Weights, shape: tuple[int, int], bins: SoftBins | None = None) -> None:
        super().__init__(shape)
        self.bins = bins or SoftBins.none()
        names = sorted((name for name in weights if name.endswith(".weight")), key=_position)
        layers = [(weights[name], weights[f"{name.removesuffix('weight')}bias"]) for name in names]
        m, (weight, bias) = shape[1], levelled(*layers[0], len(self.bins))
        layers[0] = (weight[:, :m], bias)
        self.of_bins = weight[:, m:]
        carried = len(layers) > 1
        self.table = BinTable(self.bins, np.pad(self.of_bins, ((0, carried), (0, 0))))
        self.layers = tuple(_folded(*layer, last=layer is layers[-1]) for layer in layers)
        self.least_rows = 2 if sum(layer.size for layer in self.layers) <= SMALL else 1

    @property
    def unfolded(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """The layers as weights (out, in) and biases (out,)."""
        ends = [slice(None if layer is self.layers[-1] else -1) for layer in self.layers]
        (weight, bias), *others = (
            (layer[:-1, end].T, layer[-1, end]) for layer, end in zip(self.layers, ends, strict=True)
        )
        return (np.hstack([weight, self.of_bins]), bias), *others

    def _buffers(self, n_rows: int) -> tuple[FloatArray, ...]:
        widths = [self.shape[1] + 1, *(layer.shape[1] for layer in self.layers)]
        shape = max(n_rows, self.least_rows)
        buffers = tuple(np.empty((shape, width), dtype=np.float32) for width in widths)
        buffers[0][:, -1] = 1.0
        # The larger of two arrays is found five times as fast as that of an array and a number.
        return *buffers, np.zeros((shape, max(widths[1:-1], default=0)), dtype=np.float32)

    def _raw(self, X: FloatArray, buffers: Sequence[FloatArray]) -> FloatArray:
        n = max(len(X), self.least_rows)
        h = buffers[0][:n]
        h[len(X) :, :-1] = 0.0
        np.copyto(h[: len(X), :-1], X, casting="same_kind")
        np.clip(h, -LARGEST, LARGEST, out=h)
        *room, zeros = buffers[1:]
        for layer, buffer in zip(self.layers, room, strict=True):
            out = buffer[:n]
            np.matmul(h, layer, out=out)
            if layer is self.layers[0] and len(self.table):
                out += self.table(h[:, :-1])
            h = out
            if layer is not self.layers[-1]:
                np.maximum(h, zeros[:n, : h.shape[1]], out=h)
        return h[: len(X)].reshape(len(X), *self.shape)


class ConstantForward:
    """One map for all rows: slopes are the same for all, and latents one matrix product."""

    def __init__(self, weights: Weights) -> None:
        self.map = np.asarray(weights["map"], dtype=np.float32)
        k, m = self.map.shape
        self.shape = (k, m)

    def maps(self, X: FloatArray) -> FloatArray:
        """Return the one raw map, once per row (a view, not n matrices)."""
        return np.broadcast_to(self.map, (len(X), *self.shape))

    def unit_maps(self, X: FloatArray, alpha: int) -> FloatArray:
        """Return the one map of unit length, once per row (a view, not n matrices)."""
        return np.broadcast_to(self._unit(alpha), (len(X), *self.shape))

    def pull_back(
        self, X: FloatArray, coef: FloatArray, at: FloatArray | None, alpha: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return slopes (n, c, m), a view, and the latents (n, k)."""
        with np.errstate(all="ignore"):
            W = self._unit(alpha)
            slopes = np.broadcast_to(coef @ W, (len(X), len(coef), self.shape[1]))
            return slopes, (X if at is None else at) @ W.T

    def _unit(self, alpha: int) -> FloatArray:
        with np.errstate(all="ignore"):
            unit: FloatArray = scaled(keep_largest(self.map[None].copy(), alpha))[0]
        return unit


def keep_largest(V: FloatArray, alpha: int) -> FloatArray:
    """Set all but the `alpha` largest absolute weights of each direction to 0, in place, and return it.

    Of weights of the same size, those that come first are kept.

    >>> keep_largest(np.array([[[3.0, -4.0, 1.0, 3.0]]]), 2)
    array([[[ 3., -4.,  0.,  0.]]])
    """
    m = V.shape[-1]
    if alpha >= m:
        return V
    size = np.abs(V)
    least = np.partition(size, m - alpha, axis=-1)[..., m - alpha, None]
    cut = size < least
    if len(V) and np.count_nonzero(cut) < V.size // m * (m - alpha):
        first = np.cumsum(size == least, axis=-1)
        room = alpha - np.count_nonzero(size > least, axis=-1)
        cut |= (size == least) & (first > room[..., None])
    V[cut] = 0.0
    return V


def lengths(V: FloatArray) -> FloatArray:
    """Return the lengths (n, k) of raw maps, float64, and no less than a tiny one.

    A matrix product would be a little faster, but rounds a row alone otherwise than among others.

    >>> lengths(np.array([[[3.0, 4.0], [0.0, 0.0]]], dtype=np.float32))
    array([[5.e+00, 1.e-08]])
    """
    square = np.einsum("nkm,nkm->nk", V, V)
    return np.maximum(np.sqrt(square), EPSILON, dtype=np.float64)


def scaled(V: FloatArray) -> FloatArray:
    """Return maps of unit length (n, k, m), float64."""
    return np.divide(V, lengths(V)[:, :, None], dtype=np.float64)


def _folded(weight: FloatArray, bias: FloatArray, *, last: bool) -> FloatArray:
    """Return a layer (out, in) as a matrix (in + 1, out) that reads its bias from a column of ones.

    All but the last write that column again.
    """
    n_out, n_in = weight.shape
    folded = np.zeros((n_in + 1, n_out + (not last)), dtype=np.float32)
    folded[:-1, :n_out], folded[-1, :n_out] = weight.T, bias
    if not last:
        folded[-1, -1] = 1.0
    return folded


def _position(name: str) -> int:
    """Return the number in a name such as `layers.2.weight`."""
    return int(name.split(".")[1])
