"""Noisy, unbiased Shapley values of the network that learned the model, to learn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.shapley.arrays import ModelArrays
from illume.shapley.codes import Codes
from illume.shapley.walks import Walks, network_walks

CLUE_ROWS = 2_000


@dataclass(frozen=True, eq=False)
class Game:
    """What Shapley values are of: the network that learned the model, rows, and rows to compare with."""

    model: ModelArrays
    rows: Codes
    background: Codes


@dataclass(frozen=True, eq=False)
class Clues:
    """What a walk owes to its background row, predicted from that row.

    Taking it out leaves the mean of walks as it is and makes them less noisy. `known` (n, m, p) describes
    each background row and has mean 0; `effects` (m, p, c) are weights.
    """

    known: FloatArray
    effects: FloatArray

    @classmethod
    def of(cls, model: ModelArrays, background: Codes) -> Clues:
        """Learn weights from walks between background rows."""
        _, embedding = model.table.look_up(background)
        n, m, d = embedding.shape
        totals = model.interacting(embedding.reshape(n, m * d) @ model.first + model.first_bias)
        known = np.concatenate([embedding, np.broadcast_to(totals[:, None], (n, m, totals.shape[1]))], 2)
        known = np.asarray(known - known.mean(0), dtype=np.float32)
        rng = np.random.default_rng(0)
        rows = background[rng.integers(n, size=CLUE_ROWS)]
        walks = Walks.draw(CLUE_ROWS, m, n, rng)
        values = network_walks(model, rows, background, walks)
        return cls(known, _effects(known[walks.background], values))

    def predicted(self, background: IntArray) -> FloatArray:
        """Return what walks that begin at these background rows owe to them, (n, m, c)."""
        return np.einsum("nmp,mpc->nmc", self.known[background], self.effects)


class WalkLabels:
    """Draws unbiased estimates of rows' Shapley values under the network's gated units."""

    def __init__(self, game: Game, rng: np.random.Generator) -> None:
        self.game, self.rng = game, rng
        self.clues = Clues.of(game.model, game.background)
        self.mean = self._interacting(game.background).mean(0)

    def of(self, rows: Codes) -> FloatArray:
        """Return one estimate (n, m, c) for each row."""
        walks = Walks.draw(len(rows), rows.at.shape[1], len(self.game.background), self.rng)
        values = network_walks(self.game.model, rows, self.game.background, walks)
        return np.asarray(values - self.clues.predicted(walks.background), dtype=np.float32)

    def total(self, rows: Codes) -> FloatArray:
        """Return what the values of each row add up to, (n, c)."""
        return np.asarray(self._interacting(rows) - self.mean)

    def _interacting(self, rows: Codes) -> FloatArray:
        model = self.game.model
        _, embedding = model.table.look_up(rows)
        return model.interacting(embedding.reshape(len(rows), -1) @ model.first + model.first_bias)


def _effects(known: FloatArray, values: FloatArray) -> FloatArray:
    """Return how values depend on what is known of background rows, (m, p, c): a ridge regression each."""
    A = np.einsum("nmp,nmq->mpq", known, known, optimize=True)
    b = np.einsum("nmp,nmc->mpc", known, values - values.mean(0), optimize=True)
    ridge = (1e-3 * np.trace(A, axis1=1, axis2=2) / A.shape[1] + 1e-9)[:, None, None] * np.eye(A.shape[1])
    return np.asarray(np.linalg.solve(A + ridge, b), dtype=np.float32)
