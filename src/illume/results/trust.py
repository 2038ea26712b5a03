"""Per-row figures of trust: local fidelity, refinement and novelty."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.results.levels import FAIR_SHARE, HIGH, HIGH_SHARE, LEVELS, UNKNOWN
from illume.results.predictions import PerRow

AGREED, REFINED, NOT_FAITHFUL = "agreed", "refined", "not faithful"
FAR = "far from all fitted rows"


@dataclass(frozen=True, eq=False)
class Trust(PerRow):
    """How far a row's contributions can be trusted, one entry per row.

    Parameters
    ----------
    contribution_error
        Typical error of the row's contributions: the root mean square of their standard errors. 0 where they
        are exact, NaN where it is not known, as for kind `pullback`.
    share
        The part of the contributions' squares that their errors leave, from 0 to 1: 1 is exact. A row whose
        contributions are smaller than usual is compared with usual ones, as R² of `quality_` is.
    most
        The word of `quality_`: no row is trusted more than all of them were found to deserve.
    """

    contribution_error: FloatArray
    share: FloatArray
    most: str = HIGH

    PER_ROW: ClassVar[tuple[str, ...]] = ("contribution_error", "share")

    @classmethod
    def of(cls, values: FloatArray, errors: FloatArray, usual: float = 0.0, most: str = HIGH) -> Trust:
        """Compare standard errors with values, (n, …) both, and with the `usual` mean square of values.

        >>> trust = Trust.of(np.array([[3.0, 4.0]]), np.array([[0.5, 0.0]]))
        >>> trust.share, list(trust.level), list(replace(trust, most="fair").level)
        (array([0.99]), ['high'], ['fair'])
        """
        typical, square = typical_errors(errors), np.maximum(np.square(typical_errors(values)), usual)
        with np.errstate(invalid="ignore", divide="ignore"):
            lost = np.where(typical > 0, np.square(typical) / square, typical)
        return cls(typical, np.clip(1.0 - lost, 0.0, 1.0), most)

    @property
    def level(self) -> np.ndarray[Any, Any]:
        """`exact`, `high`, `fair`, `low` or `unknown`, by the same bounds as `quality_`, (n,)."""
        words = np.array(LEVELS, dtype=object)
        exact, most = self.contribution_error == 0, LEVELS.index(self.most)
        grade = np.where(self.share >= HIGH_SHARE, 1, np.where(self.share >= FAIR_SHARE, 2, 3))
        grade = np.where(np.isfinite(self.share), np.maximum(grade, most), LEVELS.index(UNKNOWN))
        return words[np.where(exact, 0, grade)]


def typical_errors(standard_errors: FloatArray) -> FloatArray:
    """Return the root mean square of each row's standard errors, (n,).

    >>> typical_errors(np.array([[3.0, 4.0], [0.0, np.nan]])).round(3)
    array([3.536,   nan])
    """
    if not standard_errors.size:
        return np.full(len(standard_errors), np.nan)
    flat = standard_errors.reshape(len(standard_errors), -1)
    return np.sqrt(np.einsum("ij,ij->i", flat, flat, dtype=np.float64) / flat.shape[1])


@dataclass(frozen=True, eq=False)
class Refinement(PerRow):
    """Whether the surrogate agreed at once, was refined towards a neighbour, or is not faithful.

    Parameters
    ----------
    gamma_w, gamma_x
        How far the row's map, and its inputs, were moved towards the neighbour's, from 0 to 1; 0 for rows
        that agreed at once.
    neighbour
        Position of the neighbour among the rows given to `fit`; -1 where none was needed, or none exists.
    agreed
        Whether the surrogate agreed with the black box at once.
    off
        Whether nothing could be refined, because the explainer was saved without rows.
    exact
        Whether an offset makes every explanation add up to the black box's own number.
    """

    gamma_w: FloatArray
    gamma_x: FloatArray
    neighbour: IntArray
    agreed: BoolArray
    off: bool = False
    exact: bool = False

    PER_ROW: ClassVar[tuple[str, ...]] = ("gamma_w", "gamma_x", "neighbour", "agreed")

    @classmethod
    def empty(cls, n: int, off: bool = False) -> Refinement:
        """Return n rows that agreed at once."""
        none = np.full(n, -1, dtype=np.intp)
        return cls(np.zeros(n), np.zeros(n), none, np.ones(n, dtype=bool), off)

    @property
    def refined(self) -> BoolArray:
        """Which rows were refined."""
        return ~self.agreed if self.exact else self.neighbour >= 0

    @property
    def faithful(self) -> BoolArray:
        """Which explanations decide like the black box, at once or after refinement."""
        return self.agreed | self.refined

    @property
    def status(self) -> np.ndarray[Any, Any]:
        """Per row `agreed`, `refined` or `not faithful`."""
        other = np.where(self.refined, REFINED, NOT_FAITHFUL)
        return np.where(self.agreed, AGREED, other).astype(object)

    def locate_neighbours(self, fitted: IntArray) -> Refinement:
        """Change positions of neighbours among the training rows to positions among all fitted rows."""
        near = self.neighbour
        return replace(self, neighbour=np.where(near >= 0, fitted[near], -1)) if len(fitted) else self

    def __len__(self) -> int:
        return len(self.agreed)

    def __setitem__(self, rows: Any, other: Refinement) -> None:
        for name in self.PER_ROW:
            getattr(self, name)[rows] = getattr(other, name)

    def note(self, row: int = 0) -> str:
        """Describe how one row's explanation was made to agree; empty if it agreed at once."""
        if self.agreed[row]:
            return ""
        if self.exact:
            return "shifted to the model's own number, which the surrogate misses"
        if self.off:
            return "not faithful: the surrogate decides otherwise; refinement is off, as there are no rows"
        if not self.refined[row]:
            return "not faithful: the surrogate decides otherwise, and no training row could help"
        return (
            f"refined towards row {self.neighbour[row]} of the fitted data "
            f"(γ_W {self.gamma_w[row]:.3g}, γ_x {self.gamma_x[row]:.3g})"
        )


@dataclass(frozen=True, eq=False)
class Novelty(PerRow):
    """Which rows have values, or lie in places, that no fitted row has.

    Parameters
    ----------
    features
        Where a value is outside of the fitted range, is not a known category, or is missing although none
        was, (n, n_features).
    far
        Which rows are a tenth farther from the nearest place where trust was measured than 99.9 % of the
        training rows are, (n,).
    """

    features: BoolArray
    far: BoolArray
    names: tuple[str, ...]

    PER_ROW: ClassVar[tuple[str, ...]] = ("features", "far")

    @property
    def outside(self) -> BoolArray:
        """Which rows are outside of what the explainer was fitted on, (n,)."""
        return np.asarray(self.features.any(1) | self.far)

    def reasons(self, row: int = 0) -> tuple[str, ...]:
        """Return why one row is outside; empty if it is not.

        >>> Novelty(np.array([[False, True]]), np.array([True]), ("age", "income")).reasons()
        ('income has a value not seen while fitting', 'far from all fitted rows')
        """
        new = [self.names[j] for j in np.flatnonzero(self.features[row])]
        verb = "has a value" if len(new) == 1 else "have values"
        values = (f"{', '.join(new)} {verb} not seen while fitting",) if new else ()
        return (*values, *((FAR,) if self.far[row] else ()))

    def note(self, row: int = 0) -> str:
        """Return the reasons in one line; empty if there are none."""
        reasons = self.reasons(row)
        return f"outside what it was fitted on: {'; '.join(reasons)}" if reasons else ""
