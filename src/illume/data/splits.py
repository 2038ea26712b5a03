"""Three kinds of rows, kept apart: training learns, validation chooses, report is shown."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from illume._typing import IntArray


class Split(NamedTuple):
    """Row numbers of each kind, ascending."""

    training: IntArray
    validation: IntArray
    report: IntArray


def split_rows(decisions: IntArray, validation: float, report: float, rng: np.random.Generator) -> Split:
    """Divide rows in three, alike for every decision; every decision keeps a training row.

    >>> split = split_rows(np.array([0] * 10 + [1]), 0.2, 0.2, np.random.default_rng(0))
    >>> len(split.training), len(split.validation), len(split.report)
    (7, 2, 2)
    """
    shuffled = rng.permutation(len(decisions))
    order = shuffled[np.argsort(decisions[shuffled], kind="stable")]
    _, starts, counts = np.unique(decisions[order], return_index=True, return_counts=True)
    rank = np.arange(len(order)) - np.repeat(starts, counts)
    depth = (rank + 0.5) / np.repeat(counts, counts)
    training = depth < max(1.0 - validation - report, 0.5)
    training[starts] = True
    chosen = ~training & (depth < 1.0 - report)
    shown = ~training & ~chosen
    return Split(np.sort(order[training]), np.sort(order[chosen]), np.sort(order[shown]))
