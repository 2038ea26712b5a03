"""From a frame's rows to their counterfactuals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.assembly.answers import BlackBoxCall, answered, values_of
from illume.assembly.constraints import Wanted
from illume.assembly.counterfactual_rules import counterfactual_rules
from illume.assembly.rules import RuleAssembly
from illume.data.frames import Frame, Mixer
from illume.data.threads import RowChunks
from illume.errors import BlackBoxError
from illume.explanations.counterfactual_pool import Pool, by_feature, diverse
from illume.explanations.counterfactual_search import EXAMPLES, CounterfactualSearch, Found, Task
from illume.explanations.neighbours import unit
from illume.fit.pairs import Pair
from illume.results.counterfactuals import Counterfactuals
from illume.results.predictions import decisions_of

AT_ONCE = 4096
EXAMPLES_AT_ONCE = 1024
SPARE = 2  # so many more are brought close, for some may then be the same
FAR = 1e9


@dataclass(frozen=True, eq=False)
class CounterfactualAssembly:
    """All that is needed to find counterfactuals.

    Parameters
    ----------
    rules
        The maker of rules.
    pair
        The encoder and linear surrogate, which say which changes should lead where.
    pool, pool_frame
        Training rows that values are taken from, encoded and as they came.
    reference
        Training rows, encoded, that tell how plausible an example is.
    """

    rules: RuleAssembly
    pair: Pair
    pool: Pool
    pool_frame: Frame
    reference: FloatArray

    def counterfactuals(self, frame: Frame, black_box: BlackBoxCall, wanted: Wanted) -> Counterfactuals:
        """Return counterfactuals of a frame's rows."""
        encoding, class_names = self.rules.encoding, self.rules.class_names
        desired = wanted.desired(class_names)
        permitted = wanted.permitted(encoding.schema, self.pool_frame) & self.pool.present
        encoded, P = answered(encoding, frame, black_box)
        X, decisions = encoded.X, decisions_of(P)
        features = by_feature(self.pool.layout, X, len(encoding.schema))
        most = wanted.max_changes or len(encoding.schema)
        desires = np.full(len(X), desired)
        task = Task(X, features, decisions, P, desires, permitted, most, wanted.min_probability)
        found, n_asked, fewest = self._search(task, frame, black_box, wanted.n)
        found, made, answers = self._checked(task, found, frame, black_box)
        changed = found.source >= 0
        composed = self.pool.compose(X[found.row], found.source)
        missing = np.setdiff1d(np.flatnonzero(task.desired != decisions), found.row)
        nearest = np.full(len(X), -1, dtype=np.intp)
        nearest[missing] = self._examples(task, missing)[:, 0]
        free = isinstance(wanted.features_to_vary, str) and not (wanted.permitted_range or wanted.max_changes)
        anchors = self._anchors(found, composed, decisions_of(answers), nearest if free else nearest[:0])
        rules, has_rule, new, refinement = counterfactual_rules(self.rules, task, *anchors)
        rows, first = np.unique(found.row, return_index=True)
        rules.probabilities[rows] = answers[first]  # the rule is about the first example
        return Counterfactuals(
            row=found.row,
            changed=changed,
            before=values_of(encoding, frame),
            after=values_of(encoding, made),
            example_probabilities=answers,
            distance=self.pool.distance(X[found.row], found.source),
            plausibility=self._nearest(composed, X[found.row]),
            typical_distance=self._typical(),
            decisions=decisions,
            probabilities=P,
            reasons=self._reasons(task, found, fewest, nearest, wanted),
            rules=rules,
            has_rule=has_rule,
            new=new,
            refinement=refinement,
            n_asked=n_asked,
            frame=made,
            feature_names=encoding.schema.names,
            class_names=class_names,
            origin=frame.origin,
            novelty=self.rules.familiar(encoded),
        )

    def _examples(self, task: Task, rows: IntArray) -> IntArray:
        """Return pool rows of the desired decision, first those whose path needs the fewest changes.

        (n, EXAMPLES) for some rows of a task; -1 for none.
        """
        tree = self.rules.model.rules
        Z_pool = tree.encoder.transform(self.pool.X)
        leaf, direction = tree.tree.apply(Z_pool), unit(Z_pool)
        count = min(EXAMPLES, len(self.pool))
        chosen = np.full((len(rows), count), -1, dtype=np.intp)
        chunks = RowChunks(len(rows), min(tree.at_once, EXAMPLES_AT_ONCE))
        for part in chunks:
            with chunks:
                mine = rows[part]
                _, Z, _ = tree.latents(task.X[mine], task.decisions[mine])
                far = tree.changes(Z)[:, leaf] + (1 - unit(Z) @ direction.T) / 2.01
                far[~self._suits(task, mine)] = FAR
                best = np.argpartition(far, count - 1, axis=1)[:, :count]
                cost = np.take_along_axis(far, best, axis=1)
                order = np.lexsort((best, cost), axis=1)
                best = np.take_along_axis(best, order, axis=1)
                chosen[part] = np.where(np.take_along_axis(cost, order, axis=1) < FAR, best, -1)
        return chosen

    def _suits(self, task: Task, rows: IntArray) -> BoolArray:
        """Return which pool rows have a decision that each row desires, (n, p)."""
        desired, own = task.desired[rows][:, None], task.decisions[rows][:, None]
        wanted = np.where(desired >= 0, self.pool.decisions == desired, self.pool.decisions != own)
        return wanted & (desired != own)

    def _search(
        self, task: Task, frame: Frame, black_box: BlackBoxCall, n: int
    ) -> tuple[Found, int, IntArray]:
        """Return the chosen counterfactuals, how many rows were asked about, and the fewest changes found."""
        parts, n_asked = [Found.none(task.features.shape[1])], 0
        fewest = np.full(len(task.X), np.iinfo(np.intp).max)
        todo = np.flatnonzero(task.desired != task.decisions)
        chunks = RowChunks(len(todo), AT_ONCE)
        for part in chunks:
            with chunks:
                rows = todo[part]
                some = task.take(rows)
                make = self._maker(frame.take(rows))
                examples = partial(self._examples, some)
                ask = partial(_ask, make, black_box, rows)
                search = CounterfactualSearch(self.pool, some, ask, examples, self._effects(some))
                found = search.run(n)
                np.minimum.at(fewest, rows[found.row], found.n_changes)
                found = found.take(found.n_changes <= task.max_changes)
                found = self._picked(search.closest(self._picked(found, some.X, n + SPARE)), some.X, n)
                parts.append(Found(rows[found.row], found.source))
                n_asked += search.n_asked
        return Found.joined(parts), n_asked, fewest

    def _maker(self, frame: Frame) -> Mixer:
        """Return what makes rows of a frame with features from the pool."""
        mixer, names = frame.mixer(self.pool_frame), self.rules.encoding.schema.names
        if names == frame.names:
            return mixer
        columns = [frame.names.index(name) for name in names]

        def make(row: IntArray, source: IntArray) -> Frame:
            by_column = np.full((len(row), len(frame.names)), -1, dtype=source.dtype)
            by_column[:, columns] = source
            return mixer(row, by_column)

        return make

    def _effects(self, task: Task) -> Callable[[IntArray, IntArray], FloatArray]:
        """Return what says how far changes to an example's values should lead to what is desired."""

        def effects(row: IntArray, example: IntArray) -> FloatArray:
            rows, at = np.unique(row, return_inverse=True)
            slopes = self.pair.encoder.pull_back(task.X[rows], self.pair.surrogate.coef_).slopes
            if slopes.shape[1] == 1:
                slopes = np.concatenate([-slopes, slopes], axis=1)
            each = np.arange(len(rows))
            away, to = slopes[each, task.decisions[rows]], slopes[each, task.desired[rows]]
            direction = np.where(task.desired[rows, None] >= 0, to - away, -away)
            return self.rules.encoding.gather(direction[at] * (self.pool.X[example] - task.X[row]))

        return effects

    def _checked(
        self, task: Task, found: Found, frame: Frame, black_box: BlackBoxCall
    ) -> tuple[Found, Frame, FloatArray]:
        """Put all examples to the black box once more, as they will be returned; keep those that hold."""
        made = self._maker(frame)(found.row, found.source)
        answers = _answers(black_box, made, found.row)
        holds = np.flatnonzero(task.reached(answers, found.row))
        if len(holds) < len(found):  # a black box that does not always answer alike
            return found.take(holds), made.take(holds), answers[holds]
        return found, made, answers

    def _picked(self, found: Found, X: FloatArray, n: int) -> Found:
        """Return n of the counterfactuals of each row, no two the same."""
        values = np.where(
            found.source >= 0, self.pool.features[found.source, np.arange(found.source.shape[1])], np.inf
        )
        _, first = np.unique(np.column_stack([found.row, values]), axis=0, return_index=True)
        found = found.take(np.sort(first))
        distance = self.pool.distance(X[found.row], found.source)
        return found.take(diverse(found.row, found.source >= 0, distance, n))

    def _anchors(
        self, found: Found, composed: FloatArray, decided: IntArray, nearest: IntArray
    ) -> tuple[IntArray, FloatArray, IntArray]:
        """Return the rows that get a rule, and for each a row that the rule is to cover, with its decision.

        That is the first example, or where there is none the nearest training row of the desired decision.
        """
        rows, first = np.unique(found.row, return_index=True)
        bare = np.flatnonzero(nearest >= 0)
        kept = np.concatenate([rows, bare])
        order = np.argsort(kept)
        anchors = np.concatenate([composed[first], self.pool.X[nearest[bare]]])
        decisions = np.concatenate([decided[first], self.pool.decisions[nearest[bare]]])
        return kept[order], anchors[order], decisions[order]

    def _nearest(self, X: FloatArray, own: FloatArray) -> FloatArray:
        """Return the distance of rows to the nearest reference row, other than the rows they were made of."""
        scale = np.where(self.pool.layout.onehot, 0.5**0.5, 1.0)
        reference = self.reference * scale
        square = np.square(reference).sum(1)
        nearest = np.empty(len(X))
        chunks = RowChunks(len(X), 512)
        for rows in chunks:
            with chunks:
                far, itself = (
                    np.square(part).sum(1)[:, None] + square - 2 * part @ reference.T
                    for part in (X[rows] * scale, own[rows] * scale)
                )
                far[itself < 1e-9] = np.inf
                nearest[rows] = np.sqrt(np.maximum(far.min(1), 0.0))
        return nearest

    def _typical(self) -> float:
        some = self.reference[: min(500, len(self.reference))]
        near = self._nearest(some, some)
        return float(np.median(near[np.isfinite(near)])) if np.isfinite(near).any() else math.nan

    def _reasons(
        self, task: Task, found: Found, fewest: IntArray, nearest: IntArray, wanted: Wanted
    ) -> np.ndarray[Any, Any]:
        """Say of every row without an example why it has none."""
        names = self.rules.class_names
        reasons = np.full(len(task.X), "", dtype=object)
        missing = np.ones(len(task.X), dtype=bool)
        missing[found.row] = False
        goal = "otherwise" if wanted.desired(names) < 0 else repr(names[wanted.desired(names)])
        none = missing & (nearest < 0)
        reasons[missing] = f"none of the changes tried, to {_named(wanted)}, makes the model decide {goal}"
        reasons[none] = f"no training row is decided {goal}, so there is nothing to take values from"
        long = missing & (fewest > task.max_changes) & (fewest < np.iinfo(np.intp).max)
        reasons[long] = [
            f"the fewest changes found are {k}, more than max_changes={task.max_changes}"
            for k in fewest[long]
        ]
        reasons[missing & (task.desired == task.decisions)] = f"the model decides {goal} already"
        return reasons


def _ask(
    make: Mixer, black_box: BlackBoxCall, places: IntArray, row: IntArray, source: IntArray
) -> FloatArray:
    return _answers(black_box, make(row, source), places[row])


def _answers(black_box: BlackBoxCall, made: Frame, row: IntArray) -> FloatArray:
    """Ask about changed rows; those that fail are named by the rows that they were made of."""
    try:
        return black_box(made)
    except BlackBoxError as error:
        named = ", named by the rows they were made of" if error.rows else ""
        said = BlackBoxError(f"on changed rows{named}, {error.message}", error.rows, error.more)
        raise said.placed(row.tolist()) from error.__cause__


def _named(wanted: Wanted) -> str:
    if isinstance(wanted.features_to_vary, str):
        return "all features" + (" within permitted_range" if wanted.permitted_range else "")
    return ", ".join(map(str, wanted.features_to_vary))
