"""Agreement of the surrogate with the black box over a batch: by probability and by class."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.metrics.fidelity import wilson


@dataclass(frozen=True, eq=False)
class Calibration:
    """Rows grouped by the surrogate's probability of a class, compared with the black box's.

    Parameters
    ----------
    name
        The class.
    edges, n_rows
        Limits of the groups, (b + 1,), from 0 to 1, and their sizes, (b,).
    surrogate, black_box
        Mean probability of both in each group, (b,); NaN in an empty one.
    low, high
        Limits that hold 80 % of the black box's probabilities in each group, (b,).
    """

    name: str
    edges: FloatArray
    n_rows: IntArray
    surrogate: FloatArray
    black_box: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def error(self) -> float:
        """Mean difference of the two over all rows, group by group; NaN without rows."""
        known = self.n_rows > 0
        gap = np.abs(self.surrogate - self.black_box)[known]
        return float(np.average(gap, weights=self.n_rows[known])) if known.any() else math.nan


def calibration(P: FloatArray, Q: FloatArray, name: str, n_bins: int = 10) -> Calibration:
    """Group the surrogate's probabilities Q (n,) of a class, and compare with the black box's P (n,).

    >>> found = calibration(np.array([0.0, 0.4, 1.0]), np.array([0.1, 0.2, 0.9]), "yes", n_bins=2)
    >>> found.n_rows, found.surrogate.round(2), found.black_box.round(2)
    (array([2, 1]), array([0.15, 0.9 ]), array([0.2, 1. ]))
    """
    if n_bins < 1:
        raise ValueError(f"n_bins must be a positive integer, found {n_bins!r}")
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    group = np.digitize(Q, edges[1:-1])
    figures = np.full((4, n_bins), np.nan)
    for b in np.unique(group):
        inside = group == b
        figures[:, b] = Q[inside].mean(), P[inside].mean(), *np.quantile(P[inside], [0.1, 0.9])
    return Calibration(name, edges, np.bincount(group, minlength=n_bins), *figures)


@dataclass(frozen=True, eq=False)
class ClassAgreement:
    """Number of rows that the black box gave each class, and of those on which the surrogate agrees, (c,)."""

    names: tuple[str, ...]
    n_rows: IntArray
    n_agreed: IntArray

    @property
    def agreement(self) -> FloatArray:
        """The share for each class, (c,); NaN for a class without rows."""
        return np.where(self.n_rows > 0, self.n_agreed / np.maximum(self.n_rows, 1), np.nan)

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """95 % intervals of the shares (Wilson's)."""
        return wilson(np.nan_to_num(self.agreement), self.n_rows)

    @property
    def total(self) -> float:
        """The share of all rows; NaN without rows."""
        n = int(self.n_rows.sum())
        return int(self.n_agreed.sum()) / n if n else math.nan


def class_agreement(decisions: IntArray, surrogate: IntArray, names: tuple[str, ...]) -> ClassAgreement:
    """Count decisions of the black box (n,) and those that the surrogate (n,) shares.

    >>> found = class_agreement(np.array([0, 0, 1]), np.array([0, 1, 1]), ("no", "yes"))
    >>> found.agreement, found.total.__round__(3)
    (array([0.5, 1. ]), 0.667)
    """
    n = np.bincount(decisions, minlength=len(names))
    agreed = np.bincount(decisions[decisions == surrogate], minlength=len(names))
    return ClassAgreement(names, n, agreed)
