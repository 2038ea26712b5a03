"""Choose the tree that rules come from, and how strictly to polish them, on validation rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.questions import Bands, Question
from illume.data.sampling import evenly_spaced, stratified
from illume.encoders.base import Encoder, IdentityEncoder
from illume.errors import warn
from illume.explanations.boxes import Layout
from illume.explanations.fitted import AnsweredRows, FitRows, Pair
from illume.explanations.rule_intervals import LEVELS, IntervalModel
from illume.explanations.rule_sample import REPORT_ROWS, Conditions, Sample
from illume.explanations.rule_search import RuleGoal, polish
from illume.explanations.tree_rules import PrecisionCurve, RuleModel, TreeRules
from illume.fit.trials import describe_early_end, fit_pair, fit_surrogate, train_encoder

POLISHING_ROWS = 2_048
JUDGED_ROWS = 512
JUDGED_CELLS, FEWEST_JUDGED = 102_400, 64  # of many inputs, fewer rows are judged: rows times inputs
CALIBRATION_ROWS = 1_024
KNOWN_ROWS = 4_096
LEAST_OF_A_CLASS = 16  # too few to change measurements, enough for rules of a rare class
FINENESS, USUAL = (0.5, 1.0, 2.0, 4.0), 1  # multiples of the usual one, for rules on numbers
GOALS = (0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995)


def at_equal_coverage(one: PrecisionCurve, other: PrecisionCurve) -> tuple[float, float]:
    """Return the mean precision of two families of rules over the coverages that both reach.

    Without a coverage in common, where the two come nearest.

    >>> a = PrecisionCurve(np.zeros(2), np.array([0.8, 1.0]), np.array([0.4, 0.2]))
    >>> b = PrecisionCurve(np.zeros(2), np.array([0.7, 0.9]), np.array([0.4, 0.2]))
    >>> [round(precision, 3) for precision in at_equal_coverage(a, b)]
    [0.9, 0.8]
    """
    curves = [_by_coverage(curve) for curve in (one, other)]
    if any(not len(coverage) for coverage, _ in curves):
        return tuple(float(precision.mean()) if len(precision) else 0.0 for _, precision in curves)  # type: ignore[return-value]
    low = max(coverage[0] for coverage, _ in curves)
    high = min(coverage[-1] for coverage, _ in curves)
    shared = np.linspace(low, high, 101) if low <= high else np.array([(low + high) / 2])
    return tuple(float(np.interp(shared, *curve).mean()) for curve in curves)  # type: ignore[return-value]


def mean_precision(
    covered: FloatArray | IntArray, correct: FloatArray | IntArray, n_rows: int
) -> tuple[float, float]:
    """Return the mean precision of rules that cover rows, NaN if none does, and the mean coverage."""
    known = covered > 0
    precision = float((correct[known] / covered[known]).mean()) if known.any() else math.nan
    return precision, float(covered.mean()) / max(n_rows, 1)


def _by_coverage(curve: PrecisionCurve) -> tuple[FloatArray, FloatArray]:
    known = ~np.isnan(curve.precision)
    order = np.argsort(curve.coverage[known], kind="stable")
    return curve.coverage[known][order], curve.precision[known][order]


def rule_pairs(local: Pair, encoder: Encoder | None, tree: Any, rows: FitRows) -> dict[str, Pair]:
    """Fit trees on the latents of an encoder for rules, or else of the local pair, and on the inputs."""
    pairs, decided = {}, rows.decided
    if encoder is not None:
        own = fit_surrogate(train_encoder(encoder, rows), tree, decided)
        ending = describe_early_end(own.history)
        if ending:
            if getattr(own.history, "interrupted", False):
                ending += "; rules come from that, fit again for a whole training"
            warn(f"training of the rules' encoder ended early: {ending}")
        if getattr(own.history, "learned", True):
            pairs["local"] = own
    elif not isinstance(local.encoder, IdentityEncoder) and getattr(local.history, "learned", True):
        pairs["local"] = fit_surrogate(local.encoder, tree, decided)
    return pairs | {"global": fit_pair(IdentityEncoder(), tree, decided)}


def fit_rule_model(pairs: Mapping[str, Pair], rows: FitRows, layout: Layout, search: str) -> RuleModel:
    """Make rules of every pair's tree and keep the better one, the first of equals.

    Better is the higher precision on validation rows at equal coverage.
    """
    question, training = rows.outputs.strata, rows.training
    conditions = Conditions.of(_polishing_sample(rows, layout))
    makers, curves = {}, {}
    for source, pair in pairs.items():
        makers[source] = TreeRules.of(pair, layout, (training.X, training.P), question, search)
        curves[source] = _measure_curve(makers[source], conditions, rows)
    source, reason = next(iter(pairs)), "there is only one tree"
    if len(pairs) > 1:
        first, second = pairs
        mine, other = at_equal_coverage(curves[first], curves[second])
        rare = question.intervals and 2 * curves[first].coverage[USUAL] < curves[second].coverage[USUAL]
        source = second if other > mine or rare else first
        reason = (
            f"on {min(len(rows.validation), JUDGED_ROWS)} validation rows, at equal coverage, "
            f"rules of the {first} tree have precision {mine:.3f}, of the {second} tree {other:.3f}"
        )
    ending = "".join(describe_early_end(pair.history) for pair in pairs.values())
    reason += f"; training ended early: {ending}" if ending else ""
    known, report = (
        _sample(rows, part, layout, n)
        for part, n in ((rows.training + rows.validation, KNOWN_ROWS), (rows.report, REPORT_ROWS))
    )
    model = RuleModel(makers[source], conditions, known, report, curves[source], source, reason)
    return replace(model, intervals=_fit_intervals(model, rows))


def _fit_intervals(model: RuleModel, rows: FitRows) -> IntervalModel | None:
    """Calibrate the intervals that rules on numbers end in on validation rows; None for classes."""
    if not model.question.intervals:
        return None
    layout, training = model.rules.layout, rows.training
    sample = _sample(rows, training, layout, REPORT_ROWS)
    judged = _sample(rows, rows.validation, layout, CALIBRATION_ROWS)
    others = _sample(rows, rows.validation, layout, REPORT_ROWS)
    c = training.P.shape[1]
    found = IntervalModel(sample, np.zeros(c), np.zeros((c, len(LEVELS))))
    for i in range(c):
        question = rows.outputs.question(i)
        boxes = model.ask(question, training.P).rules(judged.X, question.decide(judged.P)).boxes
        known = (i, boxes, judged.X, judged.P[:, i])
        # Where most rules cover no other training row, the median spread is 0.
        found.typical[i] = np.median(found.starts(*known, LEVELS[0]).spread) or training.P[:, i].std()
        found.margins[i] = found.calibrate(*known, others)
    return found


def _measure_curve(rules: TreeRules, conditions: Conditions, rows: FitRows) -> PrecisionCurve:
    """Polish rules of validation rows to several goals; measure each on the other validation rows."""
    judged = _sample(rows, rows.validation, rules.layout, JUDGED_ROWS)
    if isinstance(rules.question, Bands):
        return _interval_curve(rules, judged)
    most = max(JUDGED_CELLS // max(rules.layout.n_inputs, 1), FEWEST_JUDGED)
    some = evenly_spaced(len(judged), most)  # each of their rules is measured on all judged rows
    X, wanted = judged.X[some], judged.decisions[some]
    boxes, points = rules(X, wanted).boxes, []
    for goal in GOALS:
        covered, correct = judged.counts(polish(conditions, boxes, X, wanted, RuleGoal(goal))[0], wanted)
        points.append(mean_precision(covered - 1, correct - 1, len(judged) - 1))  # without the row itself
    precisions, coverages = np.array(points).T
    return PrecisionCurve(np.array(GOALS), precisions, coverages)


def _interval_curve(rules: TreeRules, judged: Sample) -> PrecisionCurve:
    """Measure rules of validation rows that tell numbers apart more or less finely."""
    question, points = rules.question, []
    for factor in FINENESS:
        asked = replace(question, close=factor * question.close)  # type: ignore[type-var, attr-defined]
        boxes = replace(rules, question=asked)(judged.X, judged.decisions).boxes
        covered, correct = judged.counts(boxes, judged.decisions, but=judged.X)
        points.append(mean_precision(covered, correct, len(judged) - 1))
    precisions, coverages = np.array(points).T
    return PrecisionCurve(np.array(FINENESS), precisions, coverages)


def _polishing_sample(rows: FitRows, layout: Layout) -> Sample:
    """Take training rows and queried rows, half and half as far as there are."""
    queries, training = rows.queries, rows.training
    n_queries = min(len(queries), max(POLISHING_ROWS // 2, POLISHING_ROWS - len(training)))
    question = rows.outputs.strata
    parts = [_draw(training, question, POLISHING_ROWS - n_queries, LEAST_OF_A_CLASS)]
    if n_queries:
        parts.append(_draw(queries, question, n_queries))
    X, P = (np.concatenate([getattr(part, name) for part in parts]) for name in ("X", "P"))
    return Sample(layout, X, P, question)


def _draw(rows: AnsweredRows, question: Question, n: int, least: int = 0) -> AnsweredRows:
    kept = stratified(question.decide(rows.P), n, least)
    return AnsweredRows(rows.X[kept], rows.P[kept])


def _sample(rows: FitRows, part: AnsweredRows, layout: Layout, n: int) -> Sample:
    some = _draw(part, rows.outputs.strata, n)
    return Sample(layout, some.X, some.P, rows.outputs.strata)
