"""The scale that contributions add up on: log-odds of the model's probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import FloatArray

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
