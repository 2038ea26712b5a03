"""From a frame's rows to their counterfactuals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Frame, Mixer
from illume.data.sampling import stratified
from illume.data.threads import RowChunks
from illume.errors import BlackBoxError, LeftOutError
from illume.explanations.boxes import Layout
from illume.explanations.counterfactual_pool import Pool, by_feature, pick_diverse
from illume.explanations.counterfactual_request import CounterfactualRequest
from illume.explanations.counterfactual_rules import counterfactual_rules
from illume.explanations.counterfactual_search import EXAMPLES, CounterfactualSearch, Found, Task
from illume.explanations.fitted import AnsweredRows, Fitted
from illume.explanations.neighbours import unit
from illume.explanations.rules import require_rule_model
from illume.results.counterfactuals import Counterfactuals

POOL_ROWS = 2_048  # training rows that counterfactuals take values from
REFERENCE_ROWS = 20_000  # training rows that tell how plausible a counterfactual is
AT_ONCE = 4096
EXAMPLES_AT_ONCE = 1024
SPARE = 2  # so many more are brought close, for some may then be the same
FAR = 1e9


def pool_rows(training: AnsweredRows) -> IntArray:
    """Return which training rows counterfactuals take values from; rare decisions have some, too."""
    decisions = training.P.argmax(1)
    return stratified(decisions, POOL_ROWS, least=POOL_ROWS // (2 * training.P.shape[1]))


def find_counterfactuals(fitted: Fitted, frame: Frame, request: CounterfactualRequest) -> Counterfactuals:
    """Return counterfactuals of a frame's rows."""
    request.validate(fitted)
    return CounterfactualFinder.prepare(fitted)(frame, request)


@dataclass(frozen=True, eq=False)
class CounterfactualFinder:
    """Finds counterfactuals.

    Parameters
    ----------
    pool, pool_frame
        Training rows that values are taken from, encoded and as they came.
    reference
        Training rows, encoded, that tell how plausible an example is.
    """

    fitted: Fitted
    pool: Pool
    pool_frame: Frame
    reference: FloatArray

    @classmethod
    def prepare(cls, fitted: Fitted) -> CounterfactualFinder:
        """Encode the pool; missing values are not offered as changes."""
        known, schema, training = fitted.pool, fitted.schema, fitted.rows.training
        if known is None:
            raise LeftOutError("there are no rows to take values from")
        encoded = fitted.encoding.transform(known.frame.select(schema.names))
        present = ~encoded.imputed
        for j, feature in enumerate(schema.features):
            if None in feature.categories:
                values = known.frame.labels(feature.name)
                present[:, j] &= np.array([value is not None for value in values], dtype=bool)
        pool = Pool.of(Layout.of(fitted.encoding), encoded.X, known.P.argmax(1), present)
        reference = training.X[stratified(training.P.argmax(1), REFERENCE_ROWS)]
        return cls(fitted, pool, known.frame, reference)

    def __call__(self, frame: Frame, request: CounterfactualRequest) -> Counterfactuals:
        """Return counterfactuals of a frame's rows."""
        fitted, encoding, class_names = self.fitted, self.fitted.encoding, self.fitted.class_names
        desired = request.desired(class_names)
        permitted = request.permitted(encoding.schema, self.pool_frame) & self.pool.present
        encoded, P = fitted.encode_and_ask(frame)
        X, decisions = encoded.X, P.argmax(1)
        features = by_feature(self.pool.layout, X, len(encoding.schema))
        most = request.max_changes or len(encoding.schema)
        desires = np.full(len(X), desired)
        task = Task(X, features, decisions, P, desires, permitted, most, request.min_probability)
        found, n_asked, fewest = self._search(task, frame, request.n)
        found, made, answers = self._verify(task, found, frame)
        changed = found.source >= 0
        composed = self.pool.compose(X[found.row], found.source)
        missing = np.setdiff1d(np.flatnonzero(task.desired != decisions), found.row)
        nearest = np.full(len(X), -1, dtype=np.intp)
        nearest[missing] = self._examples(task, missing)[:, 0]
        free = isinstance(request.features_to_vary, str) and not (
            request.permitted_range or request.max_changes
        )
        anchors = self._anchors(found, composed, answers.argmax(1), nearest if free else nearest[:0])
        rules, has_rule, new, refinement = counterfactual_rules(fitted, task, *anchors)
        rows, first = np.unique(found.row, return_index=True)
        rules.probabilities[rows] = answers[first]  # the rule is about the first example
        return Counterfactuals(
            row=found.row,
            changed=changed,
            before=fitted.row_values(frame),
            after=fitted.row_values(made),
            example_probabilities=answers,
            distance=self.pool.distance(X[found.row], found.source),
            plausibility=self._nearest(composed, X[found.row]),
            typical_distance=self._typical(),
            decisions=decisions,
            probabilities=P,
            reasons=self._reasons(task, found, fewest, nearest, request),
            rules=rules,
            has_rule=has_rule,
            new=new,
            refinement=refinement,
            n_asked=n_asked,
            frame=made,
            feature_names=encoding.schema.names,
            class_names=class_names,
            origin=frame.origin,
            novelty=fitted.novelty_detector(encoded),
        )

    def _ask(self, make: Mixer, places: IntArray, row: IntArray, source: IntArray) -> FloatArray:
        return self._answers(make(row, source), places[row])

    def _answers(self, made: Frame, row: IntArray) -> FloatArray:
        """Ask about changed rows; an error names them by the rows that they were made of."""
        try:
            return self.fitted.black_box(made)
        except BlackBoxError as error:
            named = ", named by the rows they were made of" if error.rows else ""
            said = BlackBoxError(f"on changed rows{named}, {error.message}", error.rows, error.more)
            raise said.renumber(row.tolist().__getitem__) from error.__cause__

    def _examples(self, task: Task, rows: IntArray) -> IntArray:
        """Return pool rows of the desired decision, first those whose path needs the fewest changes.

        (n, EXAMPLES) for some rows of a task; -1 for none.
        """
        tree = require_rule_model(self.fitted).rules
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

    def _search(self, task: Task, frame: Frame, n: int) -> tuple[Found, int, IntArray]:
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
                ask = partial(self._ask, make, rows)
                search = CounterfactualSearch(self.pool, some, ask, examples, self._effects(some))
                found = search.run(n)
                np.minimum.at(fewest, rows[found.row], found.n_changes)
                found = found.take(found.n_changes <= task.max_changes)
                found = self._pick(search.move_closer(self._pick(found, some.X, n + SPARE)), some.X, n)
                parts.append(Found(rows[found.row], found.source))
                n_asked += search.n_asked
        return Found.concatenate(parts), n_asked, fewest

    def _maker(self, frame: Frame) -> Mixer:
        """Return what makes rows of a frame with features from the pool."""
        mixer, names = frame.mixer(self.pool_frame), self.fitted.encoding.schema.names
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
            slopes = self.fitted.pair.encoder.pull_back(task.X[rows], self.fitted.pair.surrogate.coef_).slopes
            if slopes.shape[1] == 1:
                slopes = np.concatenate([-slopes, slopes], axis=1)
            each = np.arange(len(rows))
            away, to = slopes[each, task.decisions[rows]], slopes[each, task.desired[rows]]
            direction = np.where(task.desired[rows, None] >= 0, to - away, -away)
            return self.fitted.encoding.gather(direction[at] * (self.pool.X[example] - task.X[row]))

        return effects

    def _verify(self, task: Task, found: Found, frame: Frame) -> tuple[Found, Frame, FloatArray]:
        """Put all examples to the black box once more, as they will be returned; keep those that hold."""
        made = self._maker(frame)(found.row, found.source)
        answers = self._answers(made, found.row)
        holds = np.flatnonzero(task.reached(answers, found.row))
        if len(holds) < len(found):  # a black box that does not always answer alike
            return found.take(holds), made.take(holds), answers[holds]
        return found, made, answers

    def _pick(self, found: Found, X: FloatArray, n: int) -> Found:
        """Return n of the counterfactuals of each row, no two the same."""
        values = np.where(
            found.source >= 0, self.pool.features[found.source, np.arange(found.source.shape[1])], np.inf
        )
        _, first = np.unique(np.column_stack([found.row, values]), axis=0, return_index=True)
        found = found.take(np.sort(first))
        distance = self.pool.distance(X[found.row], found.source)
        return found.take(pick_diverse(found.row, found.source >= 0, distance, n))

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
        self, task: Task, found: Found, fewest: IntArray, nearest: IntArray, request: CounterfactualRequest
    ) -> np.ndarray[Any, Any]:
        """Say of every row without an example why it has none."""
        names = self.fitted.class_names
        reasons = np.full(len(task.X), "", dtype=object)
        missing = np.ones(len(task.X), dtype=bool)
        missing[found.row] = False
        goal = "otherwise" if request.desired(names) < 0 else repr(names[request.desired(names)])
        none = missing & (nearest < 0)
        reasons[missing] = (
            f"none of the changes tried, to {_describe_scope(request)}, makes the model decide {goal}"
        )
        reasons[none] = f"no training row is decided {goal}, so there is nothing to take values from"
        long = missing & (fewest > task.max_changes) & (fewest < np.iinfo(np.intp).max)
        reasons[long] = [
            f"the fewest changes found are {k}, more than max_changes={task.max_changes}"
            for k in fewest[long]
        ]
        reasons[missing & (task.desired == task.decisions)] = f"the model decides {goal} already"
        return reasons


def _describe_scope(request: CounterfactualRequest) -> str:
    if isinstance(request.features_to_vary, str):
        return "all features" + (" within permitted_range" if request.permitted_range else "")
    return ", ".join(map(str, request.features_to_vary))
