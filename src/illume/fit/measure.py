"""Measure a fitted explainer on its report rows."""

from __future__ import annotations

import math
import warnings
from numbers import Integral
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.encoding import Encoded
from illume.data.load_rows import LoadedRows
from illume.data.outputs import Outputs
from illume.data.sampling import rows_needed, stratified
from illume.errors import FewRowsWarning
from illume.explanations.fitted import Fitted, ReportAnswers
from illume.explanations.rules import RuleRequest, make_rules, require_rule_model
from illume.fit.prepare import Prepared
from illume.fit.rule_trees import mean_precision
from illume.fit.settings import Settings
from illume.fit.shapley_values import TrainedShapley, ignored_features
from illume.fit.trials import Choice
from illume.metrics.fidelity import fidelity, r_squared
from illume.results.quality import FEW, ClassQuality, Quality, RuleQuality, Sampling
from illume.shapley.training_run import next_effort
from illume.surrogates.base import TreeSurrogate

JUDGED_RULES = 1_000


def surrogate_figures(answers: ReportAnswers, outputs: Outputs) -> dict[str, Any]:
    """Return the fields of `Quality` that are about the surrogate, and that depend on decisions."""
    P, Q = answers.P, answers.Q
    return {
        "report": fidelity(P, Q, outputs),
        "baseline": fidelity(P, answers.B, outputs),
        "classes": tuple(_output_quality(c, outputs, P, Q) for c in range(len(outputs))),
        "majority": outputs.majority(P),
        "outputs": outputs,
    }


def measure_quality(
    prepared: Prepared,
    choice: Choice,
    answers: ReportAnswers,
    shapley: TrainedShapley | None,
    settings: Settings,
    *,
    source: LoadedRows,
    seconds: float,
) -> Quality:
    """Return the quality of Shapley values and of the chosen pair, by the answers to report rows."""
    schema = prepared.encoding.schema
    seed = int(settings.random_state) if isinstance(settings.random_state, Integral) else None
    return Quality(
        **surrogate_figures(answers, prepared.outputs),
        encoder=type(choice.pair.encoder).__name__.removesuffix("Encoder").lower(),
        n_latents=choice.pair.n_latents,
        alignment=choice.alignment,
        fell_back=choice.fell_back,
        reason=choice.reason,
        n_training=len(prepared.rows.training),
        n_validation=len(prepared.rows.validation),
        n_queries=prepared.n_queries if shapley else len(prepared.rows.queries),
        n_asked=prepared.black_box.n_asked,
        seconds=seconds,
        sampling=Sampling(source.n_rows, len(source.frame), seed) if source.partial else None,
        contributions=shapley.quality if shapley else None,
        ignored=ignored_features(schema, shapley.model) if shapley else (),
        noise=prepared.noise,
        effort=settings.effort if shapley else None,
        next_effort=next_effort(settings.effort, len(schema), prepared.n_queries) if shapley else None,
    )


def warn_few_rows(quality: Quality, settings: Settings) -> None:
    """Warn where quality is measured on very few rows."""
    if quality.few:
        data = settings.data_options
        needed = rows_needed(FEW, min(data.validation_size, data.report_size))
        advice = f"fit with {needed} rows or more (or, in Python, larger validation_size, report_size)"
        warnings.warn(f"{quality.few}; {advice}", FewRowsWarning, stacklevel=4)


def _output_quality(c: int, outputs: Outputs, P: FloatArray, Q: FloatArray) -> ClassQuality:
    mine, single = outputs.belongs(P, c), outputs.single(c)
    p, q = (P, Q) if single is outputs else (P[:, [c]], Q[:, [c]])
    figures = (each(p, q)[mine] for each in (single.alike, single.error))
    agreed, error = (float(each.mean()) if mine.any() else math.nan for each in figures)
    r2 = r_squared(P[:, [c]], Q[:, [c]])
    return ClassQuality(outputs.names[c], agreed, r2, int(mine.sum()), error)


def measure_rules(fitted: Fitted, seconds: float) -> RuleQuality:
    """Return the quality of the rules of report rows, each measured on the other report rows."""
    model, report = require_rule_model(fitted), fitted.rows.report
    sample, tree = model.report, model.rules
    some = stratified(sample.decisions, JUDGED_RULES)
    encoded = Encoded.plain(sample.X[some], len(fitted.schema))
    output = 0 if len(fitted.outputs) > 1 and sample.question.intervals else None
    rules = make_rules(fitted, encoded, sample.P[some], RuleRequest(output=output))
    precision, coverage = mean_precision(rules.n_covered, rules.n_correct, len(sample) - 1)
    answers = tree.tree.answers(tree.encoder.transform(report.X))
    agreed = tree.question.of_shares.holds(answers, tree.question.decide(report.P))
    if tree.question.intervals:  # there, rules agree that hold the row's own number without being widened
        agreed = rules.refinement.agreed
    leaves = tree.tree.children_left_ < 0
    return RuleQuality(
        precision=precision,
        coverage=coverage,
        n_conditions=float(rules.n_conditions.mean()),
        n_rules=len(rules),
        n_rows=len(sample),
        agreement=float(agreed.mean()),
        faithful=float(rules.faithful.mean()),
        width=rules.mean_width,
        outputs=fitted.outputs,
        source=model.source,
        reason=model.reason,
        n_leaves=int(leaves.sum()),
        depth=_depth(tree.tree),
        n_latents=tree.n_latents,
        seconds=seconds,
    )


def _depth(tree: TreeSurrogate) -> int:
    """Return the length of the longest path."""
    level = np.zeros(len(tree.feature_), dtype=np.intp)
    for node in np.flatnonzero(tree.children_left_ >= 0):  # parents come before their children
        level[[tree.children_left_[node], tree.children_right_[node]]] = level[node] + 1
    return int(level.max())
