"""Train what is not needed for contributions: the latent surrogate, and the tree that rules come from."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.data.encoding import Encoding
from illume.data.later import Later
from illume.data.outputs import Outputs
from illume.encoders.pairs import Answer
from illume.errors import BlackBoxError, LeftOutError, Setting
from illume.explanations.boxes import Layout
from illume.explanations.fitted import AnsweredRows, FitRows, Fitted, GrownRules, Latent, Pair, ReportAnswers
from illume.explanations.tree_rules import TreeRules
from illume.fit.measure import measure_rules, output_qualities
from illume.fit.rule_trees import fit_rule_model, rule_pairs
from illume.fit.settings import Settings
from illume.fit.trials import choose_pair
from illume.metrics.fidelity import fidelity
from illume.results.quality import SurrogateQuality
from illume.twin.training_run import training_threads
from illume.twin.twin import Twin

LOG = logging.getLogger("illume.fit.fit")


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows of a fit, and made-up ones with answers, to learn the latent surrogate from.

    `twin` answers more of them, None without one; `imputed` (n, n_features) were missing in training rows.
    """

    rows: FitRows
    queries: Later[AnsweredRows]
    mixed: AnsweredRows
    imputed: BoolArray
    twin: Twin | None

    def __call__(self) -> FitRows:
        """Return all of them."""
        return replace(self.rows, queries=self.queries(), mixed=self.mixed)

    def answer(self, encoding: Encoding) -> Answer | None:
        """Return what gives the scores of made-up rows that the surrogate learns."""
        twin, outputs = self.twin, self.rows.outputs
        if twin is None:
            return None

        def scores(X: FloatArray, imputed: BoolArray) -> FloatArray:
            found = twin.scores(twin.read_encoded(encoding, X, imputed))
            return outputs.scores(outputs.answers_of(found))

        return scores


def train_latent(settings: Settings, encoding: Encoding, material: TrainingRows) -> Latent:
    """Train the latent surrogate, and measure it on report rows."""
    settings.require_torch()
    start, rows = time.perf_counter(), material()
    LOG.info("training the latent surrogate")
    with training_threads(settings.device):
        choice = choose_pair(settings, encoding, rows, material.answer(encoding), material.imputed)
    pair, report, outputs = choice.pair, rows.report, rows.outputs
    answers = ReportAnswers(report.P, pair.answers(report.X), choice.baseline.answers(report.X))
    seconds = time.perf_counter() - start
    LOG.info("%.0f s: the latent surrogate is trained", seconds)
    quality = SurrogateQuality(
        **surrogate_figures(answers, outputs),
        encoder=type(pair.encoder).__name__.removesuffix("Encoder").lower(),
        n_latents=pair.n_latents,
        fell_back=choice.fell_back,
        reason=choice.reason,
        seconds=seconds,
    )
    neighbours = pair.neighbours(rows.training, outputs.strata, settings.surrogate_options.search)
    return Latent(pair, choice.local, neighbours, answers, quality, choice.local.history)


def surrogate_figures(answers: ReportAnswers, outputs: Outputs) -> dict[str, Any]:
    """Return the figures of the latent surrogate that depend on decisions."""
    P, Q = answers.P, answers.Q
    return {
        "report": fidelity(P, Q, outputs),
        "baseline": fidelity(P, answers.B, outputs),
        "classes": output_qualities(P, Q, outputs),
    }


def ask_latent(outputs: Outputs, training: FloatArray, latent: Latent) -> Latent:
    """Return the same for another question; `training` (n, c) are the model's answers to training rows."""
    answers: Any = latent.answers  # which a file with rows holds
    found = latent.neighbours
    neighbours = found.ask(outputs.strata, (training, latent.pair.surrogate.answers(found.Z)))
    quality = replace(latent.quality, **surrogate_figures(answers, outputs))
    return replace(latent, neighbours=neighbours, quality=quality)


def grow_rules(settings: Settings, fitted: Fitted) -> GrownRules:
    """Grow the tree that rules come from, and measure its rules."""
    if fitted.monotony:
        raise BlackBoxError(f"{fitted.monotony}; without it, rules and counterfactuals have no two decisions")
    start, (rows, from_file), local = time.perf_counter(), _rows_to_grow_on(fitted), fitted.local
    encoder = settings.rule_encoder(fitted.encoding, local.n_latents, fitted.outputs.task)
    if fitted.original is not None or from_file:  # another question: nothing is trained
        if encoder is not None and fitted.original is not None:
            own = fitted.original.rule_model
            if own.source == "local":
                local = replace(local, encoder=own.rules.encoder)
        encoder = None
    search, layout, training = (
        settings.surrogate_options.search,
        Layout.of(fitted.encoding),
        fitted.rows.training,
    )
    LOG.info("growing the tree of rules")
    with training_threads(settings.device):
        pairs = rule_pairs(local, encoder, settings.rule_options.tree, rows)
        model = fit_rule_model(pairs, rows, layout, search)
        if from_file:  # neighbours are found among all training rows
            pair = Pair(model.rules.encoder, model.rules.tree)
            rules = TreeRules.of(pair, layout, (training.X, training.P), model.question, search)
            model = replace(model, rules=rules)
        known = replace(fitted, rules=Later.known(GrownRules(model, None)))
        quality = measure_rules(known, time.perf_counter() - start)
    return GrownRules(model, quality)


def train_later(fitted: Fitted, settings: Settings) -> Fitted:
    """Let an explainer from a file train what the file does not hold, from the rows in it."""
    latents, grow = fitted.latents, partial(grow_rules, settings)
    if not latents.ready and len(fitted.rows.training) and len(fitted.rows.report):
        rows = _divide(fitted.rows)
        imputed = np.zeros((len(rows.training), len(fitted.schema)), dtype=bool)
        material = TrainingRows(rows, fitted.queries, AnsweredRows.empty(), imputed, fitted.twin)
        latents = Later(partial(_train_from_file, settings, fitted, material))
    rules: Any = fitted.rules if fitted.rules.ready else None
    return replace(fitted, latents=latents, grow=grow, rules=rules)


def _train_from_file(settings: Settings, fitted: Fitted, material: TrainingRows) -> Latent:
    """Train on some of a file's rows; neighbours are found among all of them."""
    latent, rows = train_latent(settings, fitted.encoding, material), fitted.rows
    search = settings.surrogate_options.search
    return replace(latent, neighbours=latent.pair.neighbours(rows.training, rows.outputs.strata, search))


def _divide(rows: FitRows) -> FitRows:
    """Return rows whose every sixth training row is a validation row."""
    chooses = np.arange(len(rows.training)) % 6 == 5
    X, P = rows.training.X, rows.training.P
    training, validation = (AnsweredRows(X[some], P[some]) for some in (~chooses, chooses))
    return replace(rows, training=training, validation=validation)


def _rows_to_grow_on(fitted: Fitted) -> tuple[FitRows, bool]:
    """Return the rows of the fit; of an explainer from a file the training rows, every sixth to choose by."""
    rows = fitted.rows
    if len(rows.validation):
        return replace(rows, queries=fitted.queries()), False
    if not len(rows.training) or not len(rows.report):
        raise LeftOutError(
            "the explainer was saved before its rules were grown, or with ",
            Setting("rows", "none"),
            ", and growing them takes rows of the fit; save it with rules=True to have rules and "
            "counterfactuals",
        )
    return _divide(rows), True
