"""Fidelity: how well a surrogate reproduces the black box."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.class_outputs import Classes
from illume.data.outputs import Outputs


@dataclass(frozen=True)
class Fidelity:
    """How well a surrogate does on `n_rows` rows.

    `agreement` is the share of equal decisions, or of numbers within a tenth of a standard deviation; `r2`
    that of probabilities or numbers; `error` the mean total variation, or absolute error of numbers.
    """

    agreement: float
    r2: float
    n_rows: int
    error: float = math.nan
    by_r2: bool = False

    @property
    def score(self) -> float:
        """One figure to choose by: the mean of agreement and R², or R² of numbers.

        Where R² is unknown it is the agreement.
        """
        if math.isnan(self.r2):
            return self.agreement
        return self.r2 if self.by_r2 else (self.agreement + self.r2) / 2

    @property
    def order(self) -> tuple[float, float]:
        """What surrogates are compared by: agreement, then R²; of numbers R² first."""
        return (self.r2, self.agreement) if self.by_r2 else (self.agreement, self.r2)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the agreement (Wilson's).

        >>> low, high = Fidelity(agreement=0.9, r2=0.8, n_rows=100).interval
        >>> round(low, 3), round(high, 3)
        (0.826, 0.945)
        """
        return wilson(self.agreement, self.n_rows)


def fidelity(P: FloatArray, Q: FloatArray, outputs: Outputs = Classes(())) -> Fidelity:  # noqa: B008 -- frozen
    """Compare the black box's answers P with the surrogate's Q, both (n, c).

    >>> P = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> fidelity(P, P)
    Fidelity(agreement=1.0, r2=1.0, n_rows=2, error=0.0, by_r2=False)
    """
    if not len(P):
        return Fidelity(math.nan, math.nan, 0)
    agreement, error = float(outputs.alike(P, Q).mean()), float(outputs.error(P, Q).mean())
    r2 = r_squared(P / outputs.unit, Q / outputs.unit)
    return Fidelity(agreement, r2, len(P), error, by_r2=outputs.choose_by_r2)


def agreement(P: FloatArray, Q: FloatArray) -> float:
    """Share of rows with the same most likely class; NaN without rows.

    That is the decision unless a threshold is set, which `quality_.agreement` and `result.agreed` follow.
    """
    return float(np.mean(P.argmax(1) == Q.argmax(1))) if len(P) else math.nan


def r_squared(P: FloatArray, Q: FloatArray) -> float:
    """Return `1 − Σ (P − Q)² / Σ (P − mean P)²` over all rows and columns.

    Columns are pooled, so that a class that hardly varies cannot dominate. NaN where P does not vary.

    >>> r_squared(np.array([[0.0, 1.0], [1.0, 0.0]]), np.full((2, 2), 0.5))
    0.0
    """
    if not len(P):
        return math.nan
    spread = float(np.square(P - P.mean(0)).sum())
    varies = spread > 1e-12 * len(P)  # more than rounding
    return 1.0 - float(np.square(P - Q).sum()) / spread if varies else math.nan


@overload
def wilson(share: float, n: int, z: float = ...) -> tuple[float, float]: ...
@overload
def wilson(share: FloatArray, n: IntArray, z: float = ...) -> tuple[FloatArray, FloatArray]: ...
def wilson(share: Any, n: Any, z: float = 1.959964) -> tuple[Any, Any]:
    """Interval of a share seen on `n` rows, or of many; the whole range without rows.

    >>> low, high = wilson(np.array([1.0, 0.5]), np.array([10, 0]))
    >>> low.round(3), high
    (array([0.722, 0.   ]), array([1., 1.]))
    """
    low, high = wilson_low(share, n, z), 1.0 - wilson_low(1.0 - np.asarray(share), n, z)
    return (low, high) if np.ndim(share) else (float(low), float(high))


def wilson_low(share: Any, n: Any, z: float) -> FloatArray:
    """Lower end of Wilson's interval, at most the share; 0 without rows."""
    rows, z2 = np.maximum(n, 1e-9), z * z
    half = z * np.sqrt(share * (1 - share) / rows + z2 / (4 * rows * rows))
    low = (share + z2 / (2 * rows) - half) / (1 + z2 / rows)
    return np.where(n, np.clip(low, 0.0, share), 0.0)
