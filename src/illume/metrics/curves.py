"""The black box's answer as features are taken away, or given back, in the order of their importance."""

from __future__ import annotations

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.metrics.asking import Ask, batches, features, importance, places, probability, typical_row

STEPS = 20
"""A curve has at most so many steps; where there are more features, several go at once."""


def deletion(
    attributions: FloatArray,
    X: FloatArray,
    ask: Ask,
    classes: IntArray,
    *,
    background: FloatArray,
    owner: IntArray | None = None,
    signed: bool = False,
    seed: int = 0,
) -> float:
    """Return the area under the class's probability as features are taken away; lower is better.

    One after another, the most important first, features get the background's typical value: the mean
    of a number, the most frequent category. The area runs over the share of features taken away, and the
    score is its mean over rows.

    Parameters
    ----------
    attributions
        One figure per column, (n, m). A feature matters by the largest absolute value of its columns;
        where `signed`, by the sum of its columns, those that speak for the class first, which suits
        contributions. Equal features are ordered by lot.
    X, ask, classes
        Encoded rows (n, m), the black box, and the class that is explained, one per row.
    background
        Encoded rows (b, m) that the typical values are taken from. A feature of several columns is a
        category, and so is a column with at most two values.
    owner
        Which feature each column belongs to, (m,); every column its own by default.

    Examples
    --------
    >>> ask = lambda X: np.column_stack([1 - X[:, 0], X[:, 0]])  # only the first column is read
    >>> X, zeros, label = np.array([[1.0, 1.0]]), np.zeros((1, 2)), np.array([1])
    >>> deletion(np.array([[2.0, 1.0]]), X, ask, label, background=zeros)  # 1, 0, 0
    0.25
    >>> deletion(np.array([[1.0, 2.0]]), X, ask, label, background=zeros)  # 1, 1, 0
    0.75
    """
    place, typical = _order(attributions, background, owner, signed, seed)
    return _area(place, np.asarray(X, dtype=float), typical, ask, classes)


def insertion(
    attributions: FloatArray,
    X: FloatArray,
    ask: Ask,
    classes: IntArray,
    *,
    background: FloatArray,
    owner: IntArray | None = None,
    signed: bool = False,
    seed: int = 0,
) -> float:
    """Return the area under the class's probability as a typical row gets the row's own values.

    As `deletion`, the other way round: higher is better.

    >>> ask = lambda X: np.column_stack([1 - X[:, 0], X[:, 0]])  # only the first column is read
    >>> X, zeros, label = np.array([[1.0, 1.0]]), np.zeros((1, 2)), np.array([1])
    >>> insertion(np.array([[2.0, 1.0]]), X, ask, label, background=zeros)  # 0, 1, 1
    0.75
    """
    place, typical = _order(attributions, background, owner, signed, seed)
    return _area(place, typical, np.asarray(X, dtype=float), ask, classes)


def _order(
    attributions: FloatArray, background: FloatArray, owner: IntArray | None, signed: bool, seed: int
) -> tuple[IntArray, FloatArray]:
    """Return the place of each column's feature in its row, (n, m), and the typical values as (n, m)."""
    attributions = np.asarray(attributions, dtype=float)
    feature = features(owner, attributions.shape[1])
    place = places(importance(attributions, feature, signed), np.random.default_rng(seed))
    return place[:, feature], np.broadcast_to(typical_row(background, feature), attributions.shape)


def _area(place: IntArray, start: FloatArray, end: FloatArray, ask: Ask, classes: IntArray) -> float:
    """Return the area under the class's probability on the way from the start rows to the end rows."""
    if not len(place):
        return float("nan")
    n_features = int(place.max()) + 1
    number = np.unique(np.linspace(0, n_features, min(n_features, STEPS) + 1).round())
    total = np.zeros(len(number))
    for part in batches(len(place), len(number), place.shape[1]):
        reached = place[part, None, :] < number[:, None]
        rows = np.where(reached, end[part, None, :], start[part, None, :])
        total += probability(ask, rows, classes[part]).sum(axis=0)
    heights, widths = (total[1:] + total[:-1]) / (2 * len(place)), np.diff(number) / n_features
    return float(heights @ widths)
