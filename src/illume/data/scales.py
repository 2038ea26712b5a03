"""Scales on which contributions add up: log-odds of probabilities, or numbers and their logarithms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from illume._typing import FloatArray

LEAST, MOST = 1e-6, 1e-2  # bounds of what a probability of 0 counts as
LINKS = ("identity", "log")
CLASS_SCALES = LOG_ODDS, PROBABILITY = "log-odds", "probability"
VOTES = 0.01  # share of answers of exactly 0 or 1 from which on these are votes, not rounding


class Scale(Protocol):
    """A scale on which contributions add up.

    Shapley values are learned of standardised scores; `center + unit * score`, (s,) each, is on the scale
    that users see. A probability below `least` counts as that.
    """

    @property
    def least(self) -> float: ...
    @property
    def center(self) -> FloatArray: ...
    @property
    def unit(self) -> FloatArray: ...

    def __call__(self, P: FloatArray) -> FloatArray:
        """Return standardised scores (n, s) of answers (n, c)."""
        ...


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
    center: ClassVar[FloatArray] = np.zeros(1)
    unit: ClassVar[FloatArray] = np.ones(1)

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


@dataclass(frozen=True)
class Shares:
    """Probabilities themselves: that of the second of two classes, (n, 1), or those of all, (n, c).

    >>> Shares()(np.array([[0.25, 0.75]]))
    array([[0.75]])
    """

    least: ClassVar[float] = 0.0
    center: ClassVar[FloatArray] = np.zeros(1)
    unit: ClassVar[FloatArray] = np.ones(1)

    def __call__(self, P: FloatArray) -> FloatArray:
        """Return the scores (n, s) of probabilities (n, c)."""
        return P[:, 1:] if P.shape[1] == 2 else P


def are_votes(P: FloatArray) -> bool:
    """Whether so many answers are exactly 0 or 1 that log-odds mean nothing.

    >>> are_votes(np.array([[0.0, 1.0], [0.2, 0.8]])), are_votes(np.array([[0.2, 0.8]]))
    (True, False)
    """
    return bool(((P <= 0) | (P >= 1)).any(1).mean() > VOTES)


@dataclass(frozen=True, eq=False)
class NumberScale:
    """The model's numbers, or with `link="log"` their logarithms, less `center` and divided by `unit`, (c,).

    >>> NumberScale("identity", np.array([100.0]), np.array([10.0]))(np.array([[120.0]]))
    array([[2.]])
    """

    link: str
    center: FloatArray
    unit: FloatArray
    least: ClassVar[float] = 0.0

    @classmethod
    def fit(cls, P: FloatArray, link: str = "identity") -> NumberScale:
        """Standardise numbers (n, c); a constant one has the unit 1."""
        scores = apply_link(P, link)
        spread = scores.std(0)
        return cls(link, scores.mean(0), np.where(spread > 0, spread, 1.0))

    def __call__(self, P: FloatArray) -> FloatArray:
        return (apply_link(P, self.link) - self.center) / self.unit


def apply_link(P: FloatArray, link: str) -> FloatArray:
    """Return numbers on the scale of a link."""
    return np.log(P) if link == "log" else P
