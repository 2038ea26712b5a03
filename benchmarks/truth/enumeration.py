"""Shapley values by asking about every set of features."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial

import numpy as np

from illume._typing import BoolArray, FloatArray

Ask = Callable[[FloatArray], FloatArray]  # rows (n, features) to outputs (n, k)
ROWS_AT_ONCE = 100_000


def enumerated(ask: Ask, X: FloatArray, background: FloatArray) -> FloatArray:
    """Return interventional Shapley values, (n, features, outputs), exact for the background.

    A product of two features is shared equally:

    >>> ask = lambda X: X[:, :1] * X[:, 1:2]
    >>> enumerated(ask, np.array([[2.0, 3.0]]), np.zeros((1, 2)))[0, :, 0]
    array([3., 3.])
    """
    sets = subsets(X.shape[1])
    return np.stack([_combined(_worths(ask, x, background, sets), sets) for x in X])


def subsets(n_features: int) -> BoolArray:
    """Return every set of features, (2 ** features, features); bit j of a set's position is feature j.

    >>> subsets(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    return (np.arange(2**n_features)[:, None] >> np.arange(n_features)) % 2 == 1


def _worths(ask: Ask, x: FloatArray, background: FloatArray, sets: BoolArray) -> FloatArray:
    """Return the mean answer where the features of a set are the row's, (sets, outputs)."""
    step = max(1, ROWS_AT_ONCE // len(background))
    found = []
    for start in range(0, len(sets), step):
        part = sets[start : start + step]
        rows = np.where(part[:, None, :], x, background)
        answers = ask(rows.reshape(-1, len(x)))
        found.append(answers.reshape(len(part), len(background), -1).mean(axis=1))
    return np.concatenate(found)


def _combined(worths: FloatArray, sets: BoolArray) -> FloatArray:
    n_features = sets.shape[1]
    sizes, places = sets.sum(axis=1), np.arange(len(sets))
    weights = np.array(
        [factorial(s) * factorial(n_features - s - 1) / factorial(n_features) for s in range(n_features)]
    )
    values = np.empty((n_features, worths.shape[1]))
    for j in range(n_features):
        without = places[~sets[:, j]]
        gains = worths[without + 2**j] - worths[without]
        values[j] = weights[sizes[without]] @ gains
    return values
