"""Conditions of many rules as arrays, in the features' own units and categories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.schema import Feature
from illume.results.conditions import Interval, Membership


@dataclass(frozen=True, eq=False)
class Bounds:
    """What each rule demands of each feature.

    Parameters
    ----------
    features
        The features, in order.
    low, high
        Numbers lie between these, both ends included, (n, n_features); infinite where a side is open.
    missing
        Where a missing number counts as inside, (n, n_features).
    allowed
        Which categories are allowed, (n, n_categories), those of all categorical features side by side.
    first
        Where the categories of each feature begin among all of them, (n_features + 1,).
    """

    features: tuple[Feature, ...]
    low: FloatArray
    high: FloatArray
    missing: BoolArray
    allowed: BoolArray
    first: IntArray

    def __len__(self) -> int:
        return len(self.low)

    def __getitem__(self, rows: Any) -> Bounds:
        taken = {name: getattr(self, name)[rows] for name in ("low", "high", "missing", "allowed")}
        return replace(self, **taken)

    @property
    def conditioned(self) -> BoolArray:
        """Which features each rule says something about, (n, n_features)."""
        said = np.isfinite(self.low) | np.isfinite(self.high)
        for j in np.flatnonzero(np.diff(self.first)):
            said[:, j] = ~self.allowed[:, self.first[j] : self.first[j + 1]].all(1)
        return said

    def conditions(self, row: int) -> tuple[Interval | Membership, ...]:
        """Return one rule's conditions, by feature."""
        said = self[row : row + 1].conditioned[0]
        return tuple(self.condition(row, int(j)) for j in np.flatnonzero(said))

    def condition(self, row: int, j: int) -> Interval | Membership:
        """Return what one rule demands of one feature."""
        feature = self.features[j]
        if feature.numeric:
            low, high = float(self.low[row, j]), float(self.high[row, j])
            return Interval(feature.name, low, high, bool(self.missing[row, j]))
        allowed = self.allowed[row, self.first[j] : self.first[j + 1]]
        pairs = list(zip(feature.categories, allowed, strict=True))
        return Membership(
            feature.name,
            tuple(value for value, inside in pairs if inside),
            tuple(value for value, inside in pairs if not inside),
        )
