"""The whole fit, from rows to the fitted value.

The model is read, or else learned. The latent surrogate and rules are trained when they are first asked for.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from illume._typing import FloatArray
from illume.data.black_box import is_classifier
from illume.data.encoding import Encoded
from illume.data.frames import Frame, as_frame
from illume.data.later import Later
from illume.data.load_rows import LoadedRows, RowLimit, load_rows
from illume.data.schema import require_columns
from illume.errors import NewNumberError, SchemaError, Setting, TwinError, import_extra, warn
from illume.explanations.counterfactuals import pool_rows
from illume.explanations.fitted import AnsweredFrame, AnsweredRows, Fitted, LatentTwin
from illume.explanations.places import Places
from illume.explanations.reference import Reference
from illume.fit.ask import ask
from illume.fit.latent import TrainingRows, grow_rules, train_latent
from illume.fit.measure import Stand, ask_twin, measure_quality, warn_few_rows
from illume.fit.model_checks import warn_of_model
from illume.fit.prepare import (
    ENCODER_QUERIES,
    Prepared,
    answer_queries,
    decide_queries,
    naming_queries,
    prepare,
)
from illume.fit.settings import Settings
from illume.fit.shapley_values import ask_for_shapley, ignored_features, train_scores, train_values
from illume.results.dictionary import DataDictionary, parse_labels
from illume.results.quality import Quality
from illume.twin.learned import LearnedTwin
from illume.twin.read import ignored_by, read_twin
from illume.twin.training_run import TrainingProgress, training_threads
from illume.twin.twin import Twin

LOG = logging.getLogger(__name__)  # without a handler, nothing is shown
BACKGROUND_ROWS = 5_000  # of the fitted rows, that an exact twin compares with


def fit_explainer(settings: Settings, X: Any) -> Fitted:
    """Fit an explainer: read rows, ask the model, read it or learn it, and measure how true that is."""
    start = time.perf_counter()
    settings.validate()
    parse_labels(settings.labels)  # raises before rows are read
    seed = int(check_random_state(settings.random_state).randint(2**31 - 1))
    options = settings.data_options
    limit = RowLimit(options.row_budget, seed, options.backend, settings.verbose)
    source = load_rows(X, settings.model, options.schema, settings.categorical, limit)
    dictionary = DataDictionary.of(settings.labels, source.schema)  # raises before the model is asked
    LOG.info("fit on %d rows of %d columns: asking the model", len(source.frame), len(source.schema.names))
    try:
        found = _stand_for(settings, source, seed, start)
    except NewNumberError:  # whole numbers that were taken for labels
        if not settings.finds_task or is_classifier(settings.model):
            raise
        warn(
            "the model's whole numbers were taken for labels, but made-up rows get other ones: they are "
            "numbers, as with DataOptions(task='regression')",
        )
        options = replace(options, task="regression")
        found = _stand_for(replace(settings, data_options=options), source, seed, start)
    answers = ask_twin(found)
    facts = measure_quality(found, answers, settings, source, time.perf_counter() - start)
    fitted = replace(_assemble(settings, found, facts), report_answers=answers, dictionary=dictionary)
    fitted = ask(fitted, settings.positive_class, settings.threshold)
    LOG.info("%.0f s: fitted", time.perf_counter() - start)
    warn_few_rows(fitted.facts, settings)
    warn_of_model(fitted.facts)
    learned = Later(partial(fit_explainer, replace(settings, twin="learned"), source.frame.native))
    return replace(fitted, original=None, learned=learned if fitted.twin.exact else None)


def _stand_for(settings: Settings, source: LoadedRows, seed: int, start: float) -> Stand:
    """Ask the model about the rows, and read it, or learn it."""
    found = _read(settings, prepare(source, settings, np.random.default_rng(seed)), seed)
    if found.twin is not None:
        return found
    LOG.info("%.0f s: the model is learned, as %s", time.perf_counter() - start, found.reason)
    return _learn(settings, found, seed)


def _read(settings: Settings, prepared: Prepared, seed: int) -> Stand:
    """Read the model, if that is possible and wanted."""
    every = AnsweredFrame(prepared.frame, prepared.P)
    background = _given_background(prepared, settings.background)
    if background is None:
        rows = np.arange(len(every.frame))
        if len(rows) > BACKGROUND_ROWS:
            rows = np.sort(np.random.default_rng([seed, 2]).permutation(rows)[:BACKGROUND_ROWS])
        background = every.take(rows)
    nothing = Later.known(AnsweredRows.empty())
    found = Stand(prepared, None, background, "", nothing, AnsweredRows.empty())
    if settings.twin == "learned":
        return replace(found, reason="twin='learned' was asked for")
    if prepared.noise is not None and prepared.noise.largest > 1e-3:
        reason, twin = "its answers to the same rows differ", None
    else:
        read = read_twin(
            settings.model,
            prepared.encoding.schema,
            prepared.frame,
            prepared.P,
            prepared.outputs,
            scale=settings.scale,
            background=background.frame,
            ask=prepared.black_box if settings.queries != 0 else None,
        )
        reason, twin = read.reason, read.twin
    if twin is None:
        if settings.twin == "exact":
            leave = Setting("twin", "exact")
            raise TwinError(f"the model cannot be read: {reason}; leave ", leave, " out, to learn it")
        return replace(found, reason=reason)
    prepared = prepared.on_scale(read.scale)
    queries = Later(partial(_twin_queries, prepared, twin, _most_queries(settings), seed))
    ignored = ignored_by(twin, prepared.encoding.schema)
    return replace(found, prepared=prepared, twin=twin, queries=queries, ignored=ignored)


def _most_queries(settings: Settings) -> int:
    """Return how many made-up rows the encoder learns from, if a twin answers them."""
    counted = isinstance(settings.queries, Integral)
    return min(int(settings.queries), ENCODER_QUERIES) if counted else ENCODER_QUERIES


def _twin_queries(prepared: Prepared, twin: Twin, most: int, seed: int) -> AnsweredRows:
    """Return made-up rows with the answers of the twin."""

    def answer(made_up: Frame, encoded: Encoded) -> FloatArray:
        return prepared.outputs.answers_of(twin.scores(twin.read(made_up, encoded)))

    return answer_queries(prepared, most, answer, np.random.default_rng([seed, 3]))


def _model_queries(prepared: Prepared, seed: int) -> AnsweredRows:
    """Return made-up rows with the answers of the model."""

    def answer(made_up: Frame, encoded: Encoded) -> FloatArray:
        with naming_queries():
            return prepared.black_box(made_up)

    return answer_queries(prepared, prepared.n_queries, answer, np.random.default_rng([seed, 4]))


def _learn(settings: Settings, found: Stand, seed: int) -> Stand:
    """Learn the model from its answers to made-up rows."""
    if settings.shapley:
        import_extra("torch", "train")
    outputs = found.prepared.outputs
    scale = outputs.choose_scale(settings.scale, found.prepared.P) if settings.shapley else "log-odds"
    prepared = decide_queries(found.prepared.on_scale(scale), settings)
    if not settings.shapley:
        queries = _model_queries(prepared, seed)
        prepared = replace(prepared, n_queries=len(queries))
        return replace(found, prepared=prepared, queries=Later.known(queries))
    m, n = len(np.unique(prepared.encoding.owner)), prepared.n_queries
    LOG.info(
        "asking about %d made-up rows takes about %.0f s, learning from them about %.0f s",
        n,
        n * prepared.seconds,
        settings.budget.training_seconds(m, n),
    )
    running = TrainingProgress()
    with training_threads(settings.device) as device:
        data = ask_for_shapley(prepared, settings, seed)
        learned = train_scores(data, settings, running, seed=seed, device=device)
        trained = train_values(learned, data, settings, running, seed=seed, device=device)
    others = prepared.encoding.transform(trained.background.frame.select(prepared.encoding.schema.names))
    twin = LearnedTwin.of(trained.model, others)
    return replace(
        found,
        prepared=prepared,
        twin=twin,
        queries=Later(partial(_twin_queries, prepared, twin, _most_queries(settings), seed)),
        background=trained.background,
        mixed=data.mixed,
        contributions=trained.quality,
        ignored=ignored_features(prepared.encoding.schema, trained.model),
        interrupted=trained.interrupted,
    )


def _given_background(prepared: Prepared, background: Any) -> AnsweredFrame | None:
    if background is None:
        return None
    frame = require_columns(as_frame(background), prepared.frame.names)
    if not len(frame):
        raise SchemaError("background has no rows; give at least one, or leave it out")
    return AnsweredFrame(frame, prepared.black_box(frame))


def _assemble(settings: Settings, found: Stand, facts: Quality) -> Fitted:
    """Put all that was learned into one value."""
    prepared, outputs, rows = found.prepared, found.prepared.outputs, found.prepared.rows
    imputed = prepared.encoded.imputed[prepared.split.training]
    material = TrainingRows(rows, found.queries, found.mixed, imputed, found.twin)
    latents = Later(partial(train_latent, settings, prepared.encoding, material))
    training = AnsweredFrame(prepared.frame, prepared.P).take(prepared.split.training)
    features = prepared.frame.select(prepared.encoding.schema.names)
    shapley = settings.contributions == "shapley" and found.twin is not None
    return Fitted(
        black_box=prepared.black_box,
        columns=prepared.frame.names,
        backend=prepared.frame.origin.backend,
        encoding=prepared.encoding,
        outputs=outputs,
        missing=prepared.missing,
        split=prepared.split,
        rows=rows,
        twin=found.twin or LatentTwin(latents, prepared.encoding, outputs),
        background=found.background if shapley else None,
        kind="shapley" if shapley else "pullback",
        places=Later(partial(Places.fit, rows.report.X, rows.training.X)),
        reference=Later(partial(Reference.fit, prepared.encoding.schema, features)),
        pool=training.take(pool_rows(rows)),
        queries=found.queries,
        latents=latents,
        report_answers=None,
        grow=partial(grow_rules, settings),
        facts=facts,
    )
