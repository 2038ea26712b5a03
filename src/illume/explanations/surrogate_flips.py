"""How often changes that flip the surrogate's answer flip the model's, too: measured on given rows.

The changes are found as the explorer does it: the least ones, of few features, with which the surrogate's
answer goes beyond the boundary by a lead. Log-odds are the unit of leads; for numbers, standard deviations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.class_outputs import Classes
from illume.data.frames import Frame
from illume.data.number_outputs import Numbers
from illume.data.outputs import Outputs
from illume.data.sampling import stratified
from illume.explanations.counterfactual_pool import Pool, by_column, by_feature, move_closer
from illume.explanations.fitted import Fitted

WANTED = 0.9  # share of suggestions that hold
HALF = 0.5  # standard deviations that a prediction should change by
MOST_ROWS, MOST_TRIED = 100, 30_000  # rows to change, and single changes of all of them
MOST_CHANGES = 3
TINY = 1e-300


@dataclass(frozen=True)
class HeldFlips:
    """How many suggested changes the model confirmed.

    `margin` is the smallest lead at which it confirmed 90 % of them, or else the lead with the highest share.
    `n` and `held` count suggestions with that lead, `n_close` and `held_close` those that just cross the
    boundary.
    """

    margin: float
    n: int
    held: int
    n_close: int
    held_close: int


class Aim(ABC):
    """What changes of rows should reach, from the surrogate's answers to the rows, Q (n, c).

    `group` (n,) is what the figures of a row count for, of `n_groups`.
    """

    leads: ClassVar[tuple[float, ...]]
    group: IntArray
    n_groups: int

    @abstractmethod
    def lead(self, answers: FloatArray, row: IntArray) -> FloatArray:
        """Return how far answers (k, c) to changed rows are beyond the boundary, (k,); negative before it."""

    @abstractmethod
    def holds(self, answers: FloatArray, changed: FloatArray, row: IntArray) -> BoolArray:
        """Return where the model's answers to changed rows come to what the surrogate's do, (k,)."""


class OtherClass(Aim):
    """Any class but the row's own."""

    leads = (0.0, 0.5, 1.0, 2.0, 4.0)

    def __init__(self, outputs: Classes, Q: FloatArray) -> None:
        self.outputs, self.group, self.n_groups = outputs, outputs.decide(Q), len(outputs)

    def lead(self, answers: FloatArray, row: IntArray) -> FloatArray:
        """See `Aim`."""
        logs, at, start = np.log(np.maximum(answers, TINY)), np.arange(len(row)), self.group[row]
        own = logs[at, start]
        logs[at, start] = -np.inf
        edge = 0.0 if self.outputs.cutoff is None else self.outputs.cutoff.log_odds
        return np.asarray(logs.max(1) - own + np.where(start == 1, edge, -edge))

    def holds(self, answers: FloatArray, changed: FloatArray, row: IntArray) -> BoolArray:
        """See `Aim`."""
        return np.asarray(self.outputs.decide(answers) == self.outputs.decide(changed))


class OtherNumber(Aim):
    """A larger number for half of the rows, a smaller one for the other half."""

    leads = (0.0, 0.1, 0.2, 0.3, 0.5)
    n_groups = 2

    def __init__(self, outputs: Numbers, Q: FloatArray) -> None:
        self.y, self.spread, self.group = Q[:, 0], outputs.spread[0], np.arange(len(Q)) % 2

    def lead(self, answers: FloatArray, row: IntArray) -> FloatArray:
        """See `Aim`."""
        moved = (answers[:, 0] - self.y[row]) / self.spread
        return np.asarray(np.where(self.group[row] > 0, -moved, moved) - HALF)

    def holds(self, answers: FloatArray, changed: FloatArray, row: IntArray) -> BoolArray:
        """See `Aim`."""
        return np.asarray(self.lead(answers, row) >= 0)


def measure_flips(fitted: Fitted, frame: Frame, P: FloatArray) -> list[HeldFlips]:
    """Change rows that the model answers with P (n, c), and ask it about the changed ones.

    Return figures by the class of the row; for numbers, of predictions that should rise and that should fall.
    """
    outputs, pool = fitted.outputs, Pool.of(fitted, {})
    tried = pool.values_to_try(pool.present, np.arange(len(fitted.schema)))
    encoded = fitted.encode(frame)
    Q = fitted.pair.answers(encoded.X)
    usable = np.flatnonzero(outputs.alike(P, Q) & ~encoded.imputed.any(1))
    most = max(min(MOST_ROWS, MOST_TRIED // max(len(tried[0]), 1)), 20)
    rows = usable[stratified(outputs.strata.decide(Q[usable]), most, most // 4)]
    aim = _aim(outputs, Q[rows])
    search = _Search(fitted, pool, encoded.X[rows], aim, tried)
    mixer = frame.mixer(pool.frame)
    found = []  # by lead: whether a change was found, and whether it held, by row
    for lead in aim.leads:
        row, source = search.least(lead)
        held = np.zeros((2, len(rows)), dtype=bool)
        if len(row):
            made = mixer(rows[row], by_column(source, fitted.schema.names, frame.names))
            held[0, row] = True
            held[1, row] = aim.holds(fitted.black_box(made), search.answers(row, source), row)
        found.append(held)
    counts = np.array(found)
    return [_choose(counts[:, :, aim.group == group].sum(2), aim.leads) for group in range(aim.n_groups)]


def _aim(outputs: Outputs, Q: FloatArray) -> Aim:
    return OtherNumber(outputs, Q) if isinstance(outputs, Numbers) else OtherClass(cast(Classes, outputs), Q)


def _choose(counts: IntArray, leads: tuple[float, ...]) -> HeldFlips:
    """Choose a lead by the suggestions found with each, and those of them that held, (l, 2)."""
    share = (counts[:, 1] + 1) / (counts[:, 0] + 2)  # few of few are less sure than many of many
    good = np.flatnonzero(counts[:, 1] >= WANTED * np.maximum(counts[:, 0], 1))
    at = int(good[0]) if len(good) else int(share.argmax())
    return HeldFlips(leads[at], *counts[at].tolist(), *counts[0].tolist())


class _Search:
    """Finds the least changes that lead the surrogate beyond the boundary: of one feature, else of more."""

    def __init__(
        self, fitted: Fitted, pool: Pool, X: FloatArray, aim: Aim, tried: tuple[IntArray, IntArray]
    ) -> None:
        self.pair, self.pool, self.X, self.aim = fitted.pair, pool, X, aim
        self.features = by_feature(pool.layout, X, len(fitted.schema))
        self.n_features, (feature, values) = len(fitted.schema), tried
        n, v = len(X), len(feature)
        self.single = np.full((v, len(fitted.schema)), -1, dtype=np.intp)
        self.single[np.arange(v), feature] = values
        row, each = np.repeat(np.arange(n), v), np.tile(self.single, (n, 1))
        self.gain = self._lead(row, each).reshape(n, v)
        self.size = pool.distance(X[row], each).reshape(n, v)
        # The strongest changes of different features
        self.strongest = []
        for order in np.argsort(-self.gain, axis=1, kind="stable"):
            first = np.sort(np.unique(feature[order], return_index=True)[1])
            self.strongest.append(order[first[:MOST_CHANGES]])

    def answers(self, row: IntArray, source: IntArray) -> FloatArray:
        """Return the surrogate's answers to changed rows."""
        return self.pair.answers(self.pool.compose(self.X[row], source))

    def _lead(self, row: IntArray, source: IntArray) -> FloatArray:
        return self.aim.lead(self.answers(row, source), row) if len(row) else np.empty(0)

    def least(self, lead: float) -> tuple[IntArray, IntArray]:
        """Return the rows for which changes were found, and where their values come from."""
        size = np.where(self.gain > lead, self.size, np.inf)
        found: BoolArray = np.asarray(np.isfinite(size).any(1))
        source = np.full(self.features.shape, -1, dtype=np.intp)
        source[found] = self.single[size[found].argmin(1)]
        for n_changes in range(2, MOST_CHANGES + 1):
            rest = np.flatnonzero(~found)
            sets = [self.single[self.strongest[i][:n_changes]].max(0, initial=-1) for i in rest]
            together = np.array(sets, dtype=np.intp).reshape(len(rest), self.n_features)
            works = self._lead(rest, together) > lead
            source[rest[works]], found[rest[works]] = together[works], True
        row = np.flatnonzero(found)

        def holds(which: IntArray, trial: IntArray) -> BoolArray:
            return self._lead(row[which], trial) > lead

        return row, move_closer(self.pool, self.pool.present, self.features[row], source[row], holds)
