"""The search for counterfactuals: single changes, then more, then as few of them as possible."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Frame
from illume.data.threads import row_chunks
from illume.errors import BlackBoxError
from illume.explanations.counterfactual_pool import Found, Pool, Task, by_column, move_closer, pick_diverse
from illume.explanations.counterfactual_screening import worth_trying
from illume.explanations.fitted import Fitted
from illume.explanations.neighbours import unit
from illume.explanations.rules import require_rule_model

AT_ONCE = 4_096  # rows
ASKED_AT_ONCE, CELLS_AT_ONCE = 262_144, 2**26  # changed rows, and their cells
EXAMPLES_AT_ONCE = 1_024
MOST_AT_ONCE = 8  # single changes put together, strongest first
EXAMPLES = 4
SPARE = 2  # more counterfactuals are moved closer than are wanted, as some may become equal
FAR = 1e9
NEVER = np.iinfo(np.intp).max
PAIRED = 6  # all pairs of this many single changes are tried
TRIED_FEATURES = 128  # of more features, those are tried that matter most to a row
ONE_BY_ONE = 48  # of more changes, groups are taken back first


class CounterfactualSearch:
    """Finds counterfactuals of all rows of a task, in calls of many rows to the black box.

    First every value worth trying is tried alone. Rows that need more get the strongest single changes
    together, and whole training rows of the desired decision; from these, changes are taken back as long
    as the decision stays.

    Parameters
    ----------
    frame
        The rows of the task as the user gave them.

    Attributes
    ----------
    n_asked
        The number of changed rows that the black box was asked about.
    fewest
        The fewest changes found for each row, (n,); the largest integer where none were found.
    """

    def __init__(self, fitted: Fitted, pool: Pool, task: Task, frame: Frame) -> None:
        self.fitted, self.pool, self.task = fitted, pool, task
        self.frame, self.mixer = frame, frame.mixer(pool.frame)
        self.worth = worth_trying(fitted, pool, task, TRIED_FEATURES)
        some = np.flatnonzero(self.worth.any(0))
        self.tried_features, self.tried_rows = pool.values_to_try(task.limits.permitted, some)
        self.n_asked, self.fewest = 0, np.full(len(task.X), NEVER)

    def run(self, n: int) -> Found:
        """Return the n best counterfactuals of each row, or as many as there are."""
        parts, task = [Found.none(self.task.n_features)], self.task
        todo = np.flatnonzero(~task.goal.reached)
        most = min(ASKED_AT_ONCE, CELLS_AT_ONCE // max(task.n_features, 1))
        each = self.worth[:, self.tried_features].sum(1).max(initial=1)  # questions about a row
        for part in row_chunks(len(todo), max(1, min(AT_ONCE, most // each))):
            found = Found.concatenate(self._search_rows(todo[part], n))
            np.minimum.at(self.fewest, found.row, found.n_changes)
            found = self._pick(found.take(found.n_changes <= task.max_changes), n + SPARE)
            parts.append(self._pick(self._move_closer(found), n))
        return Found.concatenate(parts)

    def verify(self, found: Found) -> tuple[Found, Frame, FloatArray]:
        """Ask about all counterfactuals once more, as they are returned; keep those that still hold."""
        made = self._make(found.row, found.source)
        answers = self._answers(made, found.row)
        holds = np.flatnonzero(self.task.goal.is_reached(answers, found.row))
        if len(holds) < len(found):  # a black box that does not always answer alike
            return found.take(holds), made.take(holds), answers[holds]
        return found, made, answers

    def examples(self, rows: IntArray) -> IntArray:
        """Return pool rows of the desired decision, those with the fewest changes of conditions first.

        The result is (n, EXAMPLES), with -1 for none.
        """
        task, pool = self.task, self.pool
        tree = require_rule_model(self.fitted, task.goal.question).rules
        Z_pool = tree.encoder.transform(pool.X[: len(pool.P)])
        leaf, direction = tree.tree.apply(Z_pool), unit(Z_pool)
        count = min(EXAMPLES, len(pool.P))
        chosen = np.full((len(rows), count), -1, dtype=np.intp)
        for part in row_chunks(len(rows), min(tree.at_once, EXAMPLES_AT_ONCE)):
            mine = rows[part]
            _, Z, _ = tree.latents(task.X[mine], task.decisions[mine])
            far = tree.changes(Z)[:, leaf] + (1 - unit(Z) @ direction.T) / 2.01
            far[~task.goal.suits(pool.P, mine)] = FAR
            best = np.argpartition(far, count - 1, axis=1)[:, :count]
            cost = np.take_along_axis(far, best, axis=1)
            order = np.lexsort((best, cost), axis=1)
            best = np.take_along_axis(best, order, axis=1)
            chosen[part] = np.where(np.take_along_axis(cost, order, axis=1) < FAR, best, -1)
        return chosen

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
        with the strongest value, and how much closer it leads.
        """
        pool, task = self.pool, self.task
        features, values = self.tried_features, self.tried_rows
        n_features = task.n_features
        if not len(features):
            nothing = np.full((len(rows), n_features), -1, dtype=np.intp)
            return Found.none(n_features), nothing, np.full(nothing.shape, -np.inf)
        there = pool.features[values, features]
        differs = (task.features[np.ix_(rows, features)] != there) & self.worth[np.ix_(rows, features)]
        i, s = np.nonzero(differs & task.limits.of_values(rows, features, values))
        source = np.full((len(i), n_features), -1, dtype=np.int32)  # int32, since it is large
        source[np.arange(len(i)), features[s]] = values[s]
        P = self._ask(rows[i], source)
        score = np.full((len(rows), len(features)), -np.inf)
        score[i, s] = task.goal.score(P, rows[i])
        works = np.zeros(score.shape, dtype=bool)
        works[i, s] = task.goal.is_reached(P, rows[i])
        size = np.where(works, self._step(rows), np.inf)
        nearest, strongest = self._best(-size), self._best(score)
        at = np.arange(len(rows))[:, None]
        own = task.goal.score(task.P[rows], rows)
        gain = np.where(strongest >= 0, score[at, strongest], -np.inf) - own[:, None]
        r, j = np.nonzero((nearest >= 0) & np.isfinite(size[at, nearest]))
        single = np.full((len(r), n_features), -1, dtype=np.intp)
        single[np.arange(len(r)), j] = values[nearest[r, j]]
        taken = np.where(strongest >= 0, values[strongest], -1)
        return Found(rows[r], single), taken, gain

    def _best(self, score: FloatArray) -> IntArray:
        """Return the position of each feature's best value, (n, n_features); -1 where it has none."""
        best = np.full((len(score), self.task.n_features), -1, dtype=np.intp)
        features, start, count = np.unique(self.tried_features, return_index=True, return_counts=True)
        for j, first, n in zip(features, start, count, strict=True):  # they stand side by side
            best[:, j] = first + score[:, first : first + n].argmax(1)
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
        return tried.take(self.task.goal.is_reached(self._ask(tried.row, tried.source), tried.row))

    def _from_examples(self, rows: IntArray) -> Found:
        """Start from whole examples and halve the number of changed features while the decision stays."""
        n_features = self.task.n_features
        if not len(rows):
            return Found.none(n_features)
        examples = self.examples(rows)
        row, example = np.repeat(rows, examples.shape[1]), examples.ravel()
        row, example = row[example >= 0], example[example >= 0]
        if not len(row):
            return Found.none(n_features)
        differs = self.task.features[row] != self.pool.features[example]
        usable = differs & self.task.limits.of_examples(row, example)
        effect = np.where(usable, self._effects(row, example), -np.inf)
        rank = np.argsort(np.argsort(-effect, axis=1, kind="stable"), axis=1, kind="stable")

        def changed(n: IntArray) -> IntArray:
            return np.where(usable & (rank < n[:, None]), example[:, None], -1)

        high = usable.sum(1)
        works = self.task.goal.is_reached(self._ask(row, changed(high)), row)
        row, example, high = row[works], example[works], high[works]
        usable, rank = usable[works], rank[works]
        low = np.zeros_like(high)  # changes that are too few
        while (high - low > 1).any():
            middle = (low + high) // 2
            open_ = np.flatnonzero(high - low > 1)
            fine = self.task.goal.is_reached(self._ask(row[open_], changed(middle)[open_]), row[open_])
            high[open_[fine]], low[open_[~fine]] = middle[open_[fine]], middle[open_[~fine]]
        return Found(row, changed(high))

    def _fewest(self, found: Found) -> Found:
        """Take changes back, the least harmful first, as long as the decision stays."""
        found = self._take_back_groups(found)
        few = (found.n_changes > 1) & (found.n_changes <= ONE_BY_ONE)
        source, active = found.source.copy(), np.flatnonzero(few)
        while len(active):
            which, feature = np.nonzero(source[active] >= 0)
            trial = source[active[which]]
            trial[np.arange(len(which)), feature] = -1
            row = found.row[active[which]]
            P = self._ask(row, trial)
            score = np.where(self.task.goal.is_reached(P, row), self.task.goal.score(P, row), -np.inf)
            order = np.lexsort((-score, which))
            _, first = np.unique(which[order], return_index=True)
            best = order[first]
            fine = np.isfinite(score[best])
            gone = best[fine]
            source[active[which[gone]], feature[gone]] = -1
            active = active[which[gone]]
            active = active[(source[active] >= 0).sum(1) > 1]
        return Found(found.row, source)

    def _take_back_groups(self, found: Found) -> Found:
        """Take groups of changes back where there are many: halves, then quarters and so on."""
        source, many = found.source.copy(), np.flatnonzero(found.n_changes > ONE_BY_ONE)
        for n_groups in (2, 4, 8, 16, 32) if len(many) else ():
            changed = source[many] >= 0
            group = np.where(
                changed, (np.cumsum(changed, axis=1) - 1) * n_groups // changed.sum(1)[:, None], -1
            )
            for g in range(n_groups):
                trial = np.where(group == g, -1, source[many])
                fine = self.task.goal.is_reached(self._ask(found.row[many], trial), found.row[many])
                source[many[fine]] = trial[fine]
        return Found(found.row, source)

    def _move_closer(self, found: Found) -> Found:
        """Bring changed numbers back towards the row's own, as far as the decision stays."""

        def holds(which: IntArray, source: IntArray) -> BoolArray:
            row = found.row[which]
            return self.task.goal.is_reached(self._ask(row, source), row)

        own = self.task.features[found.row]
        source = move_closer(self.pool, self.task.limits.permitted, own, found.source, holds)
        # With other values, a change may not be needed any more.
        return self._fewest(Found(found.row, source))

    def _pick(self, found: Found, n: int) -> Found:
        """Return n of the counterfactuals of each row, no two the same."""
        values = np.where(
            found.source >= 0, self.pool.features[found.source, np.arange(found.source.shape[1])], np.inf
        )
        _, first = np.unique(np.column_stack([found.row, values]), axis=0, return_index=True)
        found = found.take(np.sort(first))
        distance = self.pool.distance(self.task.X[found.row], found.source)
        return found.take(pick_diverse(found.row, found.source >= 0, distance, n))

    def _effects(self, row: IntArray, example: IntArray) -> FloatArray:
        """Return how much each feature of an example leads to what is desired, by the surrogate."""
        task, pair = self.task, self.fitted.pair
        rows, at = np.unique(row, return_inverse=True)
        slopes = pair.encoder.pull_back(task.X[rows], pair.surrogate.coef_).slopes
        direction = task.goal.direction(slopes, rows)
        return self.fitted.encoding.gather(direction[at] * (self.pool.X[example] - task.X[row]))

    def _make(self, row: IntArray, source: IntArray) -> Frame:
        """Return rows of the frame with features from the pool."""
        return self.mixer(row, by_column(source, self.fitted.schema.names, self.frame.names))

    def _ask(self, row: IntArray, source: IntArray) -> FloatArray:
        self.n_asked += len(row)
        if not len(row):
            return np.empty((0, self.task.P.shape[1]))
        return self._answers(self._make(row, source), row)

    def _answers(self, made: Frame, row: IntArray) -> FloatArray:
        """Ask about changed rows; an error names them by the rows that they were made of."""
        try:
            return self.fitted.black_box(made)
        except BlackBoxError as error:
            named = ", named by the rows they were made of" if error.rows else ""
            said = BlackBoxError(f"on changed rows{named}, {error.message}", error.rows, error.more)
            raise said.renumber(row.tolist().__getitem__) from error.__cause__
