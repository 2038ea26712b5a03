"""Choosing the tree that rules come from, and how strictly to polish them, on validation rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.checkpoints import Slot
from illume.data.threads import RowChunks
from illume.encoders.base import Encoder
from illume.encoders.identity import IdentityEncoder
from illume.explanations.boxes import Boxes
from illume.explanations.layout import Layout
from illume.explanations.rule_sample import Bins, Sample, spread
from illume.explanations.rule_search import Wish, polish
from illume.explanations.tree_rules import TreeRules
from illume.fit.pairs import Answered, Material, Pair, ending_of, fit_pair, with_surrogate

POLISHING_ROWS = 2_048
JUDGED_ROWS = 512
REPORT_ROWS = 4_096
LEAST_OF_A_CLASS = 16  # so few do not move what is measured, and a rare class still gets rules
GOALS = (0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995)


@dataclass(frozen=True, eq=False)
class Curve:
    """Mean precision and coverage of rules on validation rows, by the goal that they were polished to."""

    goals: FloatArray
    precision: FloatArray
    coverage: FloatArray

    def goal(self, wanted: float) -> float:
        """Return the mildest goal, not below the wanted precision, that reached it on validation rows.

        Where none did, the one that came nearest.

        >>> curve = Curve(np.array([0.9, 0.95, 0.99]), np.array([0.85, 0.92, 0.96]), np.ones(3))
        >>> curve.goal(0.9), curve.goal(0.99)
        (0.95, 0.99)
        """
        goals, precision = np.append(self.goals, wanted), np.append(self.precision, np.nan)
        stricter = np.flatnonzero((goals >= wanted) & ~np.isnan(precision))
        if not len(stricter):
            return wanted
        reached = stricter[precision[stricter] >= wanted]
        best = reached[0] if len(reached) else stricter[precision[stricter].argmax()]
        return float(goals[best])


def at_equal_coverage(one: Curve, other: Curve) -> tuple[float, float]:
    """Return the mean precision of two families of rules over the coverages that both reach.

    Without a coverage in common, where the two come nearest.

    >>> a = Curve(np.zeros(2), np.array([0.8, 1.0]), np.array([0.4, 0.2]))
    >>> b = Curve(np.zeros(2), np.array([0.7, 0.9]), np.array([0.4, 0.2]))
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


def _by_coverage(curve: Curve) -> tuple[FloatArray, FloatArray]:
    known = ~np.isnan(curve.precision)
    order = np.argsort(curve.coverage[known], kind="stable")
    return curve.coverage[known][order], curve.precision[known][order]


@dataclass(frozen=True, eq=False)
class RuleModel:
    """All that rules are made of.

    Parameters
    ----------
    rules
        The tree, as a maker of rules.
    bins
        Training and queried rows, on which rules are polished.
    report
        Report rows, on which rules are measured.
    curve
        What precision a goal leads to.
    source, reason
        `local` or `global`, and the figures that decided.
    """

    rules: TreeRules
    bins: Bins
    report: Sample
    curve: Curve
    source: str
    reason: str


def rule_pairs(
    local: Pair, encoder: Encoder | None, tree: Any, material: Material, slot: Slot | None = None
) -> dict[str, Pair]:
    """Fit trees on the latents of an encoder for rules, or else of the local pair, and on the inputs."""
    pairs = {}
    if encoder is not None:
        own = fit_pair(encoder, tree, material, slot)
        ending = ending_of(own.history)
        if ending:
            kept = "; rules come from that, fit again for a whole training" * own.history.interrupted
            warnings.warn(
                f"training of the rules' encoder ended early: {ending}{kept}", UserWarning, stacklevel=3
            )
        if getattr(own.history, "learned", True):
            pairs["local"] = own
    elif not isinstance(local.encoder, IdentityEncoder) and getattr(local.history, "learned", True):
        pairs["local"] = with_surrogate(local.encoder, tree, material)
    return pairs | {"global": fit_pair(IdentityEncoder(), tree, material)}


def fit_rule_model(pairs: Mapping[str, Pair], material: Material, layout: Layout, search: str) -> RuleModel:
    """Make rules of every pair's tree and keep the better one, the first of equals.

    Better is the higher precision on validation rows at equal coverage.
    """
    bins = Bins.of(_polishing_sample(material, layout))
    training = material.training
    makers, curves = {}, {}
    for source, pair in pairs.items():
        makers[source] = TreeRules.of(pair.encoder, pair.surrogate, layout, (training.X, training.P), search)
        curves[source] = _curve(makers[source], bins, material.validation)
    source, reason = next(iter(pairs)), "there is only one tree"
    if len(pairs) > 1:
        first, second = pairs
        mine, other = at_equal_coverage(curves[first], curves[second])
        source = second if other > mine else first
        reason = (
            f"on {min(len(material.validation), JUDGED_ROWS)} validation rows, at equal coverage, "
            f"rules of the {first} tree have precision {mine:.3f}, of the {second} tree {other:.3f}"
        )
    ending = "".join(ending_of(pair.history) for pair in pairs.values())
    reason += f"; training ended early: {ending}" if ending else ""
    report = _sample(material.report, layout, REPORT_ROWS)
    return RuleModel(makers[source], bins, report, curves[source], source, reason)


def raw_boxes(rules: TreeRules, X: FloatArray, wanted: IntArray) -> Boxes:
    """Return the tree's own boxes around rows."""
    boxes = Boxes.everything(*X.shape)
    chunks = RowChunks(len(X), rules.at_once)
    for rows in chunks:
        with chunks:
            boxes[rows] = rules(X[rows], wanted[rows]).boxes
    return boxes


def _curve(rules: TreeRules, bins: Bins, validation: Answered) -> Curve:
    """Polish rules of validation rows to several goals; measure each on the other validation rows."""
    judged = _sample(validation, rules.layout, JUDGED_ROWS)
    X, wanted = judged.X, judged.decisions
    boxes = raw_boxes(rules, X, wanted)
    points = []
    for goal in GOALS:
        covered, correct = judged.counts(polish(bins, boxes, X, wanted, Wish(goal))[0], wanted)
        others, right = covered - 1, correct - 1  # a row lies in its own rule, and proves nothing
        known = others > 0
        precision = float((right[known] / others[known]).mean()) if known.any() else math.nan
        points.append((precision, float(others.mean()) / max(len(X) - 1, 1)))
    precisions, coverages = np.array(points).T
    return Curve(np.array(GOALS), precisions, coverages)


def _polishing_sample(material: Material, layout: Layout) -> Sample:
    """Take training rows and queried rows, half and half as far as there are."""
    queries, training = material.queries, material.training
    n_queries = min(len(queries), max(POLISHING_ROWS // 2, POLISHING_ROWS - len(training)))
    parts = [_some(training, POLISHING_ROWS - n_queries, LEAST_OF_A_CLASS)]
    if n_queries:
        parts.append(_some(queries, n_queries))
    X = np.concatenate([part.X for part in parts])
    return Sample.of(layout, X, np.concatenate([part.P.argmax(1) for part in parts]))


def _some(rows: Answered, n: int, least: int = 0) -> Answered:
    kept = spread(rows.P.argmax(1), n, least)
    return Answered(rows.X[kept], rows.P[kept])


def _sample(rows: Answered, layout: Layout, n: int) -> Sample:
    some = _some(rows, n)
    return Sample.of(layout, some.X, some.P.argmax(1))
