"""Per row, how an explanation came to agree with the black box."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray

AGREED, REFINED, NOT_FAITHFUL = "agreed", "refined", "not faithful"


@dataclass(frozen=True, eq=False)
class Refinement:
    """Whether the surrogate agreed at once, was refined towards a neighbour, or is not faithful.

    Parameters
    ----------
    gamma_w, gamma_x
        How far the row's map, and its inputs, were moved towards the neighbour's, 0 to 1; 0 for rows that
        agreed at once.
    neighbour
        Position, among the rows given to `fit`, of the neighbour; -1 where none was needed, or none exists.
    agreed
        Whether the surrogate decided like the black box at once.
    off
        Whether nothing could be refined, because the explainer was saved without rows.
    """

    gamma_w: FloatArray
    gamma_x: FloatArray
    neighbour: IntArray
    agreed: BoolArray
    off: bool = False

    @classmethod
    def empty(cls, n: int, off: bool = False) -> Refinement:
        """Return room for n rows, to be filled in."""
        none = np.full(n, -1, dtype=np.intp)
        return cls(np.zeros(n), np.zeros(n), none, np.ones(n, dtype=bool), off)

    @property
    def refined(self) -> BoolArray:
        """Which rows were refined."""
        return self.neighbour >= 0

    @property
    def faithful(self) -> BoolArray:
        """Which explanations decide like the black box, at once or after refinement."""
        return self.agreed | self.refined

    @property
    def status(self) -> np.ndarray[Any, Any]:
        """Per row `agreed`, `refined` or `not faithful`."""
        other = np.where(self.refined, REFINED, NOT_FAITHFUL)
        return np.where(self.agreed, AGREED, other).astype(object)

    def among(self, fitted: IntArray) -> Refinement:
        """Name neighbours by their position among all fitted rows, not only among the training rows."""
        near = self.neighbour
        if not len(fitted):  # nothing was refined
            return self
        return replace(self, neighbour=np.where(near >= 0, fitted[near], -1))

    def __len__(self) -> int:
        return len(self.agreed)

    def __getitem__(self, rows: Any) -> Refinement:
        per_row = ("gamma_w", "gamma_x", "neighbour", "agreed")
        return replace(self, **{name: getattr(self, name)[rows] for name in per_row})

    def __setitem__(self, rows: Any, other: Refinement) -> None:
        """Fill in some rows while a result is being put together."""
        for name in ("gamma_w", "gamma_x", "neighbour", "agreed"):
            getattr(self, name)[rows] = getattr(other, name)

    def note(self, row: int = 0) -> str:
        """Say in words how one row's explanation came to agree; nothing if it agreed at once."""
        if self.agreed[row]:
            return ""
        if self.off:
            return "not faithful: the surrogate decides otherwise; refinement is off, for there are no rows"
        if not self.refined[row]:
            return "not faithful: the surrogate decides otherwise, and no training row could help"
        return (
            f"refined towards row {self.neighbour[row]} of the fitted data "
            f"(γ_W {self.gamma_w[row]:.3g}, γ_x {self.gamma_x[row]:.3g})"
        )
