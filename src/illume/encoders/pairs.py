"""Pairs of rows to learn from: a row, a step to another one near it, and the model's scores of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.threads import row_chunks

Answer = Callable[[FloatArray, BoolArray], FloatArray]
"""Scores (n, s) of encoded rows (n, m), of whose features some were missing, (n, n_features).

Scores are log-odds of the second of two classes, logarithms of the probabilities of more, or numbers on the
scale that they add up on.
"""

RADIUS = 0.5  # of steps, in standard deviations of each number
REAL_SHARE = 0.25  # of rows that are not mixed with others
JITTERED_SHARE = 0.5  # of rows that are moved themselves, by up to RADIUS
MOST_CELLS = 2**24  # of the rows of all pairs
AT_ONCE = 8_192
NEAREST = 5  # rows, one of which a row is paired with where there is nothing to ask
SEARCHED = 4_096  # rows among which the nearest are found


@dataclass(frozen=True, eq=False)
class Asked:
    """What answers made-up rows, and what making them up takes.

    Parameters
    ----------
    answer
        Gives the scores of rows.
    imputed
        Of which features the training rows miss a value, (n, n_features).
    owner
        Which feature each input belongs to, (m,).
    n_pairs
        How many pairs to make; two rows are answered for each.
    """

    answer: Answer
    imputed: BoolArray
    owner: IntArray
    n_pairs: int


@dataclass(frozen=True, eq=False)
class Pairs:
    """Rows X (n, m) with steps D (n, m), and the scores of X and of X + D, (n, s) each, all float32."""

    X: FloatArray
    D: FloatArray
    here: FloatArray
    there: FloatArray

    def __len__(self) -> int:
        return len(self.X)


def make_pairs(X: FloatArray, asked: Asked, onehot: BoolArray, rng: np.random.Generator) -> Pairs:
    """Make up pairs from training rows X (n, m) and have them answered.

    A quarter of the rows are real; of the others each feature is that of one of two real rows. Half of all
    are moved a little. Steps move numbers alone, and never one that was missing.
    """
    m, n = X.shape[1], max(1, min(asked.n_pairs, MOST_CELLS // X.shape[1]))
    made: FloatArray = np.empty((n, m), dtype=np.float32)
    steps: FloatArray = np.empty((n, m), dtype=np.float32)
    scores: list[tuple[FloatArray, FloatArray]] = []
    for rows in row_chunks(n, AT_ONCE):
        some, missing = _mix(X, asked, rows.stop - rows.start, rng)
        fixed = missing[:, asked.owner] | onehot | (np.ptp(X, axis=0) == 0)
        moved = rng.random((len(some), 1)) < JITTERED_SHARE
        far = np.where(moved, RADIUS * rng.random((len(some), 1)), 0.0)
        some += np.where(fixed, 0.0, far * rng.normal(size=some.shape))
        step = np.where(fixed, 0.0, RADIUS * rng.normal(size=some.shape))
        made[rows], steps[rows] = some, step
        scores.append((asked.answer(some, missing), asked.answer(some + step, missing)))
    here, there = (np.concatenate(each) for each in zip(*scores, strict=True))
    return Pairs(made, steps, here, there)


def _mix(X: FloatArray, asked: Asked, n: int, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
    """Return rows each of whose features is that of one of two rows, and which of them are missing."""
    one, other = rng.integers(len(X), size=(2, n))
    share = np.where(rng.random(n) < REAL_SHARE, 1.0, rng.random(n))
    taken = rng.random((n, asked.imputed.shape[1])) < share[:, None]
    mixed = np.where(taken[:, asked.owner], X[one], X[other])
    return mixed, np.where(taken, asked.imputed[one], asked.imputed[other])


def pair_neighbours(X: FloatArray, S: FloatArray, n: int, rng: np.random.Generator) -> Pairs:
    """Pair rows X (n, m) that have scores S (n, s) with near ones of the same rows, at most n pairs.

    >>> X = np.array([[0.0], [1.0]])
    >>> pairs = pair_neighbours(X, 3 * X, 2, np.random.default_rng(0))
    >>> (3 * pairs.D == pairs.there - pairs.here).all()
    np.True_
    """
    from sklearn.neighbors import NearestNeighbors

    first, second = [], []
    times = max(1, min(NEAREST, n // len(X)))
    order = rng.permutation(len(X))
    for part in row_chunks(len(X), SEARCHED):
        block = order[part]
        k = min(NEAREST + 1, len(block))
        near = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X[block])
        found = near.kneighbors(X[block], return_distance=False)[:, 1:]
        if not found.shape[1]:  # a row alone
            found = np.zeros((len(block), 1), dtype=np.intp)
        for _ in range(times):
            pick = rng.integers(found.shape[1], size=len(block))
            first.append(block)
            second.append(block[found[np.arange(len(block)), pick]])
    i, j = np.concatenate(first)[:n], np.concatenate(second)[:n]
    return Pairs(X[i].astype(np.float32), (X[j] - X[i]).astype(np.float32), S[i], S[j])
