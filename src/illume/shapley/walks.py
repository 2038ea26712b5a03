"""Walks from a background row to a row, one feature at a time: unbiased estimates of Shapley values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.shapley.codes import Codes
from illume.shapley.network_arrays import ModelArrays

AT_ONCE = 2**17  # numbers that a step of a walk works on, so that they stay in the cache


@dataclass(frozen=True, eq=False)
class Walks:
    """Walks of many rows: `background` (n,) says where each begins, `order` (n, m) when features change."""

    background: IntArray
    order: IntArray

    @classmethod
    def draw(cls, n: int, m: int, n_background: int, rng: np.random.Generator) -> Walks:
        """Draw a background row and an order of features for each of n rows."""
        return cls(rng.integers(n_background, size=n), rng.random((n, m), dtype=np.float32).argsort(1))


def network_walks(model: ModelArrays, rows: Codes, background: Codes, walks: Walks) -> FloatArray:
    """Return for each row the mean change that each feature makes on its walk and on the same walk reversed.

    (n, m, c), of the gated units alone; main effects are known without a walk.
    """
    n, m = walks.order.shape
    values = np.empty((n, m, model.last.shape[1]), dtype=np.float32)
    size = max(1, AT_ONCE // model.first.shape[1])
    for start in range(0, n, size):
        part = slice(start, min(start + size, n))
        mine = Walks(walks.background[part], walks.order[part])
        values[part] = _network_walks(model, rows[part], background, mine)
    return values


def _network_walks(model: ModelArrays, rows: Codes, background: Codes, walks: Walks) -> FloatArray:
    n, m = walks.order.shape
    change = model.summands(model.table.look_up(rows)[1])
    begin = model.summands(model.table.look_up(background[walks.background])[1])
    change -= begin
    low = begin.sum(0) + model.first_bias
    high = low + change.sum(0)
    each = np.arange(n)
    values = np.empty((n, m, model.last.shape[1]), dtype=np.float32)
    there = at_start = model.interacting(low)
    back = at_end = model.interacting(high)
    for k in range(m):
        feature = walks.order[:, k]
        step = change[feature, each]
        low += step
        high -= step
        last = k == m - 1
        there_next = at_end if last else model.interacting(low)
        back_next = at_start if last else model.interacting(high)
        values[each, feature] = 0.5 * (there_next - there + back - back_next)
        there, back = there_next, back_next
    return values


def mask_of(order: IntArray, k: int) -> np.ndarray:
    """Return which features (n, m) are among the first k of an order.

    >>> mask_of(np.array([[2, 0, 1]]), 2)
    array([[ True, False,  True]])
    """
    mask = np.zeros(order.shape, dtype=bool)
    np.put_along_axis(mask, order[:, :k], True, axis=1)
    return mask


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
