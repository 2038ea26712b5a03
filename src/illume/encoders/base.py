"""The interface of encoders: rows in, maps and latents out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from illume._typing import FloatArray

EPSILON = 1e-8
"""Least length of a direction, so that a zero vector gives no NaN."""


@dataclass(frozen=True, eq=False)
class Latent:
    """Maps W (n, k, m) and latents Z (n, k); `Z[i] = W[i] @ X[i]`."""

    W: FloatArray
    Z: FloatArray


@dataclass(frozen=True, eq=False)
class PulledBack:
    """Slopes on inputs (n, c, m) of weights on latents, and the latents Z (n, k)."""

    slopes: FloatArray
    Z: FloatArray


class Head(NamedTuple):
    """Weights (c, k) and intercepts (c,) of the linear head trained jointly with an encoder."""

    coef: FloatArray
    intercept: FloatArray


class Encoder(Protocol):
    """Gives every row of X (n, m) its own linear map and its latents.

    An encoder with `thread_safe = True` is called from several threads at once.
    """

    def fit(self, X: FloatArray, y: Any = None, *, validation: Any = None) -> Self:
        """Learn from rows and the black box's probabilities (n, c) or labels (n,)."""
        ...

    def encode(self, X: FloatArray) -> Latent:
        """Return the maps and latents of all rows; W is large, so call it on chunks of rows."""
        ...

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the latents (n, k) only, in bounded memory."""
        ...

    def pull_back(self, X: FloatArray, coef: FloatArray, at: FloatArray | None = None) -> PulledBack:
        r"""Return the slopes :math:`\psi_{icj} = \sum_r \beta_{cr} W_{irj}` of weights (c, k), and Z.

        Equal to multiplying by the maps of `encode`, without keeping them. With rows `at` (n, m), Z are the
        latents of these rows under the maps of X.
        """
        ...


def as_probabilities(y: Any) -> FloatArray:
    """Convert labels (n,) or probabilities (n, c) to probabilities (n, c).

    A 1-D array of numbers between 0 and 1, not all integers, is the probability of the second of two classes.

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
