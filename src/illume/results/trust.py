"""Per row, how the surrogate did on the report rows around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    """

    agreement: FloatArray
    error: FloatArray
    n_rows: IntArray

    def __getitem__(self, rows: Any) -> Trust:
        return Trust(self.agreement[rows], self.error[rows], self.n_rows[rows])

    def __setitem__(self, rows: Any, other: Trust) -> None:
        """Fill in the figures of some rows while a result is being put together."""
        self.agreement[rows], self.error[rows] = other.agreement, other.error
        self.n_rows[rows] = other.n_rows
