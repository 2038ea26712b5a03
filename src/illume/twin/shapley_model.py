"""Shapley values of rows: two networks, and a measured model of their errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import FloatArray
from illume.data.scales import Scale
from illume.twin.network_arrays import Codes, Coding, ModelArrays, ValueArrays
from illume.twin.twin import Contributions


@dataclass(frozen=True, eq=False)
class ErrorModel:
    """How far values are off, measured on held-out rows.

    The remainder, by which a row's values miss the model's scores, is shared out by `share` (m, c). The
    variance of a value's error is `variance` (m, c) times a number that grows with the row's remainder, plus
    a multiple of the squared value: `weights` (3,) of the three. `walk_variance` (m, c) is that of one walk
    and its reverse on the model, with the network as control variate.
    """

    share: FloatArray
    variance: FloatArray
    weights: FloatArray
    remainder: FloatArray
    walk_variance: FloatArray

    @classmethod
    def unknown(cls, m: int, c: int) -> ErrorModel:
        """Return that nothing was measured: the remainder is shared equally, errors are NaN."""
        nothing = np.full((m, c), np.nan)
        return cls(np.full((m, c), 1 / max(m, 1)), nothing, np.zeros(3), np.ones(c), nothing)

    @classmethod
    def none(cls, m: int, c: int) -> ErrorModel:
        """Return that values have no errors."""
        nothing = np.zeros((m, c))
        return cls(np.full((m, c), 1 / m), nothing, np.array([1.0, 0.0, 0.0]), np.ones(c), nothing)

    def errors(self, values: FloatArray, remainder: FloatArray) -> FloatArray:
        """Return standard errors (n, m, c) of values whose remainders were (n, c)."""
        constant, by_remainder, by_value = self.weights
        growth = constant + by_remainder * np.square(remainder / self.remainder)
        return np.sqrt(growth[:, None] * self.variance + by_value * np.square(values))


@dataclass(frozen=True, eq=False)
class ShapleyModel:
    """All that gives rows their Shapley values.

    Values are interventional Shapley values of the model's scores, its answers on the scale that
    contributions add up on: the game's value of a set of features is the mean score over background rows
    whose features of that set are the row's. They add up to the row's score less `base` (c,), the mean score
    of the background rows. Features that `coding` leaves out
    have values of exactly 0; `n_features` counts all.
    """

    scale: Scale
    coding: Coding
    network: ModelArrays
    values: ValueArrays
    base: FloatArray
    errors: ErrorModel
    n_features: int

    def start(self, codes: Codes, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return values (n, m, c) of coded rows that add up to `scores`, and what was shared out (n, c)."""
        return self.share_remainder(self.values(codes), scores)

    def share_remainder(self, raw: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Let values add up to `scores` (n, c); return them and what was shared out."""
        values = raw.astype(np.float64)
        remainder = scores - self.base - values.sum(1)
        values += remainder[:, None] * self.errors.share
        return values, remainder

    @property
    def base_values(self) -> FloatArray:
        """The mean score of the background rows, on the scale that users see, (c,)."""
        return self.scale.center + self.scale.unit * self.base

    def contributions(self, values: FloatArray, errors: FloatArray) -> Contributions:
        """Return values and errors (n, m, c) of coded features as those of all features, in users' units."""
        unit = self.scale.unit
        if (unit != 1.0).any():
            values, errors = values * unit, errors * unit
        return Contributions(self._spread(values), self._spread(errors))

    def _spread(self, values: FloatArray) -> FloatArray:
        """Put values (n, m, c) of coded features where they belong among all features; the others are 0."""
        if len(self.coding.features) == self.n_features:
            return values
        every = np.zeros((len(values), self.n_features, values.shape[2]))
        every[:, self.coding.features] = values
        return every
