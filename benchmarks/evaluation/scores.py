"""Scores of a cell of the evaluation."""

from __future__ import annotations

import math
import os
from importlib import import_module

import numpy as np

from benchmarks.data import problem as make_problem
from benchmarks.data.problem import Problem
from benchmarks.harness import Line
from benchmarks.methods.outcome import Outcome, explained_classes
from illume import metrics
from illume._typing import FloatArray
from illume.metrics import Boxes

METHODS = {
    "illume": "library:illume",
    **{name: f"published:{name}" for name in ("paper", "lin", "inp")},
    **{name: f"peers:{name}" for name in ("lime", "shap", "lore", "anchor", "pca", "isomap", "lle", "umap")},
    "s-umap": "peers:supervised_umap",
    "none": "peers:none",
    "gradient": "peers:gradient",
}
QUERIED_ROWS = 200  # for metrics that query the black box
BACKGROUND_ROWS = 100
# Slow methods explain only these rows. Robustness depends on the distance of neighbours, so methods are
# comparable on the same rows only.
FEW_ATTRIBUTIONS, FEW_RULES = 100, 30


def evaluate(cell: Line) -> Line:
    """Explain and score a cell; `ILLUME_DEVICE` names the device that trains encoders."""
    problem = make_problem(cell["data"], cell["black_box"], cell["seed"], cell["protocol"])
    module, name = METHODS[cell["method"]].split(":")
    explain = getattr(import_module(f"benchmarks.methods.{module}"), name)  # each needs packages of its own
    outcome = explain(problem, cell["setting"], os.environ.get("ILLUME_DEVICE", "cpu"))
    figures = outcome.figures | scores(problem, outcome)
    figures["black_box.f1"] = metrics.macro_f1(problem.y_test, problem.P_test.argmax(1))
    times = {"fit_s": outcome.fit_s, "explain_s": outcome.explain_s, "rows": len(outcome.rows)}
    return {
        "metrics": {name: round(float(v), 6) for name, v in figures.items() if not math.isnan(v)},
        "times": {name: round(value, 6) for name, value in times.items()},
    }


def scores(problem: Problem, outcome: Outcome) -> dict[str, float]:
    """Return all metrics for which the outcome has arrays."""
    found: dict[str, float] = {}
    for kind, values in (("slopes", outcome.slopes), ("contributions", outcome.contributions)):
        if values is not None:
            found |= _prefix(f"lr.{kind}", attribution_scores(problem, outcome, kind, values))
    for kind in ("rules", "raw_rules"):
        boxes = getattr(outcome, kind)
        if boxes is not None:
            found |= _prefix(f"dt.{kind}", rule_scores(problem, outcome, boxes))
    truth = problem.truth
    if outcome.counterfactual_rules is not None and truth is not None and truth.counter_low is not None:
        there = Boxes(truth.counter_low[outcome.rows], truth.counter_high[outcome.rows])
        own = original_units(problem, outcome.counterfactual_rules)
        found["dt.counterfactual_rules.cplt"] = float(np.mean(metrics.completeness(own, there)))
    if outcome.latents is not None:
        found |= _prefix("space", space_scores(problem, outcome.latents))
    return found


def _prefix(prefix: str, figures: dict[str, float]) -> dict[str, float]:
    return {f"{prefix}.{name}": value for name, value in figures.items()}


def attribution_scores(problem: Problem, outcome: Outcome, kind: str, values: FloatArray) -> dict[str, float]:
    """Score slopes per column, or contributions per feature."""
    rows = outcome.rows
    X, P, onehot = problem.X_test[rows], problem.P_test[rows], problem.encoding.onehot
    decisions, few = P.argmax(1), slice(0, FEW_ATTRIBUTIONS)
    found = {
        "robustness": metrics.robustness(values, X, decisions, onehot=onehot),
        "robustness_first": metrics.robustness(values[few], X[few], decisions[few], onehot=onehot),
        "global_robustness": metrics.global_robustness(values, X, decisions),
        "faithfulness": metrics.faithfulness(values, P),
    }
    of_one = getattr(outcome, f"{kind}_of_one")
    if of_one is not None:
        found["faithfulness_one_class"] = metrics.faithfulness(of_one, P)
    found |= correctness(problem, outcome, kind, values)
    return found | query_scores(problem, outcome, kind, values)


def correctness(problem: Problem, outcome: Outcome, kind: str, values: FloatArray) -> dict[str, float]:
    """Compare with the truth, if known; negative similarities count 0, as in the paper."""
    truth, classes = problem.truth, explained_classes(problem)[outcome.rows]
    if truth is None or truth.kind == "box":
        return {}
    if truth.kind == "ranking":
        # PAPER: the reference has no signs, yet the published figures compare it with signed values.
        size = np.abs(values) if problem.protocol == "clean" else values
        reference = np.broadcast_to(truth.reference, size.shape)
        return {
            "cs": _positive(metrics.cosine_score(size, reference)),
            "ranking": _positive(metrics.rank_score(size, reference)),
        }
    sign = np.where(classes == 1, 1.0, -1.0)[:, None]
    values = sign * (values / problem.encoding.scale if kind == "slopes" else values)
    found = {"cs": _positive(metrics.cosine_score(values, truth.gradient[outcome.rows]))}
    if truth.published is not None:
        found["cs_published"] = _positive(metrics.cosine_score(values, truth.published[outcome.rows]))
    return found


def _positive(similarity: FloatArray) -> float:
    return float(np.mean(np.maximum(similarity, 0.0)))


def query_scores(problem: Problem, outcome: Outcome, kind: str, values: FloatArray) -> dict[str, float]:
    """Score attributions by the black box's answers on changed rows."""
    some = slice(0, QUERIED_ROWS)
    X, classes = problem.X_test[outcome.rows][some], explained_classes(problem)[outcome.rows][some]
    predict, encoding = problem.model.predict_proba, problem.encoding
    pick = np.random.default_rng(0).permutation(len(problem.X_train))[:BACKGROUND_ROWS]
    around = {"background": problem.X_train[pick], "owner": encoding.owner}
    per_column, found = values[some], {}
    if kind == "slopes":
        local = metrics.local_fidelity(per_column, X, predict, classes, onehot=encoding.onehot)
        found = {
            "local_fidelity": local.correlation,
            "local_r2": local.r2,
            "local_agreement": local.agreement,
        }
    else:
        first = np.unique(encoding.owner, return_index=True)[1]
        per_column = np.zeros((len(X), len(encoding.owner)))
        per_column[:, first] = values[some]  # the whole contribution of a feature is on its first column
        found = {"infidelity": metrics.infidelity(per_column, X, predict, classes, **around)}
    gap = {
        name: metrics.prediction_gap(per_column, X, predict, classes, important=important, **around)
        for name, important in (("pgi", True), ("pgu", False))
    }
    return found | gap


def original_units(problem: Problem, boxes: Boxes) -> Boxes:
    """Return bounds on encoded columns in original units."""
    mean, scale = problem.encoding.mean, problem.encoding.scale
    return Boxes(boxes.low * scale + mean, boxes.high * scale + mean)


def rule_scores(problem: Problem, outcome: Outcome, boxes: Boxes) -> dict[str, float]:
    """Score rules for the decisions of the black box."""
    rows, encoding = outcome.rows, problem.encoding
    X, P = problem.X_test[rows], problem.P_test[rows]
    decisions = P.argmax(1)
    everywhere = problem.P_test.argmax(1)
    precision, coverage = metrics.rule_precision(boxes, decisions, problem.X_test, everywhere, own=rows)
    few = slice(0, FEW_RULES)
    first = Boxes(boxes.low[few], boxes.high[few])
    found = {
        "robustness": metrics.robustness(boxes, X, decisions, onehot=encoding.onehot),
        "robustness_first": metrics.robustness(first, X[few], decisions[few], onehot=encoding.onehot),
        "global_robustness": metrics.global_robustness(boxes, X, decisions),
        "faithfulness": metrics.faithfulness(boxes, P),
        "precision": float(np.nanmean(precision)) if not np.isnan(precision).all() else math.nan,
        "coverage": float(np.mean(coverage)),
        "length": float(np.mean(metrics.rule_length(boxes, owner=encoding.owner))),
    }
    truth = problem.truth
    if truth is not None and truth.kind == "box":
        there = Boxes(truth.low[rows], truth.high[rows])
        found["cplt"] = float(np.mean(metrics.completeness(original_units(problem, boxes), there)))
    return found


def space_scores(problem: Problem, latents: tuple[FloatArray, FloatArray]) -> dict[str, float]:
    """Score a latent space of training and test rows."""
    Z_train, Z_test = latents
    return {
        "feature_preservation": metrics.triplet_accuracy(problem.X_test, Z_test),
        "decision_preservation": metrics.triplet_accuracy(problem.P_test, Z_test),
        "knn_gain": metrics.knn_gain(
            Z_train, Z_test, problem.X_train, problem.X_test, problem.y_train, problem.y_test
        ),
    }
