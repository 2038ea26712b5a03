"""The scale that contributions add up on: log-odds of the model's probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.shapley.network_arrays import Codes, Coding, ModelArrays, RowEmbedding, ValueArrays

LEAST, MOST = 1e-6, 1e-2  # bounds of what a probability of 0 counts as


@dataclass(frozen=True)
class LogOdds:
    """Log-odds of probabilities, which are clipped to `least` and `1 - least`.

    For two classes the log-odds of the second, (n, 1); for more, the logarithm of each class's probability
    less the mean of all logarithms, (n, c).

    >>> LogOdds()(np.array([[0.5, 0.5], [0.2, 0.8]])).round(3)
    array([[0.   ],
           [1.386]])
    """

    least: float = LEAST

    @classmethod
    def fit(cls, P: FloatArray) -> LogOdds:
        """Choose what a probability of exactly 0 counts as: half the smallest other one that was answered.

        A forest of 100 trees that answers in steps of 0.01 has 0.005; a model that never answers 0 or 1
        is clipped at 0.000001.

        >>> LogOdds.fit(np.array([[0.0, 1.0], [0.99, 0.01]])).least
        0.005
        """
        if not (P <= 0).any():
            return cls()
        smallest = float(P[P > 0].min())
        return cls(min(max(smallest / 2, LEAST), MOST))

    def __call__(self, P: FloatArray) -> FloatArray:
        """Return the log-odds of probabilities (n, c)."""
        clipped = np.clip(P, self.least, 1.0 - self.least)
        if P.shape[1] == 2:
            return np.log(clipped[:, 1:] / clipped[:, :1])
        logs = np.log(clipped)
        return np.asarray(logs - logs.mean(1, keepdims=True))


class Contributions(NamedTuple):
    """Shapley values and their standard errors, (n, n_features, c)."""

    values: FloatArray
    errors: FloatArray


@dataclass(frozen=True, eq=False)
class ErrorModel:
    """How far values are off, measured on held-out rows.

    The remainder, by which a row's values miss the model's log-odds, is shared out by `share` (m, c). The
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

    def errors(self, values: FloatArray, remainder: FloatArray) -> FloatArray:
        """Return standard errors (n, m, c) of values whose remainders were (n, c)."""
        constant, by_remainder, by_value = self.weights
        growth = constant + by_remainder * np.square(remainder / self.remainder)
        return np.sqrt(growth[:, None] * self.variance + by_value * np.square(values))


@dataclass(frozen=True, eq=False)
class ShapleyModel:
    """All that gives rows their Shapley values.

    Values are interventional Shapley values of the model's log-odds: the game's value of a set of features is
    the mean log-odds over background rows whose features of that set are the row's. They add up to the row's
    log-odds less `base` (c,), the mean log-odds of the background rows. Features that `coding` leaves out
    have values of exactly 0; `n_features` counts all.
    """

    log_odds: LogOdds
    coding: Coding
    network: ModelArrays
    values: ValueArrays
    base: FloatArray
    errors: ErrorModel
    n_features: int

    def __call__(self, X: FloatArray, imputed: BoolArray, P: FloatArray) -> Contributions:
        """Return values of encoded rows X that the model answers with probabilities P."""
        raw = self.values.from_embedding(*self.embedding(X, imputed))
        values, remainder = self._share_remainder(raw, self.log_odds(P))
        errors = self.errors.errors(values, remainder)
        return Contributions(self.spread(values), self.spread(errors))

    @cached_property
    def embedding(self) -> RowEmbedding:
        """How encoded rows are embedded."""
        return RowEmbedding.from_table(self.coding, self.values.table)

    def start(self, codes: Codes, log_odds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return values (n, m, c) of coded rows that add up to `log_odds`, and what was shared out (n, c)."""
        return self._share_remainder(self.values(codes), log_odds)

    def _share_remainder(self, raw: FloatArray, log_odds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Let values add up to `log_odds` (n, c); return them and what was shared out."""
        values = raw.astype(np.float64)
        remainder = log_odds - self.base - values.sum(1)
        values += remainder[:, None] * self.errors.share
        return values, remainder

    def spread(self, values: FloatArray) -> FloatArray:
        """Put values (n, m, c) of coded features where they belong among all features; the others are 0."""
        if len(self.coding.features) == self.n_features:
            return values
        every = np.zeros((len(values), self.n_features, values.shape[2]))
        every[:, self.coding.features] = values
        return every
