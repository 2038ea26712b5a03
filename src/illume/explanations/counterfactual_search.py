"""The search for counterfactuals: single changes, then more, then as few of them as possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.threads import RowChunks
from illume.explanations.counterfactual_pool import Pool, move_closer

ASKED_AT_ONCE = 262_144
MOST_AT_ONCE = 8  # single changes put together, strongest first
EXAMPLES = 4
PAIRED = 6  # all pairs of this many single changes are tried

# From rows (n,), and where each of their values comes from (n, n_features), to the black box's answers
Ask = Callable[[IntArray, IntArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Task:
    """Rows that want another decision.

    Parameters
    ----------
    X, features
        The rows, encoded (n, m) and by feature (n, n_features).
    decisions, P
        What the black box says of them, (n,) and (n, c).
    desired
        The class that each row wants, -1 for any other than its own, (n,).
    permitted
        Which values of the pool may be taken, (p, n_features).
    max_changes
        How many features may change.
    min_probability
        How sure the black box must be of the new decision.
    """

    X: FloatArray
    features: FloatArray
    decisions: IntArray
    P: FloatArray
    desired: IntArray
    permitted: BoolArray
    max_changes: int
    min_probability: float = 0.0

    def take(self, rows: IntArray) -> Task:
        """Keep some rows."""
        per_row = ("X", "features", "decisions", "P", "desired")
        return replace(self, **{name: getattr(self, name)[rows] for name in per_row})

    def reached(self, P: FloatArray, row: IntArray) -> BoolArray:
        """Return whether answers to changed rows are as desired."""
        found, desired = P.argmax(1), self.desired[row]
        other = np.where(desired >= 0, found == desired, found != self.decisions[row])
        return other & (P.max(1, initial=0.0) >= self.min_probability)

    def score(self, P: FloatArray, row: IntArray) -> FloatArray:
        """Return the log-odds of what is desired."""
        at = np.arange(len(row))
        desired = self.desired[row]
        share = np.where(desired >= 0, P[at, desired], 1.0 - P[at, self.decisions[row]])
        share = np.clip(share, 1e-9, 1 - 1e-9)
        return np.log(share / (1 - share))


@dataclass(frozen=True, eq=False)
class Found:
    """Counterfactuals: of which row, and from which row of the pool each value comes, -1 for its own."""

    row: IntArray
    source: IntArray

    def __len__(self) -> int:
        return len(self.row)

    def take(self, index: IntArray | BoolArray) -> Found:
        """Keep some of them."""
        return Found(self.row[index], self.source[index])

    @property
    def n_changes(self) -> IntArray:
        """How many features each of them changes."""
        return (self.source >= 0).sum(1)

    @classmethod
    def none(cls, n_features: int) -> Found:
        """Return no counterfactual at all."""
        return cls(np.empty(0, dtype=np.intp), np.empty((0, n_features), dtype=np.intp))

    @classmethod
    def concatenate(cls, parts: list[Found]) -> Found:
        """Put several together."""
        return cls(np.concatenate([p.row for p in parts]), np.concatenate([p.source for p in parts]))


class CounterfactualSearch:
    """Finds counterfactuals of all rows of a task, in calls of many rows to the black box.

    First every value worth trying is tried alone. Rows that need more get the strongest single changes
    together, and whole training rows of the desired decision; from these, changes are taken back as long
    as the decision stays.

    Parameters
    ----------
    examples
        From rows to pool rows of the desired decision to start from, nearest first, (n, EXAMPLES).
    effects
        From rows and example rows to how far the change of each feature should lead to what is desired,
        (n, n_features), by the surrogate.
    """

    def __init__(
        self,
        pool: Pool,
        task: Task,
        ask: Ask,
        examples: Callable[[IntArray], IntArray],
        effects: Callable[[IntArray, IntArray], FloatArray],
    ) -> None:
        self.pool, self.task, self.ask = pool, task, ask
        self.examples, self.effects = examples, effects
        self.tried_features, self.tried_rows = pool.values_to_try(task.permitted)
        self.n_asked = 0

    def run(self, wanted: int) -> Found:
        """Return counterfactuals of each row, `wanted` or more of them where they can be had."""
        parts = [Found.none(self.task.features.shape[1])]
        size = max(1, ASKED_AT_ONCE // max(len(self.tried_rows), 1))
        chunks = RowChunks(len(self.task.X), size)
        for part in chunks:
            with chunks:
                parts += self._search_rows(np.arange(part.start, part.stop), wanted)
        return Found.concatenate(parts)

    def _search_rows(self, rows: IntArray, wanted: int) -> list[Found]:
        singles, strongest, gain = self._singles(rows)
        enough = np.bincount(singles.row, minlength=len(self.task.X))[rows] >= wanted
        short = np.flatnonzero(~enough)
        some = rows[short], strongest[short], gain[short]
        more, n_features = [], gain.shape[1]
        for k in range(wanted):  # the strongest changes together, as few as needed, without the k strongest
            ends = range(k + 2, min(k + MOST_AT_ONCE, n_features) + 1)
            found = self._combine(*some, [range(k, end) for end in ends])
            more.append(found.take(np.unique(found.row, return_index=True)[1]))
        more.append(self._combine(*some, list(combinations(range(min(PAIRED, n_features)), 2))))
        more.append(self._from_examples(rows[short]))
        return [singles, self._fewest(Found.concatenate(more))]

    def _singles(self, rows: IntArray) -> tuple[Found, IntArray, FloatArray]:
        """Try every value alone.

        Return what works, the smallest change of each feature; and for each row and feature the pool row
        with the strongest value, and how much it gains in log-odds.
        """
        pool, task = self.pool, self.task
        features, values = self.tried_features, self.tried_rows
        n_features = task.features.shape[1]
        if not len(features):
            nothing = np.full((len(rows), n_features), -1, dtype=np.intp)
            return Found.none(n_features), nothing, np.full(nothing.shape, -np.inf)
        there = pool.features[values, features]
        i, s = np.nonzero(task.features[np.ix_(rows, features)] != there)
        source = np.full((len(i), n_features), -1, dtype=np.int32)  # int32, since it is large
        source[np.arange(len(i)), features[s]] = values[s]
        P = self._ask(rows[i], source)
        score = np.full((len(rows), len(features)), -np.inf)
        score[i, s] = task.score(P, rows[i])
        works = np.zeros(score.shape, dtype=bool)
        works[i, s] = task.reached(P, rows[i])
        size = np.where(works, self._step(rows), np.inf)
        nearest, strongest = self._best(-size), self._best(score)
        at = np.arange(len(rows))[:, None]
        own = task.score(task.P[rows], rows)
        gain = np.where(strongest >= 0, score[at, strongest], -np.inf) - own[:, None]
        r, j = np.nonzero((nearest >= 0) & np.isfinite(size[at, nearest]))
        single = np.full((len(r), n_features), -1, dtype=np.intp)
        single[np.arange(len(r)), j] = values[nearest[r, j]]
        taken = np.where(strongest >= 0, values[strongest], -1)
        return Found(rows[r], single), taken, gain

    def _best(self, score: FloatArray) -> IntArray:
        """Return the position of each feature's best value, (n, n_features); -1 where it has none."""
        best = np.full((len(score), self.task.features.shape[1]), -1, dtype=np.intp)
        for j in np.unique(self.tried_features):
            mine = np.flatnonzero(self.tried_features == j)
            best[:, j] = mine[score[:, mine].argmax(1)]
        return best

    def _step(self, rows: IntArray) -> FloatArray:
        """Return how large each single change is: standard deviations, or 1 for a category."""
        pool = self.pool
        there = pool.features[self.tried_rows, self.tried_features]
        step = np.abs(self.task.features[np.ix_(rows, self.tried_features)] - there)
        first = np.searchsorted(pool.layout.owner, self.tried_features)
        return np.where(pool.layout.onehot[first], 1.0, step)

    def _combine(
        self, rows: IntArray, strongest: IntArray, gain: FloatArray, trials: Sequence[Sequence[int]]
    ) -> Found:
        """Return which sets of single changes work together, trial by trial; 0 is the strongest change."""
        order = np.argsort(-gain, axis=1, kind="stable")
        value = np.where(np.isfinite(gain), strongest, -1)
        sources = np.full((len(trials), *gain.shape), -1, dtype=np.int32)
        for source, ranks in zip(sources, trials, strict=True):
            features = order[:, list(ranks)]
            np.put_along_axis(source, features, np.take_along_axis(value, features, 1), 1)
        tried = Found(np.tile(rows, len(trials)), sources.reshape(-1, gain.shape[1]))
        return tried.take(self.task.reached(self._ask(tried.row, tried.source), tried.row))

    def _from_examples(self, rows: IntArray) -> Found:
        """Start from whole examples and halve the number of changed features while the decision stays."""
        n_features = self.task.features.shape[1]
        if not len(rows):
            return Found.none(n_features)
        examples = self.examples(rows)
        row, example = np.repeat(rows, examples.shape[1]), examples.ravel()
        row, example = row[example >= 0], example[example >= 0]
        if not len(row):
            return Found.none(n_features)
        differs = self.task.features[row] != self.pool.features[example]
        usable = differs & self.task.permitted[example]
        effect = np.where(usable, self.effects(row, example), -np.inf)
        rank = np.argsort(np.argsort(-effect, axis=1, kind="stable"), axis=1, kind="stable")

        def changed(n: IntArray) -> IntArray:
            return np.where(usable & (rank < n[:, None]), example[:, None], -1)

        high = usable.sum(1)
        works = self.task.reached(self._ask(row, changed(high)), row)
        row, example, high = row[works], example[works], high[works]
        usable, rank = usable[works], rank[works]
        low = np.zeros_like(high)  # changes that are too few
        while (high - low > 1).any():
            middle = (low + high) // 2
            open_ = np.flatnonzero(high - low > 1)
            fine = self.task.reached(self._ask(row[open_], changed(middle)[open_]), row[open_])
            high[open_[fine]], low[open_[~fine]] = middle[open_[fine]], middle[open_[~fine]]
        return Found(row, changed(high))

    def _fewest(self, found: Found) -> Found:
        """Take changes back, the least harmful first, as long as the decision stays."""
        source, active = found.source.copy(), np.flatnonzero(found.n_changes > 1)
        while len(active):
            which, feature = np.nonzero(source[active] >= 0)
            trial = source[active[which]]
            trial[np.arange(len(which)), feature] = -1
            row = found.row[active[which]]
            P = self._ask(row, trial)
            score = np.where(self.task.reached(P, row), self.task.score(P, row), -np.inf)
            order = np.lexsort((-score, which))
            _, first = np.unique(which[order], return_index=True)
            best = order[first]
            fine = np.isfinite(score[best])
            gone = best[fine]
            source[active[which[gone]], feature[gone]] = -1
            active = active[which[gone]]
            active = active[(source[active] >= 0).sum(1) > 1]
        return Found(found.row, source)

    def move_closer(self, found: Found) -> Found:
        """Bring changed numbers back towards the row's own, as far as the decision stays."""

        def holds(which: IntArray, source: IntArray) -> BoolArray:
            row = found.row[which]
            return self.task.reached(self._ask(row, source), row)

        own = self.task.features[found.row]
        source = move_closer(self.pool, self.task.permitted, own, found.source, holds)
        # With other values, a change may not be needed any more.
        return self._fewest(Found(found.row, source))

    def _ask(self, row: IntArray, source: IntArray) -> FloatArray:
        self.n_asked += len(row)
        if not len(row):
            return np.empty((0, self.task.P.shape[1]))
        return self.ask(row, source)
