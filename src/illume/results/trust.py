"""Per row, how far its explanation can be trusted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Trust:
    """Local trust figures, one per row.

    Parameters
    ----------
    agreement
        Share of the report rows around it on which surrogate and black box decide alike.
    error
        Mean difference of their probabilities on those rows (total variation; for two classes the
        difference of one probability).
    n_rows
        How many report rows the two figures rest on.
    distance
        How far the nearest of them, or of the centres that stand for them, is: Euclidean, in scaled inputs.
    contribution_error
        Typical error of the row's contributions, in log-odds: the root mean square of their standard errors.
        NaN where these are not known, as of kind `pullback`.
    """

    agreement: FloatArray
    error: FloatArray
    n_rows: IntArray
    distance: FloatArray
    contribution_error: FloatArray = field(default=None)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        if self.contribution_error is None:
            object.__setattr__(self, "contribution_error", np.full(np.shape(self.agreement), np.nan))

    @classmethod
    def unknown(cls, n: int, n_rows: int = 0) -> Trust:
        """Return room for n rows of which nothing is known yet."""
        return cls(
            np.full(n, np.nan), np.full(n, np.nan), np.full(n, n_rows, dtype=np.intp), np.full(n, np.nan)
        )

    def __getitem__(self, rows: Any) -> Trust:
        return Trust(
            self.agreement[rows],
            self.error[rows],
            self.n_rows[rows],
            self.distance[rows],
            self.contribution_error[rows],
        )

    def __setitem__(self, rows: Any, other: Trust) -> None:
        """Fill in the figures of some rows while a result is being put together."""
        self.agreement[rows], self.error[rows] = other.agreement, other.error
        self.n_rows[rows], self.distance[rows] = other.n_rows, other.distance
        self.contribution_error[rows] = other.contribution_error


def typical_errors(standard_errors: FloatArray) -> FloatArray:
    """Return the root mean square of each row's standard errors, or of other numbers, (n,).

    >>> typical_errors(np.array([[3.0, 4.0], [0.0, np.nan]])).round(3)
    array([3.536,   nan])
    """
    if not standard_errors.size:
        return np.full(len(standard_errors), np.nan)
    flat = standard_errors.reshape(len(standard_errors), -1)
    return np.sqrt(np.einsum("ij,ij->i", flat, flat, dtype=np.float64) / flat.shape[1])
