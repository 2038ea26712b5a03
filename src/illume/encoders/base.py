"""The interface of encoders: rows in, maps and latents out; and the simplest one, the identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from illume._typing import FloatArray

EPSILON = 1e-8
"""Least length of a direction, so that a zero vector gives no NaN."""
HEAD_TYPES = {"classification": np.float32, "regression": np.float64}
"""Of the numbers of a head, by task: predicted numbers may be large beside their differences."""


@dataclass(frozen=True, eq=False)
class Latent:
    """Maps W (n, k, m) and latents Z (n, k): `W[i] @ X[i]`, and a level of the row's own where it has one."""

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
        """Learn from rows and the black box's probabilities (n, c), labels (n,), or numbers (n, q)."""
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


class IdentityEncoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Latents are the inputs, so that the surrogate on them is global (the paper's INP).

    >>> IdentityEncoder().fit([[1.0, 2.0]]).encode([[3.0, 4.0]]).Z
    array([[3., 4.]])
    """

    thread_safe = True

    def fit(self, X: FloatArray, y: Any = None, *, validation: Any = None) -> Self:
        """Store the number of inputs."""
        validate_data(self, X, dtype=np.float64)
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_in_)

    def encode(self, X: FloatArray) -> Latent:
        """Return identity maps (a view, not n matrices) and the rows themselves."""
        Z = self.transform(X)
        n, m = Z.shape
        return Latent(np.broadcast_to(np.eye(m), (n, m, m)), Z)

    def pull_back(self, X: FloatArray, coef: FloatArray, at: FloatArray | None = None) -> PulledBack:
        """Return the weights themselves as slopes of every row."""
        return PulledBack(np.broadcast_to(coef, (len(X), *coef.shape)), X if at is None else at)

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the rows themselves."""
        check_is_fitted(self, "n_features_in_")
        return validate_data(self, X, dtype=np.float64, reset=False, ensure_min_samples=0)


def require_task(task: Any) -> None:
    """Raise unless a task is known.

    >>> require_task("ranking")
    Traceback (most recent call last):
    ValueError: task must be 'classification' or 'regression', found 'ranking'
    """
    if not (isinstance(task, str) and task in HEAD_TYPES):
        raise ValueError(f"task must be {' or '.join(map(repr, HEAD_TYPES))}, found {task!r}")


def as_probabilities(y: Any) -> FloatArray:
    """Convert labels (n,) or probabilities (n, c) to probabilities (n, c).

    A 1-D array of numbers between 0 and 1, not all integers, is the probability of the second of two classes.

    >>> as_probabilities(["a", "b", "a"])
    array([[1., 0.],
           [0., 1.],
           [1., 0.]])
    """
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
