"""Three kinds of rows, kept apart: training learns, validation chooses, report is shown."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from illume._typing import IntArray


class Split(NamedTuple):
    """Row numbers of each kind, ascending."""

    training: IntArray
    validation: IntArray
    report: IntArray


def split_rows(decisions: IntArray, validation: float, report: float, rng: np.random.Generator) -> Split:
    """Divide rows in three, alike for every decision; none of the three is empty.

    >>> split = split_rows(np.array([0] * 10 + [1]), 0.2, 0.2, np.random.default_rng(0))
    >>> len(split.training), len(split.validation), len(split.report)
    (7, 2, 2)
    """
    shuffled = rng.permutation(len(decisions))
    by_class = shuffled[np.argsort(decisions[shuffled], kind="stable")]
    _, starts, counts = np.unique(decisions[by_class], return_index=True, return_counts=True)
    rank = np.arange(len(by_class)) - np.repeat(starts, counts)
    depth = (rank + 0.5) / np.repeat(counts, counts)
    order = by_class[np.argsort(depth, kind="stable")]  # any stretch of it holds all decisions alike
    n_validation, n_report = (_size(len(order), share) for share in (validation, report))
    first = len(order) - n_validation - n_report
    parts = np.split(order, [first, first + n_validation])
    return Split(*(np.sort(part) for part in parts))


def rows_needed(size: int, share: float) -> int:
    """Return how many rows there must be for a part, of this share of them, to have a size.

    >>> rows_needed(20, 0.15), rows_needed(20, 0.25), rows_needed(1, 0.1)
    (130, 78, 1)
    """
    most = math.ceil(size / share)
    return next(n for n in range(max(1, math.floor((size - 1) / share)), most + 1) if _size(n, share) >= size)


def _size(n: int, share: float) -> int:
    return max(1, round(share * n))
