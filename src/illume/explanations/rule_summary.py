"""A few rules that say how the model answers all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Origin
from illume.data.require import require_int
from illume.errors import LeftOutError, Setting
from illume.explanations.boxes import Boxes
from illume.explanations.fitted import Fitted
from illume.explanations.rule_cover import Cover, DecisionAim, NumberAim, cover_rows
from illume.explanations.rule_intervals import round_outward
from illume.explanations.rule_sample import Sample
from illume.explanations.rule_search import LIMIT
from illume.explanations.rules import RuleRequest, feature_bounds, require_rule_model
from illume.results.conditions import ObliqueRules
from illume.results.quality import FEW
from illume.results.rule_set import RuleSet
from illume.results.rules import Rules
from illume.results.trust import Refinement

SIDES = ("low", "high", "allowed")  # of boxes


@dataclass(frozen=True)
class RuleSetRequest(RuleRequest):
    """Options of `Explainer.rule_set`."""

    precision: float = 0.9
    max_conditions: int = 3
    max_rules: int = 10

    def __post_init__(self) -> None:
        """Check the values."""
        require_int("max_conditions", self.max_conditions)
        require_int("max_rules", self.max_rules)
        super().__post_init__()


def summarize_rules(fitted: Fitted, request: RuleSetRequest) -> RuleSet:
    """Choose rules on training and validation rows, and measure them on report rows."""
    question = fitted.outputs.question(request.output, request.threshold)
    model = require_rule_model(fitted, question)
    known, report = model.known, model.report
    if not len(known):
        raise LeftOutError(
            "a rule set is chosen on rows, and the explainer was saved with ",
            Setting("rows", "none"),
            "; save it with rows",
        )
    aim = NumberAim(known) if question.intervals else DecisionAim(known, request.precision)
    cover = cover_rows(known, aim, request.max_rules, min(request.max_conditions, LIMIT))
    n_found, cover = len(cover.boxes), _with_rows(cover, report)
    boxes, inside, decisions = _with_else(cover, known)
    interval = None
    if question.intervals:
        found = [_interval(known.P[rows, question.output], request.interval) for rows in inside]
        interval = round_outward(np.array(found), fitted.outputs.decimals(question.output))
    members = report.members(boxes)
    members[-1] = ~members[:-1].any(0)
    right = _right(report, decisions, interval)
    unknown: FloatArray = np.full((len(boxes), len(fitted.schema)), np.nan)
    bounds = feature_bounds(boxes, fitted.encoding, unknown, np.tile(fitted.missing, (len(boxes), 1)))
    bounds = replace(bounds, dictionary=fitted.dictionary)
    rules = Rules(
        bounds=bounds,
        box=bounds,
        oblique=_no_conditions(len(boxes), fitted),
        decisions=decisions,
        predictions=np.array([np.median(known.P[rows], axis=0) for rows in inside]),
        interval=interval,
        n_covered=members.sum(1),
        n_correct=(members & right).sum(1),
        n_rows=len(report),
        wanted=request.goal(question),
        polished=np.ones(len(boxes), dtype=bool),
        refinement=Refinement.empty(len(boxes)),
        source=model.source,
        outputs=fitted.outputs,
        question=question,
        columns=fitted.columns,
        origin=Origin(fitted.backend),
    )
    first = members.argmax(0)
    return RuleSet(
        rules=rules[:-1],
        rest=rules[-1:],
        n_new=np.bincount(first, minlength=len(boxes))[:-1],
        n_agreed=int(right[first, np.arange(len(report))].sum()),
        n_unmeasured=n_found - len(cover.boxes),
        majority=None if question.intervals or not len(report) else _majority(report),
    )


def _with_rows(cover: Cover, report: Sample) -> Cover:
    """Leave out rules that cover no report row; where these are too few to tell, keep all."""
    some = report.members(cover.boxes).any(1) | (len(report) < FEW)
    return Cover(cover.boxes[some], cover.decisions[some], cover.inside[some])


def _majority(report: Sample) -> tuple[int, float]:
    """Return the decision that is right for most report rows, and for which share of them."""
    shares = [float(report.right(c).mean()) for c in range(len(report.question.names))]
    most = int(np.argmax(shares))
    return most, shares[most]


def _with_else(cover: Cover, known: Sample) -> tuple[Boxes, BoolArray, IntArray]:
    """Return boxes, the rows that each covers, and decisions; the last ones are those of all other rows."""
    whole = Boxes.whole_space(1, known.X.shape[1])
    boxes = Boxes(*(np.concatenate([getattr(each, name) for each in (cover.boxes, whole)]) for name in SIDES))
    left = ~cover.inside.any(0)
    left = left if left.any() else ~left
    common = np.bincount(known.decisions[left]).argmax()
    return boxes, np.vstack([cover.inside, left]), np.append(cover.decisions, common)


def _interval(numbers: FloatArray, level: float) -> tuple[float, float]:
    """Return an interval that should hold a share of further numbers like these.

    >>> _interval(np.arange(1.0, 20.0), 0.9)
    (1.0, 19.0)
    """
    numbers = np.sort(numbers)
    outside = max(int((1 - level) / 2 * (len(numbers) + 1)), 1)
    return float(numbers[outside - 1]), float(numbers[-outside])


def _right(report: Sample, decisions: IntArray, interval: FloatArray | None) -> BoolArray:
    """Return for which report rows each decision, or interval, is right, (r, n)."""
    if interval is None:
        return np.array([report.right(int(decision)) for decision in decisions])
    y = report.P[:, report.question.output]
    return (interval[:, :1] <= y) & (y <= interval[:, 1:])


def _no_conditions(n: int, fitted: Fitted) -> ObliqueRules:
    """Return rules without conditions on weighted sums."""
    encoding, labels, none = fitted.encoding, fitted.labels, np.empty((n, 0))
    scaling = (encoding.mean, encoding.scale, labels.inputs, labels.input_labels)
    return ObliqueRules(none.astype(np.intp), np.empty((n, 0, encoding.n_inputs)), none, none, *scaling)
