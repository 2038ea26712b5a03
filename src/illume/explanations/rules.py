"""From a frame's rows to their rules."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.encoding import Encoded, Encoding, standardise
from illume.data.frames import Frame, Origin
from illume.data.questions import Bands, Question
from illume.data.require import require_int, require_share
from illume.errors import LeftOutError, Setting
from illume.explanations.asked import Asked
from illume.explanations.boxes import Boxes
from illume.explanations.fitted import Fitted
from illume.explanations.rule_intervals import hold, round_outward
from illume.explanations.rule_search import (
    LIMIT,
    MAX_CONDITIONS,
    RuleGoal,
    keep_selected,
    lower_bound,
    polish,
)
from illume.explanations.tree_rules import RawRules, RuleModel
from illume.results.conditions import Bounds, ObliqueRules
from illume.results.rules import Rules


@dataclass(frozen=True)
class RuleRequest:
    """Options of `Explainer.rules`."""

    polish: bool = True
    precision: float = 0.95
    max_conditions: int | None = None
    interval: float = 0.9
    threshold: float | None = None
    output: int | str | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        require_share("precision", self.precision, 0.5, below=True)
        require_share("interval", self.interval, 0.5, below=True)
        require_int("max_conditions", self.max_conditions, other=(None,))

    def goal(self, question: Question) -> float:
        """Return the share of covered rows for which a rule should be right."""
        return self.interval if question.intervals else self.precision


def explain_rules(fitted: Fitted, asked: Asked, request: RuleRequest) -> Rules:
    """Return the rules of rows."""
    return replace(
        make_rules(fitted, asked.encoded, asked.P, request, own_numbers(fitted, asked.frame)),
        data=fitted.row_values(asked.frame),
        origin=asked.frame.origin,
        stand_in=not fitted.has_model,
        novelty=asked.novelty(fitted),
    )


def own_numbers(fitted: Fitted, frame: Frame) -> FloatArray:
    """Return the numbers of a frame's rows (n, n_features), NaN for categories."""
    numbers = np.full((len(frame), len(fitted.schema)), np.nan, order="F")
    for j, feature in enumerate(fitted.schema.features):
        if feature.numeric and not feature.constant:
            numbers[:, j] = frame.numbers(feature.name)
    return numbers


def require_rule_model(fitted: Fitted, question: Question | None = None) -> RuleModel:
    """Return the tree, and the rows that rules are polished and measured on; by default for all answers."""
    if question is None:
        return fitted.rule_model
    known = fitted.rows.training.P
    return fitted.rule_model.ask(question, known if len(known) else np.empty((0, len(fitted.outputs))))


def make_rules(
    fitted: Fitted,
    encoded: Encoded,
    P: FloatArray,
    request: RuleRequest | None = None,
    numbers: FloatArray | None = None,
) -> Rules:
    """Return the rules of encoded rows that the black box has answered with P (n, c).

    `numbers` (n, n_features) are the rows' own, before scaling; by default they are recovered from X.
    """
    request = request or RuleRequest()
    question = fitted.outputs.question(request.output, request.threshold)
    model = require_rule_model(fitted, question)
    X, wanted = encoded.X, question.decide(P)
    raw = model.rules(X, wanted)
    boxes, polished = choose_boxes(model, raw.boxes, X, wanted, request)
    rules = measure_boxes(fitted, model, boxes, raw, encoded, P=P, level=request.interval, numbers=numbers)
    goal = request.goal(question) if request.polish or question.intervals else 0.0
    return replace(rules, polished=polished, wanted=goal)


def measure_boxes(
    fitted: Fitted,
    model: RuleModel,
    boxes: Boxes,
    raw: RawRules,
    encoded: Encoded,
    *,
    P: FloatArray,
    level: float = RuleRequest.interval,
    numbers: FloatArray | None = None,
) -> Rules:
    """Measure boxes on report rows and return them as rules in the features' own units.

    Rules on numbers get the interval that should hold the share `level` of the rows that they cover.
    """
    encoding, question = fitted.encoding, model.question
    wanted, refinement = question.decide(P), raw.refinement.locate_neighbours(fitted.split.training)
    interval = None
    if model.intervals is not None and isinstance(question, Bands):
        y = P[:, question.output]
        found = model.intervals(question.output, boxes, encoded.X, y, level)
        inside = (found[:, 0] <= y) & (y <= found[:, 1])
        refinement = replace(refinement, agreed=inside, exact=True)
        interval = round_outward(hold(found, y), fitted.outputs.decimals(question.output))
    covered, correct = model.report.counts(boxes, wanted, but=encoded.X, interval=interval)
    own = recover_numbers(encoding, encoded.X) if numbers is None else numbers
    missing, labels, dictionary = fitted.missing | encoded.imputed, fitted.labels, fitted.dictionary
    return Rules(
        bounds=replace(feature_bounds(boxes, encoding, own, missing), dictionary=dictionary),
        box=replace(feature_bounds(raw.sound, encoding, own, missing, exact=True), dictionary=dictionary),
        oblique=ObliqueRules(*raw[:4], encoding.mean, encoding.scale, labels.inputs, labels.input_labels),
        decisions=wanted,
        predictions=P,
        interval=interval,
        n_covered=covered.astype(np.intp),
        n_correct=correct.astype(np.intp),
        n_rows=len(model.report),
        wanted=level if question.intervals else RuleRequest.precision,
        polished=np.ones(len(boxes), dtype=bool),
        refinement=refinement,
        source=model.source,
        outputs=fitted.outputs,
        question=question,
        columns=fitted.columns,
        origin=Origin(),
    )


def choose_boxes(
    model: RuleModel, raw: Boxes, X: FloatArray, wanted: IntArray, request: RuleRequest
) -> tuple[Boxes, BoolArray]:
    """Return the boxes that the request asks for, and which of them were polished."""
    conditions, intervals = model.conditions, model.question.intervals
    polishes = request.polish and not intervals
    if not len(conditions.sample) and (polishes or request.max_conditions is not None):
        raise LeftOutError(
            "rules are polished on rows, and the explainer was saved with ",
            Setting("rows", "none"),
            "; ask for the tree's own rules with polish=False",
        )
    limit = None if request.max_conditions is None else min(request.max_conditions, LIMIT)
    polished = np.full(len(raw), polishes)
    if not polishes:
        if limit is None:
            return raw, polished
        chosen, _ = polish(conditions, raw, X, wanted, RuleGoal(max_conditions=limit, only_own=True))
        return keep_selected(raw, chosen, conditions.sample.layout), polished
    goal = RuleGoal(model.curve.target(request.goal(model.question)), limit or MAX_CONDITIONS)
    boxes, reached = polish(conditions, raw, X, wanted, goal)
    short = np.flatnonzero(reached < goal.precision) if limit is None else np.empty(0, dtype=np.intp)
    if len(short):  # the tree's own rule may still be the better one
        own = lower_bound(*reversed(conditions.sample.counts(raw[short], wanted[short])))
        back = short[(own > reached[short]) | (reached[short] <= 0)]
        boxes[back], polished[back] = raw[back], False
    return boxes, polished


def recover_numbers(encoding: Encoding, X: FloatArray) -> FloatArray:
    """Return the numbers (n, n_features) that encoded rows stand for, NaN for categories."""
    own, number = np.full((len(X), len(encoding.schema)), np.nan), ~encoding.onehot
    with np.errstate(over="ignore"):
        numbers = (encoding.mean + encoding.scale * X)[:, number]
    most = np.finfo(np.float64).max
    own[:, encoding.owner[number]] = np.clip(numbers, -most, most)
    return own


def feature_bounds(
    boxes: Boxes, encoding: Encoding, own: FloatArray, missing: BoolArray, exact: bool = False
) -> Bounds:
    """Return boxes as bounds on features, in their own units.

    Unless `exact`, bounds of whole numbers are rounded to whole numbers, and bounds outside of the range
    seen in `fit` are dropped. A row's `own` numbers (n, n_features) stay inside despite rounding, if they are
    inside of its box. `missing` (n, n_features) says where a number may be missing.
    """
    n, features = len(boxes), encoding.schema.features
    low, high = np.full((n, len(features)), -np.inf), np.full((n, len(features)), np.inf)
    inside = np.zeros((n, len(features)), dtype=bool)
    with np.errstate(over="ignore"):
        for i in np.flatnonzero(~encoding.onehot):
            j, feature = int(encoding.owner[i]), features[encoding.owner[i]]
            mean, scale = encoding.mean[i], encoding.scale[i]
            below, above = (_clean(mean + scale * side[:, i]) for side in (boxes.low, boxes.high))
            x = standardise(own[:, j], mean, scale)
            if feature.whole and not exact:
                below, above = np.ceil(below), np.floor(above)
            below = np.where(x >= boxes.low[:, i], np.fmin(below, own[:, j]), below)
            above = np.where(x <= boxes.high[:, i], np.fmax(above, own[:, j]), above)
            if not exact:
                below = np.where(below <= feature.low, -np.inf, below)
                above = np.where(above >= feature.high, np.inf, above)
            low[:, j], high[:, j] = below, above
            inside[:, j] = (boxes.low[:, i] <= 0) & (boxes.high[:, i] >= 0)  # a missing number is read as 0
    bounded = np.isfinite(low) | np.isfinite(high)
    widths = np.bincount(encoding.owner[encoding.onehot], minlength=len(features))
    return Bounds(
        features=features,
        low=low,
        high=high,
        missing=missing & inside & bounded,
        allowed=boxes.allowed[:, encoding.onehot],
        first=np.append(0, np.cumsum(widths)),
    )


def _clean(bound: FloatArray) -> FloatArray:
    """Remove rounding errors of scaling, in the sixteenth digit.

    >>> _clean(np.array([116.30000000000001, np.inf, 0.0]))
    array([116.3,   inf,   0. ])
    """
    known = np.isfinite(bound) & (bound != 0)
    number = np.where(known, bound, 1.0)
    digits = np.clip(12 - np.floor(np.log10(np.abs(number))), -290, 290)
    with np.errstate(over="ignore"):  # only positive powers of 10 are exact
        up, down = 10.0 ** np.maximum(digits, 0), 10.0 ** np.maximum(-digits, 0)
        rounded = np.round(number * up / down) / up * down
    near = known & (np.abs(rounded - number) <= 1e-13 * np.abs(number))
    return np.where(near, rounded, bound)
