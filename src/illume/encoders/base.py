"""The contract of all encoders: rows in, maps and latents out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from illume._typing import FloatArray

EPSILON = 1e-8
"""No direction is taken to be shorter than this, so that a zero vector gives no NaN."""


@dataclass(frozen=True, eq=False)
class Latent:
    """Maps W (n, k, m) and latents Z (n, k); `Z[i] = W[i] @ X[i]`."""

    W: FloatArray
    Z: FloatArray


@dataclass(frozen=True, eq=False)
class PulledBack:
    """Weights on latents as slopes on inputs (n, c, m), and the latents Z (n, k)."""

    slopes: FloatArray
    Z: FloatArray


class Piece(Protocol):
    """Some rows of a batch, their slopes (n, c, m), and latents for those who ask.

    Good until the encoder is used again in this thread: pieces share their memory.
    """

    @property
    def rows(self) -> slice:
        """Which rows of the batch."""
        ...

    @property
    def slopes(self) -> FloatArray:
        """See `PulledBack`."""
        ...

    def latents(self, at: FloatArray, some: Any = slice(None)) -> FloatArray:
        """Return the latents of `some` of the rows, which are `at` (n, m)."""
        ...


class Whole(PulledBack):
    """All rows as one piece."""

    @property
    def rows(self) -> slice:
        """All of them."""
        return slice(0, len(self.Z))

    def latents(self, at: FloatArray, some: Any = slice(None)) -> FloatArray:
        """Return the latents of `some` of the rows, which are `at` (n, m)."""
        Z: FloatArray = self.Z[some]
        return Z


class Head(NamedTuple):
    """The weights (c, k) and intercepts (c,) that were trained along with the encoder."""

    coef: FloatArray
    intercept: FloatArray


class Encoder(Protocol):
    """Gives every row of X (n, m) its own linear map and its latents.

    One that says `thread_safe = True` is asked to pull back rows from several threads at a time.
    """

    def fit(self, X: FloatArray, y: Any = None, *, validation: Any = None) -> Self:
        """Learn from rows and the black box's probabilities (n, c) or labels (n,)."""
        ...

    def encode(self, X: FloatArray) -> Latent:
        """Return the maps and latents of all rows; use in pieces, for W is large."""
        ...

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the latents (n, k) alone, in bounded memory."""
        ...

    def pull_back(self, X: FloatArray, coef: FloatArray, at: FloatArray | None = None) -> PulledBack:
        r"""Return the slopes :math:`\psi_{icj} = \sum_r \beta_{cr} W_{irj}` of weights (c, k), and Z.

        The same as multiplying with the maps of `encode`, but without keeping them. With other rows `at`
        (n, m), Z are the latents of these under the maps of X.
        """
        ...


def as_probabilities(y: Any) -> FloatArray:
    """Read probabilities from what a user passes as y: labels, or probabilities of all classes.

    A 1-D array of numbers between 0 and 1, not all whole, is the probability of the second of two classes.

    >>> as_probabilities(["a", "b", "a"])
    array([[1., 0.],
           [0., 1.],
           [1., 0.]])
    """
    from sklearn.utils.multiclass import type_of_target

    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim == 2:
        if y.dtype.kind not in "fiub" or not (np.abs(y.sum(1) - 1) <= 1e-3).all() or (y < 0).any():
            raise ValueError(f"y of shape {y.shape} must hold probabilities, rows that sum to 1")
        return y.astype(np.float64)
    if type_of_target(y) == "continuous":
        if y.min() < 0 or y.max() > 1:
            raise ValueError(
                f"y must hold labels, or probabilities between 0 and 1; found {y.min():g} to {y.max():g}. "
                "Unknown label type: continuous"
            )
        return np.column_stack([1 - y, y])
    classes, codes = np.unique(y, return_inverse=True)
    return np.eye(max(len(classes), 2))[codes]
