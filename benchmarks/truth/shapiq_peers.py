"""shapiq's regression: sets drawn by the kernel's weights, or by leverage, which draws all sizes alike."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.truth.budgets import shared
from benchmarks.truth.case import Case
from benchmarks.truth.explaining import Ready, Values
from benchmarks.truth.shap_peers import picked
from illume._typing import BoolArray, FloatArray, IntArray

SETS_PER_FEATURE = 4  # with fewer, pairs of sets leave the equations singular or nearly so
ALWAYS = 1e6  # weight of the empty and the full set


def kernel(case: Case, budget: str) -> Ready:
    """`KernelSHAP` with paired sets."""
    return _regression(case, budget, None)


def leverage(case: Case, budget: str) -> Ready:
    """`KernelSHAP` with paired sets and the sampling of LeverageSHAP: every size as likely."""
    weights = np.ones(case.X.shape[1] + 1)
    weights[[0, -1]] = ALWAYS
    return _regression(case, budget, weights / weights.sum())


class Game:
    """A row's game: the mean log-odds over background rows, kept for sets that are asked for again."""

    def __init__(self, case: Case, x: FloatArray, background: FloatArray) -> None:
        self.case, self.x, self.background = case, x, background
        self.known: dict[bytes, FloatArray] = {}

    def worths(self, sets: BoolArray) -> FloatArray:
        """Return what sets of features are worth, (sets, outputs)."""
        sets = np.asarray(sets, dtype=bool)
        keys = [one.tobytes() for one in sets]
        new = list({key: i for i, key in enumerate(keys) if key not in self.known}.values())
        if new:
            rows = np.where(sets[new][:, None, :], self.x, self.background)
            answers = self.case.log_odds(rows.reshape(-1, len(self.x)))
            found = answers.reshape(len(new), len(self.background), -1).mean(axis=1)
            self.known |= {keys[i]: worth for i, worth in zip(new, found, strict=True)}
        return np.stack([self.known[key] for key in keys])


def _regression(case: Case, budget: str, weights: FloatArray | None) -> Ready:
    from shapiq.approximator import KernelSHAP

    n_features = case.X.shape[1]
    shares = shared(budget, SETS_PER_FEATURE * n_features, len(case.B), most_sets=2**n_features)
    start, before = time.perf_counter(), case.counted.asks
    background = picked(case, shares.background)
    empty = case.log_odds(background).mean(axis=0)

    def of_row(row: int) -> FloatArray:
        game = Game(case, case.X[row], background)
        game.known[np.zeros(n_features, dtype=bool).tobytes()] = empty
        values = np.empty((n_features, len(empty)))
        for output in range(len(empty)):  # the same seed draws the same sets for each output
            approximator = KernelSHAP(
                n_features, pairing_trick=True, sampling_weights=weights, random_state=case.problem.seed
            )
            found = approximator.approximate(
                shares.sets, lambda sets, output=output: game.worths(sets)[:, output]
            )
            values[:, output] = found.get_n_order_values(1)
        return values

    def explain(rows: IntArray) -> Values:
        return np.stack([of_row(row) for row in rows]), None

    spent = time.perf_counter() - start
    return Ready(explain, fit_s=spent, fit_asks=case.counted.asks - before, setting=dict(shares.__dict__))
