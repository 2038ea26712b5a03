"""Per row, what lies outside of what the explainer was fitted on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from illume._typing import BoolArray

FAR = "far from all fitted rows"


@dataclass(frozen=True, eq=False)
class Novelty:
    """Which rows have values, or lie in places, that no fitted row has.

    Parameters
    ----------
    features
        Where a value is outside of the fitted range, is no known category, or is missing although none was,
        (n, n_features).
    names
        What the features are called.
    far
        Which rows are a tenth farther from the nearest place where trust was measured than 99.9 % of the
        training rows are, (n,).
    known
        Whether values were looked at; they were not in results of format version 1.
    """

    features: BoolArray
    far: BoolArray
    names: tuple[str, ...]
    known: bool = True

    @classmethod
    def empty(cls, n: int, names: tuple[str, ...], known: bool = True) -> Novelty:
        """Return room for n rows, to be filled in."""
        return cls(np.zeros((n, len(names)), dtype=bool), np.zeros(n, dtype=bool), names, known)

    @property
    def outside(self) -> BoolArray:
        """Which rows are outside of what the explainer was fitted on, (n,)."""
        return np.asarray(self.features.any(1) | self.far)

    def __getitem__(self, rows: Any) -> Novelty:
        return replace(self, features=self.features[rows], far=self.far[rows])

    def __setitem__(self, rows: Any, other: Novelty) -> None:
        """Fill in some rows while a result is being put together."""
        self.features[rows], self.far[rows] = other.features, other.far

    def reasons(self, row: int = 0) -> tuple[str, ...]:
        """Say why one row is outside; nothing if it is not.

        >>> Novelty(np.array([[False, True]]), np.array([True]), ("age", "income")).reasons()
        ('income has a value not seen while fitting', 'far from all fitted rows')
        """
        odd = [self.names[j] for j in np.flatnonzero(self.features[row])]
        said = [
            f"{', '.join(odd)} {'has a value' if len(odd) == 1 else 'have values'} not seen while fitting"
        ]
        return (*(said if odd else ()), *((FAR,) if self.far[row] else ()))

    def note(self, row: int = 0) -> str:
        """Return the reasons in one line; nothing if there are none.

        >>> Novelty.empty(1, ("age", "income")).note()
        ''
        """
        reasons = self.reasons(row)
        return f"outside what it was fitted on: {'; '.join(reasons)}" if reasons else ""
