"""Fidelity: how well a surrogate reproduces the black box."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from illume._typing import FloatArray, IntArray


@dataclass(frozen=True)
class Fidelity:
    """Agreement of decisions and R² of probabilities, on `n_rows` rows."""

    agreement: float
    r2: float
    n_rows: int

    @property
    def score(self) -> float:
        """One figure to choose by: the mean of agreement and R², or agreement alone where R² is unknown."""
        return self.agreement if math.isnan(self.r2) else (self.agreement + self.r2) / 2

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the agreement (Wilson's).

        >>> low, high = Fidelity(agreement=0.9, r2=0.8, n_rows=100).interval
        >>> round(low, 3), round(high, 3)
        (0.826, 0.945)
        """
        return wilson(self.agreement, self.n_rows)


def fidelity(P: FloatArray, Q: FloatArray) -> Fidelity:
    """Compare the black box's probabilities P with the surrogate's Q, both (n, c).

    >>> fidelity(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    Fidelity(agreement=1.0, r2=1.0, n_rows=2)
    """
    return Fidelity(agreement(P, Q), r_squared(P, Q), len(P))


def agreement(P: FloatArray, Q: FloatArray) -> float:
    """Share of rows with the same decision; NaN without rows."""
    return float(np.mean(P.argmax(1) == Q.argmax(1))) if len(P) else math.nan


def r_squared(P: FloatArray, Q: FloatArray) -> float:
    """Return `1 − Σ (P − Q)² / Σ (P − mean P)²` over all rows and classes.

    Classes are pooled, so that a class that hardly varies cannot dominate. NaN where P does not vary.

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
    rows = np.maximum(n, 1e-9)
    centre = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    half = z / (1 + z * z / rows) * np.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows))
    low = np.where(n, np.clip(centre - half, 0.0, share), 0.0)  # despite rounding, the share lies inside
    high = np.where(n, np.clip(centre + half, share, 1.0), 1.0)
    return (low, high) if np.ndim(share) else (float(low), float(high))
