"""The whole fit, from rows to the fitted value."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from illume.data.load_rows import LoadedRows, RowLimit, load_rows
from illume.errors import BlackBoxError, LeftOutError
from illume.explanations.boxes import Layout
from illume.explanations.counterfactuals import pool_rows
from illume.explanations.fitted import AnsweredFrame, AnsweredRows, FitRows, Fitted, Pair, ReportAnswers
from illume.explanations.tree_rules import TreeRules
from illume.explanations.trust_map import TrustMap
from illume.fit.ask import ask
from illume.fit.measure import measure_quality, measure_rules, warn_few_rows
from illume.fit.model_checks import warn_of_model
from illume.fit.prepare import Prepared, prepare
from illume.fit.rule_trees import fit_rule_model, rule_pairs
from illume.fit.settings import Settings
from illume.fit.shapley_values import TrainedShapley, ask_for_shapley, train_shapley
from illume.fit.trials import Choice, choose_pair
from illume.results.dictionary import DataDictionary, parse_labels
from illume.shapley.training_run import training_threads

LOG = logging.getLogger(__name__)  # without a handler, nothing is shown


@dataclass(frozen=True, eq=False)
class FitResult:
    """The fitted value, and whether training was interrupted."""

    fitted: Fitted
    interrupted: bool


def fit_explainer(settings: Settings, X: Any) -> FitResult:
    """Fit an explainer: read rows, ask the model, train Shapley values and the surrogate, measure both."""
    start = time.perf_counter()
    settings.validate()
    parse_labels(settings.labels)  # raises before rows are read
    seed = check_random_state(settings.random_state).randint(2**31 - 1)
    options = settings.data_options
    limit = RowLimit(options.row_budget, seed, options.backend, settings.verbose)
    source = load_rows(X, settings.model, options.schema, settings.categorical, limit)
    dictionary = DataDictionary.of(settings.labels, source.schema)  # raises before the model is asked
    LOG.info("fit on %d rows of %d columns: asking the model", len(source.frame), len(source.schema.names))
    prepared = prepare(source, settings, np.random.default_rng(seed))
    data = ask_for_shapley(prepared, settings.background, seed) if settings.shapley else None
    asked = prepared.black_box.n_asked
    LOG.info("%.0f s: the model has answered %d rows; training", time.perf_counter() - start, asked)
    with training_threads(settings.device) as device:
        shapley = train_shapley(data, settings, seed, device) if data else None
        rows = replace(prepared.rows, mixed=data.mixed) if data else prepared.rows
        LOG.info("%.0f s: training the surrogate", time.perf_counter() - start)
        choice = choose_pair(settings, prepared.encoding, rows)
        found = _assemble(settings, source, prepared, choice, shapley=shapley, start=start)
        fitted = ask(found.with_labels(dictionary), settings.positive_class, settings.threshold)
    interrupted = choice.interrupted or (shapley is not None and shapley.interrupted)
    LOG.info("%.0f s: fitted", time.perf_counter() - start)
    warn_few_rows(fitted.quality, settings)
    warn_of_model(fitted.quality)
    return FitResult(replace(fitted, original=None), interrupted)


def _assemble(
    settings: Settings,
    source: LoadedRows,
    prepared: Prepared,
    choice: Choice,
    *,
    shapley: TrainedShapley | None,
    start: float,
) -> Fitted:
    """Put all that was learned into one value."""
    rows, pair = prepared.rows, choice.pair
    report, outputs = rows.report, prepared.outputs
    answers = ReportAnswers(report.P, pair.answers(report.X), choice.baseline.answers(report.X))
    trust_map = TrustMap.fit(report.X, report.P, answers.Q, outputs)
    training = AnsweredFrame(prepared.frame, prepared.P).take(prepared.split.training)
    neighbours = pair.neighbours(rows.training, outputs.strata, settings.surrogate_options.search)
    reference = prepared.reference.with_distances(trust_map, rows.training.X)
    seconds = time.perf_counter() - start
    return Fitted(
        black_box=prepared.black_box,
        columns=prepared.frame.names,
        backend=prepared.frame.origin.backend,
        encoding=prepared.encoding,
        outputs=outputs,
        missing=prepared.missing,
        split=prepared.split,
        rows=rows,
        pair=pair,
        local=choice.local,
        neighbours=neighbours,
        trust_map=trust_map,
        reference=reference,
        pool=training.take(pool_rows(rows)),
        shapley=shapley.model if shapley else None,
        background=shapley.background if shapley else None,
        quality=measure_quality(prepared, choice, answers, shapley, settings, source=source, seconds=seconds),
        report_answers=answers,
        history=choice.local.history,
        trials=choice.trials,
    )


def fit_rules(fitted: Fitted, settings: Settings) -> FitResult:
    """Grow the tree that rules come from, and measure its rules."""
    if fitted.monotony:
        raise BlackBoxError(f"{fitted.monotony}; without it, rules and counterfactuals have no two decisions")
    start, rows, local = time.perf_counter(), _rows_to_grow_on(fitted), fitted.local
    encoder = settings.rule_encoder(fitted.encoding, fitted.local.n_latents, fitted.outputs.task)
    if fitted.rule_encoder is not None or rows is not fitted.rows:  # another question: nothing is trained
        encoder, local = None, replace(local, encoder=fitted.rule_encoder or local.encoder)
    with training_threads(settings.device):
        pairs = rule_pairs(local, encoder, settings.rule_options.tree, rows)
        layout, training = Layout.of(fitted.encoding), fitted.rows.training
        search = settings.surrogate_options.search
        model = fit_rule_model(pairs, rows, layout, search)
        if rows is not fitted.rows:  # neighbours are found among all training rows
            pair = Pair(model.rules.encoder, model.rules.tree)
            rules = TreeRules.of(pair, layout, (training.X, training.P), model.question, search)
            model = replace(model, rules=rules)
        fitted = replace(fitted, rule_model=model)
        quality = measure_rules(fitted, time.perf_counter() - start)
        interrupted = any(getattr(pair.history, "interrupted", False) for pair in pairs.values())
    return FitResult(replace(fitted, rule_quality=quality), interrupted)


def _rows_to_grow_on(fitted: Fitted) -> FitRows:
    """Return the rows of the fit; of an explainer from a file the training rows, every sixth to choose by."""
    rows = fitted.rows
    if len(rows.validation):
        return rows
    if not len(rows.training) or not len(rows.report):
        raise LeftOutError(
            "the explainer was saved with rules=False or rows='none', and growing their tree takes rows of "
            "the fit; save it with rules=True to have rules and counterfactuals"
        )
    chooses = np.arange(len(rows.training)) % 6 == 5
    X, P = rows.training.X, rows.training.P
    training, validation = (AnsweredRows(X[some], P[some]) for some in (~chooses, chooses))
    return replace(rows, training=training, validation=validation)
