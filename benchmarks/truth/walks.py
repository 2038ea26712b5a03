"""Shapley values by walks: features change one by one, in random order and back, to those of a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.truth.enumeration import Ask
from illume._typing import FloatArray, IntArray

ROWS_AT_ONCE = 100_000
FIRST_PAIRS = 8


@dataclass(frozen=True, eq=False)
class Halves:
    """Two independent estimates, each of half of the walks, and what they cost."""

    first: FloatArray  # (n, features, outputs)
    second: FloatArray
    asks: int = 0

    @property
    def values(self) -> FloatArray:
        """Return the estimate of all walks."""
        return (self.first + self.second) / 2

    @property
    def noise(self) -> float:
        """Return the variance of the estimate's noise as a share of the variance of the values."""
        spread = np.square(self.values - self.values.mean(axis=0)).sum()
        return float(np.square(self.first - self.second).sum() / 4 / spread) if spread > 0 else 0.0


def walked(
    ask: Ask, X: FloatArray, background: FloatArray, *, noise: float, most_asks: int, seed: int = 0
) -> Halves:
    """Walk until the noise is small enough, or no more may be asked."""
    walker = Walker(ask, X, background, seed)
    pairs = FIRST_PAIRS
    while True:
        walker.add(pairs)
        found, pairs = walker.halves(), walker.pairs  # twice as many in all, each time
        cost = 2 * pairs * walker.asks_per_pair * len(X)
        if found.noise <= noise or found.asks + cost > most_asks:
            return found


class Walker:
    """Walks from background rows to rows, in two independent halves.

    Each half goes through the whole background in an order of its own before it meets a row of it again.
    """

    def __init__(self, ask: Ask, X: FloatArray, background: FloatArray, seed: int = 0) -> None:
        self.ask, self.X, self.background = ask, X, background
        self.rng = np.random.default_rng([seed, 11])
        self.ends, self.starts = ask(X), ask(background)
        self.pairs = 0  # in each half
        self.sums = np.zeros((2, *X.shape, self.ends.shape[1]))
        self.orders = np.argsort(self.rng.random((2, len(X), len(background))), axis=2)

    @property
    def asks_per_pair(self) -> int:
        """Return what a walk and the walk in reverse order ask."""
        return 2 * (self.X.shape[1] - 1)

    def add(self, pairs: int) -> None:
        """Walk so many more pairs in each half."""
        count = min(pairs, max(1, ROWS_AT_ONCE // max(1, self.asks_per_pair)))
        step = max(1, ROWS_AT_ONCE // max(1, self.asks_per_pair * count))
        for half in (0, 1):
            for start in range(0, len(self.X), step):
                rows = np.arange(start, min(start + step, len(self.X)))
                for first in range(0, pairs, count):
                    places = np.arange(self.pairs + first, self.pairs + min(first + count, pairs))
                    behind = self.orders[half][rows][:, places % len(self.background)]
                    self.sums[half, rows] += self._walk(rows, behind)
        self.pairs += pairs

    def halves(self) -> Halves:
        """Return what the walks say so far."""
        asked = len(self.X) * (1 + 2 * self.pairs * self.asks_per_pair) + len(self.background)
        return Halves(self.sums[0] / self.pairs, self.sums[1] / self.pairs, asked)

    def _walk(self, rows: IntArray, behind: IntArray) -> FloatArray:
        """Return the summed gains of features, (rows, features, outputs), over pairs from rows `behind`."""
        n, pairs = behind.shape
        n_features = self.X.shape[1]
        rank = np.argsort(self.rng.random((n, pairs, n_features)), axis=2)
        total = np.zeros((n, n_features, self.ends.shape[1]))
        for places in (rank, n_features - 1 - rank):
            total += self._gains(rows, behind, places).sum(axis=1)
        return total / 2

    def _gains(self, rows: IntArray, behind: IntArray, rank: IntArray) -> FloatArray:
        n, pairs, n_features = rank.shape
        outputs = self.ends.shape[1]
        path = np.empty((n, pairs, n_features + 1, outputs))
        path[:, :, 0] = self.starts[behind]
        path[:, :, -1] = self.ends[rows][:, None]
        if n_features > 1:
            changed = rank[:, :, None, :] < np.arange(1, n_features)[:, None]
            points = np.where(changed, self.X[rows][:, None, None], self.background[behind][:, :, None])
            answers = self.ask(points.reshape(-1, n_features))
            path[:, :, 1:-1] = answers.reshape(n, pairs, n_features - 1, outputs)
        return np.take_along_axis(np.diff(path, axis=2), rank[..., None], axis=2)
