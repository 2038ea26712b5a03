"""The interface of surrogates, which users' own surrogates implement as well."""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable

import numpy as np

from illume._typing import FloatArray, IntArray


class Surrogate(Protocol):
    """An interpretable model of the black box over latents."""

    def fit(self, Z: FloatArray, P: FloatArray) -> Self:
        """Learn from latents (n, k) and the black box's probabilities (n, c)."""
        ...

    def probabilities(self, Z: FloatArray) -> FloatArray:
        """Return class probabilities (n, c)."""
        ...


class Weights(Protocol):
    """Weights (c, k) and intercepts (c,) on latents, on the scale of log-odds.

    For two classes there is one row, the log-odds of the second class.
    """

    coef_: FloatArray
    intercept_: FloatArray


@runtime_checkable
class LinearSurrogate(Surrogate, Weights, Protocol):
    """A surrogate that can give attributions."""


@runtime_checkable
class TreeSurrogate(Surrogate, Protocol):
    """A surrogate that can give rules: a binary tree of `z[feature] <= threshold`, scikit-learn's layout."""

    children_left_: IntArray
    children_right_: IntArray
    feature_: IntArray
    threshold_: FloatArray

    def apply(self, Z: FloatArray) -> IntArray:
        """Return the leaf of every row."""
        ...


def scores(surrogate: Weights, Z: FloatArray) -> FloatArray:
    """Return the surrogate's log-odds (n, c), one column for two classes."""
    return Z @ surrogate.coef_.T + surrogate.intercept_


def probabilities_of(logits: FloatArray) -> FloatArray:
    """Convert log-odds to probabilities: the logistic function for one column, else softmax.

    >>> probabilities_of(np.array([[0.0]]))
    array([[0.5, 0.5]])
    """
    if logits.shape[1] == 1:
        return _two_classes(logits[:, 0])
    weights = np.exp(logits - logits.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def _two_classes(logit: FloatArray) -> FloatArray:
    """Return softmax of (0, logit), (n, 2), without overflow."""
    less = np.exp(-np.abs(logit))
    more = 1.0 / (1.0 + less)
    less *= more
    second = logit >= 0
    return np.column_stack([np.where(second, less, more), np.where(second, more, less)])
