"""Choose the number of latents and the alignment by short trials, then train encoder and surrogate."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.encoding import Encoding
from illume.encoders.base import Encoder, IdentityEncoder
from illume.encoders.estimators import TrainedEncoder
from illume.explanations.fitted import AnsweredRows, FitRows, Pair
from illume.explanations.trial import Setting, Trial
from illume.fit.settings import Choices, EncoderMaker, Settings
from illume.metrics.fidelity import Fidelity, fidelity
from illume.results.diagnostics import History
from illume.surrogates.base import HeadSurrogate
from illume.surrogates.selection import (
    best_surrogate,
    candidates,
    large_trees,
    require_linear,
    subsample_indices,
)

# Loss of the fidelity score on validation rows that is accepted for fewer latents, and for alignment
LATENTS_TOLERANCE = 0.015
ALIGNMENT_TOLERANCE = 0.03
CLEARLY = 1.645  # standard errors that a mean difference must exceed, one-sided at 5 %
TRIAL_ROWS = 10_000  # validation rows that a trial is measured on

VALIDATION_ROWS = 50_000  # that choose; with this many, agreement is known to .003
ADVICE = "try a smaller learning rate, Training(learning_rate=…), and look for extreme values among the rows"


def fit_pair(encoder: Encoder, surrogate: Any, rows: FitRows) -> Pair:
    """Train an encoder, then pair it with its surrogate."""
    return pair_encoder(train_encoder(encoder, rows), surrogate, rows)


def train_encoder(encoder: Encoder, rows: FitRows) -> Encoder:
    """Train an encoder."""
    learned, validation = encoder_rows(rows), rows.validation
    targets = rows.outputs.targets
    encoder.fit(learned.X, targets(learned.P), validation=(validation.X, targets(validation.P)))
    return encoder


def encoder_rows(rows: FitRows) -> AnsweredRows:
    """Return training rows, queries and mixed rows together."""
    return rows.learned + rows.mixed if len(rows.mixed) else rows.learned


def pair_encoder(encoder: Encoder, surrogate: Any, rows: FitRows) -> Pair:
    """Pair a fitted encoder with the head trained with it, or fit a surrogate on its latents."""
    head = getattr(encoder, "head_", None)
    if head is not None and surrogate == "logistic":
        return Pair(encoder, HeadSurrogate(head.coef, head.intercept, rows.outputs))
    return fit_surrogate(encoder, surrogate, rows)


def fit_surrogate(encoder: Encoder, surrogate: Any, rows: FitRows) -> Pair:
    """Fit the surrogate on the latents of a fitted encoder; trees may learn from queries, too.

    Of very many rows, only those are encoded that the surrogate learns from or is chosen on.
    """
    outputs = rows.outputs

    def latents(rows: AnsweredRows, kept: Any = None) -> tuple[FloatArray, FloatArray]:
        kept = subsample_indices(rows.P, outputs) if kept is None else kept
        return encoder.transform(rows.X[kept]), rows.P[kept]

    grows = surrogate == "tree" and len(rows.queries) > 0
    more = (large_trees(outputs), latents(rows.learned)) if grows else None
    validation = latents(rows.validation, validation_sample(len(rows.validation)))
    choices, training = candidates(surrogate, outputs), latents(rows.training)
    return Pair(encoder, best_surrogate(choices, outputs, training, validation, more))


def validation_sample(n: int, most: int = VALIDATION_ROWS) -> slice:
    """Return which of n validation rows choose: all, or evenly spaced ones where there are very many."""
    return slice(None, None, max(1, -(-n // most)))


def validation_fidelity(pair: Pair, rows: FitRows, most: int = VALIDATION_ROWS) -> Fidelity:
    """Return the fidelity on validation rows by which choices are made; NaN where weights diverged."""
    validation = rows.validation
    some = validation_sample(len(validation), most)
    P, Q = validation.P[some], pair.answers(validation.X[some])
    return fidelity(P, Q, rows.outputs) if np.isfinite(Q).all() else Fidelity(math.nan, math.nan, len(P))


def describe_early_end(history: History | None, interrupted: bool = False) -> str:
    """Say how a training ended that was interrupted or diverged, and what to do; else return nothing.

    >>> describe_early_end(History((), best=0, ended="all 0 epochs done"))
    ''
    """
    if interrupted or getattr(history, "interrupted", False):
        return "interrupted, the best so far was kept"
    return f"{history.ended}; {ADVICE}" if history is not None and getattr(history, "diverged", False) else ""


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen pair, the local and the global one, and the reason for the choice."""

    pair: Pair
    local: Pair
    baseline: Pair
    alignment: float | None
    trials: tuple[Trial, ...]
    fell_back: bool
    reason: str
    interrupted: bool


def choose_pair(settings: Settings, encoding: Encoding, rows: FitRows) -> Choice:
    """Choose a setting by short trials, train, and fall back to a global surrogate that is clearly better.

    Every choice is made on validation rows.
    """
    choices, surrogate = settings.choices, settings.surrogate_options.model
    baseline = fit_pair(IdentityEncoder(), surrogate, rows)
    require_linear(baseline.surrogate, rows.outputs)
    search = Search(settings.encoder_maker(encoding, rows.outputs.task), surrogate, rows)
    setting = search.best_setting(choices)
    pair, setting = search.best if search.interrupted and search.best else (search.train(setting), setting)
    ending = describe_early_end(pair.history, search.interrupted)
    if ending:
        warnings.warn(f"training ended early: {ending}", UserWarning, stacklevel=3)
    mine, other = (validation_fidelity(p, rows) for p in (pair, baseline))
    learned = getattr(pair.history, "learned", True) and not math.isnan(mine.score)
    fell_back = not isinstance(pair.encoder, IdentityEncoder) and (
        not learned or (other.score > mine.score and clearly_better(baseline, pair, rows))
    )
    reason = (
        f"on {mine.n_rows} validation rows the local surrogate agrees on {mine.agreement:.3f} "
        f"(R² {mine.r2:.3f}), the global one on {other.agreement:.3f} (R² {other.r2:.3f})"
        f"{f'; training ended early: {ending}' if ending else ''}"
    )
    return Choice(
        pair=baseline if fell_back else pair,
        local=pair,
        baseline=baseline,
        alignment=setting.alignment if len(choices.alignments) > 1 else None,
        trials=tuple(Trial(*each) for each in search.trials.items()),
        fell_back=fell_back,
        reason=reason,
        interrupted=search.interrupted or getattr(pair.history, "interrupted", False),
    )


def clearly_better(one: Pair, other: Pair, rows: FitRows) -> bool:
    """Whether one pair's answers are closer to the black box's than another's, by more than chance.

    Squared errors are compared row by row on validation rows, by a one-sided test at the 5 % level, so that
    a few rows that happen to favour one of them decide nothing.
    """
    validation = rows.validation
    some = validation_sample(len(validation))
    P, unit = validation.P[some], rows.outputs.unit
    errors = [np.square((pair.answers(validation.X[some]) - P) / unit).sum(1) for pair in (one, other)]
    gain = errors[1] - errors[0]
    if len(gain) < 2 or not np.isfinite(gain).all():
        return bool(np.isfinite(errors[0]).all() and not np.isfinite(errors[1]).all())
    return float(gain.mean()) > CLEARLY * float(gain.std(ddof=1)) / math.sqrt(len(gain))


class Search:
    """Trials, in their order; an interrupt ends the search with the best of them.

    A trial takes the first 3 % of the steps of a whole training; a sparse encoder is tried by a short
    training of all phases instead.
    """

    def __init__(self, make: EncoderMaker, surrogate: Any, rows: FitRows) -> None:
        self.make, self.surrogate, self.rows = make, surrogate, rows
        self.trials: dict[Setting, Fidelity] = {}
        self.best: tuple[Pair, Setting] | None = None
        self.interrupted = False

    def best_setting(self, choices: Choices) -> Setting:
        """Return the fewest latents, then the strongest alignment, at a fidelity close to the best."""
        settings = [Setting(k, choices.alignments[0]) for k in sorted(choices.n_latents)]
        if len(settings) == len(choices.alignments) == 1:
            return settings[0]
        found = self.scores(settings)
        goal = max(found.values()) - LATENTS_TOLERANCE
        setting = next(setting for setting in settings if found[setting] >= goal)
        weakest = replace(setting, alignment=choices.alignments[-1])
        if weakest == setting:
            return setting
        found |= self.scores([weakest])
        if not found[weakest] > found[setting] + ALIGNMENT_TOLERANCE:
            return setting
        softer = [replace(setting, alignment=alignment) for alignment in choices.alignments[1:-1]]
        found |= self.scores(softer)
        goal = found[weakest] - ALIGNMENT_TOLERANCE
        return next((milder for milder in softer if found[milder] >= goal), weakest)

    def scores(self, settings: Sequence[Setting]) -> dict[Setting, float]:
        """Return the score of every setting, running trials for new ones."""
        for setting in settings:
            if setting not in self.trials and not self.interrupted:
                self._measure(setting, self._fit_trial(setting))
        return {setting: self._score(setting) for setting in settings}

    def train(self, setting: Setting) -> Pair:
        """Return the pair of a whole training."""
        return fit_pair(self.make(setting, False), self.surrogate, self.rows)

    def _fit_trial(self, setting: Setting) -> Pair:
        encoder, validation = self.make(setting, False), self.rows.validation
        if isinstance(encoder, TrainedEncoder) and _is_dense(encoder):
            targets = self.rows.outputs.targets
            learned, held_out = encoder_rows(self.rows), (validation.X, targets(validation.P))
            encoder.fit_trial(learned.X, targets(learned.P), validation=held_out)
            return pair_encoder(encoder, self.surrogate, self.rows)
        return fit_pair(self.make(setting, True), self.surrogate, self.rows)

    def _measure(self, setting: Setting, pair: Pair) -> None:
        self.trials[setting] = validation_fidelity(pair, self.rows, TRIAL_ROWS)
        if self.best is None or self._score(setting) > self._score(self.best[1]):
            self.best = (pair, setting)
        self.interrupted = getattr(pair.history, "interrupted", False)

    def _score(self, setting: Setting) -> float:
        """Return the score of a trial; without one, or if its weights diverged, worse than any other."""
        score = self.trials[setting].score if setting in self.trials else math.nan
        return -math.inf if math.isnan(score) else score


def _is_dense(encoder: TrainedEncoder) -> bool:
    return encoder.objective is None or encoder.objective.alpha is None
