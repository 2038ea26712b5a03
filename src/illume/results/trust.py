"""Per row, how the surrogate did on the report rows around it."""

from __future__ import annotations

from dataclasses import dataclass
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
    """

    agreement: FloatArray
    error: FloatArray
    n_rows: IntArray
    distance: FloatArray

    @classmethod
    def unknown(cls, n: int, n_rows: int = 0) -> Trust:
        """Return room for n rows of which nothing is known yet."""
        return cls(
            np.full(n, np.nan), np.full(n, np.nan), np.full(n, n_rows, dtype=np.intp), np.full(n, np.nan)
        )

    def __getitem__(self, rows: Any) -> Trust:
        return Trust(self.agreement[rows], self.error[rows], self.n_rows[rows], self.distance[rows])

    def __setitem__(self, rows: Any, other: Trust) -> None:
        """Fill in the figures of some rows while a result is being put together."""
        self.agreement[rows], self.error[rows] = other.agreement, other.error
        self.n_rows[rows], self.distance[rows] = other.n_rows, other.distance
