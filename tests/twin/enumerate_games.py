"""Shapley values by asking about every set of features."""

from itertools import combinations
from math import factorial

import numpy as np


def subsets(m):
    return [frozenset(s) for k in range(m + 1) for s in combinations(range(m), k)]


def game(score, rows, background, m, take):
    """Return the mean score over background rows, by set of features, for each row.

    `take(row, S)` returns the background rows with the features of S from a row.
    """
    return [{S: score(take(i, S)).mean(0) for S in subsets(m)} for i in range(len(rows))]


def shapley(game, m):
    """Return the values of one row's game."""
    weight = [factorial(k) * factorial(m - k - 1) / factorial(m) for k in range(m)]
    return np.array(
        [sum(weight[len(S)] * (game[S | {j}] - game[S]) for S in game if j not in S) for j in range(m)]
    )


def interactions(game, m):
    """Return Shapley interaction values of all pairs of one row's game."""
    weight = [factorial(k) * factorial(m - k - 2) / factorial(m - 1) for k in range(m - 1)]
    found = np.zeros((m, m, *np.shape(game[frozenset()])))
    for i, j in combinations(range(m), 2):
        found[i, j] = found[j, i] = sum(
            weight[len(S)] * (game[S | {i, j}] - game[S | {i}] - game[S | {j}] + game[S])
            for S in game
            if not S & {i, j}
        )
    return found
