"""From a frame's rows to their counterfactuals, and to the rules behind them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.encoding import Encoded
from illume.data.frames import Frame
from illume.data.sampling import stratified
from illume.data.threads import row_chunks
from illume.explanations.boxes import Boxes, Layout
from illume.explanations.counterfactual_limits import Limits, rank_values
from illume.explanations.counterfactual_pool import Found, Pool, Task, by_feature
from illume.explanations.counterfactual_request import CounterfactualRequest
from illume.explanations.counterfactual_search import NEVER, CounterfactualSearch
from illume.explanations.counterfactual_words import describe_constraints
from illume.explanations.fitted import FitRows, Fitted
from illume.explanations.rules import (
    RuleRequest,
    choose_boxes,
    measure_boxes,
    own_numbers,
    recover_numbers,
    require_rule_model,
)
from illume.results.counterfactuals import Counterfactuals
from illume.results.rules import Rules
from illume.results.trust import Refinement

POOL_ROWS = 2_048  # training rows that counterfactuals take values from
BANDS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)  # quantiles of a probability
REFERENCE_ROWS = 20_000  # training rows that tell how plausible a counterfactual is


def pool_rows(rows: FitRows) -> IntArray:
    """Return which training rows counterfactuals take values from; rare decisions have some, too."""
    question, P = rows.outputs.strata, rows.training.P
    least = POOL_ROWS // (2 * len(question.names))
    drawn = stratified(question.decide(P), POOL_ROWS, least)
    if not rows.outputs.takes_threshold:
        return drawn
    bands = np.searchsorted(np.quantile(P[:, 1], BANDS), P[:, 1])  # for any threshold, rows of both sides
    return np.union1d(drawn, stratified(bands, POOL_ROWS // 8, POOL_ROWS // 32))


def find_counterfactuals(fitted: Fitted, frame: Frame, request: CounterfactualRequest) -> Counterfactuals:
    """Return counterfactuals of a frame's rows."""
    request.validate(fitted)
    schema, known = fitted.schema, fitted.pool.frame  # type: ignore[union-attr]
    pool, training = Pool.of(fitted, request.values_beyond(schema, known)), fitted.rows.training
    encoded, P = fitted.encode_and_ask(frame)
    X, goal = encoded.X, request.goal(fitted.outputs, P)
    decisions = goal.question.decide(P)
    features, ranks = by_feature(pool.layout, X, len(schema)), request.direction_ranks(schema)
    limits = Limits(
        request.permitted_values(schema, pool.frame) & pool.present,
        np.array(list(ranks), dtype=np.intp),
        own=rank_values(features, encoded.imputed, ranks),
        there=rank_values(pool.features, ~pool.present, ranks),
    )
    task = Task(
        X,
        features,
        P,
        decisions,
        goal,
        limits,
        max_changes=request.max_changes or len(fitted.schema),
    )
    search = CounterfactualSearch(fitted, pool, task, frame)
    found, made, answers = search.verify(search.run(request.n))
    composed = pool.compose(X[found.row], found.source)
    missing = np.setdiff1d(np.flatnonzero(~goal.reached), found.row)
    nearest = np.full(len(X), -1, dtype=np.intp)
    nearest[missing] = search.examples(missing)[:, 0]

    # A rule covers the first example of a row, or where there is none the nearest training row of the
    # desired decision, if every change is permitted.
    anchors, there, has_rule = X.copy(), P.copy(), np.zeros(len(X), dtype=bool)
    rows, first = np.unique(found.row, return_index=True)
    anchors[rows], there[rows], has_rule[rows] = composed[first], answers[first], True
    numbers = recover_numbers(fitted.encoding, anchors)
    numbers[rows] = own_numbers(fitted, made.take(first))  # which rounding may not leave outside of the rule
    if request.is_unrestricted:
        bare = np.flatnonzero(nearest >= 0)
        anchors[bare], there[bare] = pool.X[nearest[bare]], pool.P[nearest[bare]]
        numbers[bare] = recover_numbers(fitted.encoding, anchors[bare])
        has_rule[bare] = True
    rules, violated, refinement = _make_rules(fitted, task, (anchors, numbers), there, has_rule)

    reference = training.X[stratified(fitted.outputs.strata.decide(training.P), REFERENCE_ROWS)]
    return Counterfactuals(
        row=found.row,
        changed=found.source >= 0,
        before=fitted.row_values(frame),
        after=fitted.row_values(made),
        example_predictions=answers,
        distance=pool.distance(X[found.row], found.source),
        plausibility=_nearest_distance(reference, pool.layout, composed, X[found.row]),
        typical_distance=_typical_distance(reference, pool.layout),
        decisions=decisions,
        predictions=P,
        reasons=_reasons(request, search, found=found, nearest=nearest),
        rules=rules,
        has_rule=has_rule,
        new=violated,
        beyond=has_rule & (False if rules.interval is None else goal.is_beyond(rules.interval)),
        refinement=refinement,
        n_asked=search.n_asked,
        wish=goal.text,
        constraints=describe_constraints(request, fitted),
        frame=made,
        feature_names=fitted.schema.names,
        outputs=fitted.outputs,
        question=goal.question,
        origin=frame.origin,
        novelty=fitted.novelty_detector(encoded),
    )


def _make_rules(
    fitted: Fitted, task: Task, given: tuple[FloatArray, FloatArray], there: FloatArray, has_rule: BoolArray
) -> tuple[Rules, BoolArray, Refinement]:
    """Return a rule per row that covers its anchor, answered `there` (n, c), but not the row itself.

    Anchors are `given` as encoded rows (n, m) and as numbers (n, n_features).

    The leaf of the anchor is pulled back through the row's own map; the box is widened to hold the anchor
    and polished like any rule, for the anchor's decision. Other rows get an empty rule. Beside the rules,
    return on which features the rows violate them, and how the rows' own maps were refined.
    """
    question, (anchors, numbers) = task.goal.question, given
    model, wanted = require_rule_model(fitted, question), question.decide(there)
    tree, layout = model.rules, model.rules.layout
    start, refinement = Boxes.whole_space(*task.X.shape), Refinement.empty(len(task.X))
    for part in row_chunks(len(task.X), tree.at_once):
        W, Z, refinement[part] = tree.latents(task.X[part], task.decisions[part])
        _, Z_there, _ = tree.latents(anchors[part], wanted[part])
        towards = tree.towards(task.X[part], W, Z, tree.tree.apply(Z_there))
        start[part] = towards.widen(anchors[part], layout)
    rows, boxes = np.flatnonzero(has_rule), Boxes.whole_space(*task.X.shape)
    chosen, was_polished = choose_boxes(model, start[rows], anchors[rows], wanted[rows], RuleRequest())
    _exclude(chosen, task.X[rows], anchors[rows], layout)
    boxes[rows], polished = chosen, np.zeros(len(task.X), dtype=bool)
    polished[rows] = was_polished
    encoded = Encoded.plain(anchors, len(fitted.schema))
    raw = tree(anchors, wanted)
    rules = measure_boxes(fitted, model, boxes, raw, encoded, P=there, numbers=numbers)
    violated = np.zeros((len(task.X), len(fitted.schema)), dtype=bool)
    row, column = np.nonzero(_violated_inputs(boxes, task.X, layout))
    violated[row, layout.owner[column]] = True
    located = refinement.locate_neighbours(fitted.split.training)
    return replace(rules, polished=polished), violated, located


def _exclude(boxes: Boxes, X: FloatArray, anchors: FloatArray, layout: Layout) -> None:
    """Where a box still covers the row itself, separate the two on the feature that differs most."""
    inside = ~_violated_inputs(boxes, X, layout).any(1)
    rows = np.flatnonzero(inside & (anchors != X).any(1))
    step = np.abs(anchors - X)[rows]
    j = step.argmax(1)
    middle = (X[rows, j] + anchors[rows, j]) / 2
    number, rises = ~layout.onehot[j], anchors[rows, j] > X[rows, j]
    up, down = number & rises, number & ~rises
    boxes.low[rows[up], j[up]] = middle[up]
    boxes.high[rows[down], j[down]] = middle[down]
    swapped = rows[~number]
    siblings = layout.owner == layout.owner[j[~number]][:, None]
    boxes.allowed[swapped] &= ~siblings | layout.own(anchors[swapped])


def _violated_inputs(boxes: Boxes, X: FloatArray, layout: Layout) -> BoolArray:
    outside = (boxes.low > X) | (boxes.high < X)
    return np.where(layout.onehot, layout.own(X) & ~boxes.allowed, outside)


def _nearest_distance(reference: FloatArray, layout: Layout, X: FloatArray, own: FloatArray) -> FloatArray:
    """Return the distance of rows to the nearest reference row, other than the rows they were made of."""
    scale = np.where(layout.onehot, 0.5**0.5, 1.0)
    reference = reference * scale
    square = np.square(reference).sum(1)
    nearest = np.empty(len(X))
    for rows in row_chunks(len(X), 512):
        far, itself = (
            np.square(part).sum(1)[:, None] + square - 2 * part @ reference.T
            for part in (X[rows] * scale, own[rows] * scale)
        )
        far[itself < 1e-9] = np.inf
        nearest[rows] = np.sqrt(np.maximum(far.min(1), 0.0))
    return nearest


def _typical_distance(reference: FloatArray, layout: Layout) -> float:
    some = reference[:500]
    near = _nearest_distance(reference, layout, some, some)
    return float(np.median(near[np.isfinite(near)])) if np.isfinite(near).any() else math.nan


def _reasons(
    request: CounterfactualRequest, search: CounterfactualSearch, *, found: Found, nearest: IntArray
) -> np.ndarray[Any, Any]:
    """Return for each row without an example why it has none."""
    task, fewest = search.task, search.fewest
    reasons = np.full(len(task.X), "", dtype=object)
    missing = np.ones(len(task.X), dtype=bool)
    missing[found.row] = False
    goal = task.goal.text
    scope = _describe_scope(request, search.fitted.dictionary.label)
    reasons[missing] = f"none of the changes tried, to {scope}, makes the model {goal}"
    none = missing & (nearest < 0)
    reasons[none] = f"no training row makes the model {goal}, so there is nothing to take values from"
    long = missing & (fewest > task.max_changes) & (fewest < NEVER)
    reasons[long] = [
        f"the fewest changes found are {k}, more than max_changes={task.max_changes}" for k in fewest[long]
    ]
    reasons[missing & task.goal.reached] = "the answer is as desired already"
    return reasons


def _describe_scope(request: CounterfactualRequest, label: Callable[[str], str]) -> str:
    scope = ", ".join(label(str(name)) for name in request.features_to_vary)
    if isinstance(request.features_to_vary, str):
        names = ", ".join(label(str(name)) for name in request.immutable or ())
        fixed = f" but {names}" if names else ""
        scope = f"all features{fixed}" + (" within permitted_range" if request.permitted_range else "")
    return scope + (" in their direction" if request.direction else "")
