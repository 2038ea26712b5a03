"""From a frame's rows to their counterfactuals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.frames import Frame
from illume.data.sampling import stratified
from illume.data.threads import RowChunks
from illume.errors import LeftOutError
from illume.explanations.boxes import Layout
from illume.explanations.counterfactual_pool import Found, Pool, Task, by_feature
from illume.explanations.counterfactual_request import CounterfactualRequest
from illume.explanations.counterfactual_rules import counterfactual_rules
from illume.explanations.counterfactual_search import NEVER, CounterfactualSearch
from illume.explanations.fitted import AnsweredRows, Fitted
from illume.results.counterfactuals import Counterfactuals

POOL_ROWS = 2_048  # training rows that counterfactuals take values from
REFERENCE_ROWS = 20_000  # training rows that tell how plausible a counterfactual is


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
        search = CounterfactualSearch(fitted, self.pool, task, frame, self.pool_frame)
        found, made, answers = search.verify(search.run(request.n))
        changed = found.source >= 0
        composed = self.pool.compose(X[found.row], found.source)
        missing = np.setdiff1d(np.flatnonzero(task.desired != decisions), found.row)
        nearest = np.full(len(X), -1, dtype=np.intp)
        nearest[missing] = search.examples(missing)[:, 0]
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
            reasons=self._reasons(task, found, search.fewest, nearest, request),
            rules=rules,
            has_rule=has_rule,
            new=new,
            refinement=refinement,
            n_asked=search.n_asked,
            frame=made,
            feature_names=encoding.schema.names,
            class_names=class_names,
            origin=frame.origin,
            novelty=fitted.novelty_detector(encoded),
        )

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
        long = missing & (fewest > task.max_changes) & (fewest < NEVER)
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
