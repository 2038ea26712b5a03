"""Per-row figures of trust: local fidelity, refinement, novelty."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray


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
