"""Measure a fitted explainer on its report rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.encoding import Encoded
from illume.data.later import Later
from illume.data.load_rows import LoadedRows
from illume.data.outputs import Outputs
from illume.data.sampling import rows_needed, stratified
from illume.errors import FewRowsWarning, warn
from illume.explanations.fitted import AnsweredFrame, AnsweredRows, Fitted
from illume.explanations.rules import RuleRequest, make_rules, require_rule_model
from illume.fit.prepare import Prepared
from illume.fit.rule_trees import mean_precision
from illume.fit.settings import Settings
from illume.metrics.fidelity import Fidelity, fidelity, r_squared
from illume.results.quality import FEW, ClassQuality, ContributionQuality, Quality, RuleQuality, Sampling
from illume.surrogates.base import TreeSurrogate
from illume.twin.training_run import next_effort
from illume.twin.twin import Twin

JUDGED_RULES = 1_000


@dataclass(frozen=True, eq=False)
class Stand:
    """What stands for the model: its twin, None where there is only the latent surrogate, and its figures.

    `reason` says why the model was not read; `queries` are made-up rows with answers, as are `mixed` ones,
    for the latent surrogate.
    """

    prepared: Prepared
    twin: Twin | None
    background: AnsweredFrame
    reason: str
    queries: Later[AnsweredRows]
    mixed: AnsweredRows
    contributions: ContributionQuality | None = None
    ignored: tuple[str, ...] = ()
    interrupted: bool = False


def twin_figures(answers: tuple[FloatArray, FloatArray], outputs: Outputs) -> dict[str, Any]:
    """Return how close the twin's answers to report rows are to the model's, (n, c) both."""
    P, Q = answers
    return {
        "report": fidelity(P, Q, outputs),
        "classes": output_qualities(P, Q, outputs),
        "majority": outputs.majority(P),
        "outputs": outputs,
    }


def output_qualities(P: FloatArray, Q: FloatArray, outputs: Outputs) -> tuple[ClassQuality, ...]:
    """Return how close answers Q are to P, (n, c) both, by class or number."""
    return tuple(_output_quality(c, outputs, P, Q) for c in range(len(outputs)))


def ask_twin(prepared: Prepared, twin: Twin | None) -> tuple[FloatArray, FloatArray]:
    """Return the answers (n, c) of the model and of the twin to report rows; an exact one has the model's."""
    report, encoded, P = prepared.split.report, prepared.encoded, prepared.rows.report.P
    if twin is None or twin.exact:
        return P, P
    mine = Encoded(encoded.X[report], encoded.imputed[report], encoded.odd[report])
    return P, prepared.outputs.answers_of(twin.scores(twin.read(prepared.frame.take(report), mine)))


def measure_quality(
    found: Stand,
    answers: tuple[FloatArray, FloatArray],
    settings: Settings,
    source: LoadedRows,
    seconds: float,
) -> Quality:
    """Return the quality of the twin by its answers to report rows."""
    prepared, outputs, twin = found.prepared, found.prepared.outputs, found.twin
    seed = int(settings.random_state) if isinstance(settings.random_state, Integral) else None
    figures = twin_figures(answers, outputs)
    if twin is None:
        figures["report"], figures["classes"] = Fidelity(math.nan, math.nan, len(answers[0])), ()
    learned = twin is not None and not twin.exact
    n_features = len(prepared.encoding.schema)
    return Quality(
        **figures,
        exact=twin is not None and twin.exact and settings.contributions == "shapley",
        reason=found.reason,
        n_background=len(found.background.frame),
        n_training=len(prepared.rows.training),
        n_validation=len(prepared.rows.validation),
        n_queries=prepared.n_queries,
        n_asked=prepared.black_box.n_asked,
        seconds=seconds,
        sampling=Sampling(source.n_rows, len(source.frame), seed) if source.partial else None,
        contributions=found.contributions,
        ignored=found.ignored,
        noise=prepared.noise,
        fewer=prepared.fewer,
        effort=settings.effort if learned else None,
        next_effort=next_effort(settings.effort, n_features, prepared.n_queries) if learned else None,
        interrupted=found.interrupted,
    )


def warn_few_rows(quality: Quality, settings: Settings) -> None:
    """Warn where quality is measured on very few rows."""
    if quality.few:
        data = settings.data_options
        needed = rows_needed(FEW, min(data.validation_size, data.report_size))
        advice = f"fit with {needed} rows or more (or, in Python, larger validation_size, report_size)"
        warn(f"{quality.few}; {advice}", FewRowsWarning)


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
