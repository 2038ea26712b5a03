"""Diagnostics of a surrogate: calibration and agreement over a batch, and the history of its training."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.require import require_int
from illume.metrics.fidelity import r_squared, wilson


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
    require_int("n_bins", n_bins)
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


@dataclass(frozen=True, eq=False)
class Residuals:
    """Predictions of a number by black box and surrogate, (n,), which agree within `tolerance`.

    >>> found = Residuals("price", np.array([1.0, 2.0]), np.array([1.0, 3.0]), 0.1)
    >>> found.error, found.agreement
    (0.5, 0.5)
    """

    name: str
    black_box: FloatArray
    surrogate: FloatArray
    tolerance: float

    @property
    def error(self) -> float:
        """Mean absolute error; NaN without rows."""
        gap = np.abs(self.black_box - self.surrogate)
        return float(gap.mean()) if len(gap) else math.nan

    @property
    def r2(self) -> float:
        """Share of the variance of the black box's predictions that the surrogate explains."""
        return r_squared(self.black_box[:, None], self.surrogate[:, None])

    @property
    def agreement(self) -> float:
        """Share of rows within the tolerance; NaN without rows."""
        near = np.abs(self.black_box - self.surrogate) <= self.tolerance
        return float(near.mean()) if len(near) else math.nan


@dataclass(frozen=True)
class Epoch:
    """Losses of one epoch on training and validation rows; unweighted terms of the validation loss."""

    number: int
    alpha: int
    loss: float
    validation_loss: float
    terms: dict[str, float]
    seconds: float


@dataclass(frozen=True)
class History:
    """All epochs of a training, the best one, whose weights were kept, and why it ended.

    >>> epochs = (Epoch(1, 4, 2.0, 2.5, {"x": 1.0}, 0.1), Epoch(2, 4, 1.5, 2.2, {"x": 0.9}, 0.2))
    >>> History(epochs, best=2, ended="all 2 epochs done")
    2 epochs in 0.2 s, best 2: all 2 epochs done
      epoch      loss  validation
          1   2.00000     2.50000
          2   1.50000     2.20000  kept
    """

    epochs: tuple[Epoch, ...]
    best: int
    ended: str
    interrupted: bool = False
    diverged: bool = False

    @property
    def learned(self) -> bool:
        """Whether any epoch's weights are usable."""
        return self.best > 0 or not self.diverged

    def __len__(self) -> int:
        return len(self.epochs)

    def __iter__(self) -> Iterator[Epoch]:
        return iter(self.epochs)

    def __getitem__(self, i: int) -> Epoch:
        return self.epochs[i]

    def __repr__(self) -> str:
        if not self.epochs:
            return f"0 epochs: {self.ended}"
        step = max(1, len(self) // 10)
        shown = [e for e in self if e.number % step == 0 or e.number in (1, self.best, len(self))]
        head = f"{len(self)} epochs in {self.epochs[-1].seconds:.1f} s, best {self.best}: {self.ended}"
        lines = [
            f"  {e.number:>5}  {e.loss:>8.5f}  {e.validation_loss:>10.5f}{'  kept' * (e.number == self.best)}"
            for e in shown
        ]
        return "\n".join([head, "  epoch      loss  validation", *lines])

    def to_dict(self) -> dict[str, list[Any]]:
        """Return one list per quantity, ready for any data frame."""
        names = {"epoch": "number"} | {n: n for n in ("alpha", "loss", "validation_loss", "seconds")}
        terms = sorted({name for epoch in self for name in epoch.terms})
        table = {name: [getattr(e, attribute) for e in self] for name, attribute in names.items()}
        return table | {name: [e.terms.get(name) for e in self] for name in terms}
