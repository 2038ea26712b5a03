"""Which of many counterfactuals to show: few changes, small ones, and not the same features twice."""

from __future__ import annotations

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray

SAME_FEATURES = 4.0  # what showing the very same features again costs, in changes
OVERLAP = 0.9
DISTANCE = 0.05


def diverse(row: IntArray, changed: BoolArray, distance: FloatArray, n: int) -> IntArray:
    """Return positions of at most n candidates per row, best first, rows ascending.

    A candidate costs its number of changed features, a little for its distance, and more the more its
    features are those of one that was picked before.

    >>> changed = np.array([[True, False], [True, False], [False, True]])
    >>> diverse(np.array([0, 0, 0]), changed, np.array([1.0, 2.0, 3.0]), 2)
    array([0, 2])
    """
    if not len(row):
        return np.empty(0, dtype=np.intp)
    base = changed.sum(1) + DISTANCE * np.tanh(distance)
    extra = np.zeros(len(row))
    left = np.ones(len(row), dtype=bool)
    picked, rank = [], []
    last = np.full(row.max() + 1, -1, dtype=np.intp)
    for k in range(n):
        candidates = np.flatnonzero(left)
        order = candidates[np.lexsort((base[candidates] + extra[candidates], row[candidates]))]
        _, first = np.unique(row[order], return_index=True)
        chosen = order[first]
        if not len(chosen):
            break
        picked.append(chosen)
        rank.append(np.full(len(chosen), k))
        left[chosen] = False
        last[:] = -1
        last[row[chosen]] = chosen
        other = last[row]
        known = other >= 0
        both = (changed & changed[other]).sum(1)
        either = np.maximum((changed | changed[other]).sum(1), 1)
        extra += np.where(known, OVERLAP * both / either + SAME_FEATURES * (both == either), 0.0)
    chosen, order = np.concatenate(picked), np.concatenate(rank)
    return chosen[np.lexsort((order, row[chosen]))]
