"""Choosing the number of latents and the strength of alignment by trials, and training what was chosen."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from illume.data.checkpoints import Stages, checkpoint_slot
from illume.encoders.base import Encoder
from illume.encoders.meta import IdentityEncoder
from illume.encoders.trained import TrainedEncoder
from illume.explanations.fitted import FitRows, Pair, Setting, Trial
from illume.fit.pairs import (
    describe_early_end,
    fit_pair,
    pair_encoder,
    validation_fidelity,
    validation_sample,
)
from illume.fit.settings import Choices
from illume.surrogates.selection import require_linear

# Loss of the fidelity score on validation rows that is accepted for fewer latents, and for alignment
LATENTS_TOLERANCE = 0.015
ALIGNMENT_TOLERANCE = 0.03
CLEARLY = 1.645  # standard errors that a mean difference must exceed, one-sided at 5 %
TRIAL_ROWS = 10_000  # validation rows that a trial is measured on


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen pair, the local and the global one, and how it came to that; `history` is the local's."""

    pair: Pair
    local: Pair
    baseline: Pair
    alignment: float | None
    trials: tuple[Trial, ...]
    history: Any
    fell_back: bool
    reason: str
    interrupted: bool


def choose_pair(
    make: Callable[[Setting, bool], Encoder],
    choices: Choices,
    surrogate: Any,
    rows: FitRows,
    stages: Stages | None = None,
) -> Choice:
    """Choose a setting by short trials, train, and fall back to a global surrogate that is clearly better.

    `make(setting, trial)` returns an unfitted encoder. Every choice is made on validation rows.
    """
    baseline = fit_pair(IdentityEncoder(), surrogate, rows)
    require_linear(baseline.surrogate, rows.training.P.shape[1])
    search = Search(make, surrogate, rows, stages)
    setting = search.best_setting(choices)
    pair = search.interrupted or search.train(setting)
    if search.interrupted is not None and search.best is not None:
        setting = search.best[2]
    ending = describe_early_end(pair.history, search.interrupted is not None)
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
        trials=tuple(search.trials),
        history=pair.history,
        fell_back=fell_back,
        reason=reason,
        interrupted=search.interrupted is not None or getattr(pair.history, "interrupted", False),
    )


def clearly_better(one: Pair, other: Pair, rows: FitRows) -> bool:
    """Whether one pair's probabilities are closer to the black box's than another's, by more than chance.

    Squared errors are compared row by row on validation rows, by a one-sided test at the 5 % level, so that
    a few rows that happen to favour one of them decide nothing.
    """
    validation = rows.validation
    some = validation_sample(len(validation))
    P = validation.P[some]
    errors = [np.square(pair.probabilities(validation.X[some]) - P).sum(1) for pair in (one, other)]
    gain = errors[1] - errors[0]
    if len(gain) < 2 or not np.isfinite(gain).all():
        return bool(np.isfinite(errors[0]).all() and not np.isfinite(errors[1]).all())
    return float(gain.mean()) > CLEARLY * float(gain.std(ddof=1)) / math.sqrt(len(gain))


class Search:
    """Trials, in their order; an interrupt ends the search with the best of them.

    A trial takes the first 3 % of the steps of a whole training; a sparse encoder is tried by a short
    training of all phases instead.
    """

    def __init__(
        self,
        make: Callable[[Setting, bool], Encoder],
        surrogate: Any,
        rows: FitRows,
        stages: Stages | None,
    ) -> None:
        self.make, self.surrogate, self.rows, self.stages = make, surrogate, rows, stages
        self.trials: list[Trial] = []
        self.best: tuple[float, Pair, Setting] | None = None
        self.interrupted: Pair | None = None

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
        known = {trial.setting for trial in self.trials}
        new = [setting for setting in settings if setting not in known]
        for setting in new:
            if self.interrupted is None:
                self._measure(setting, self._fit_trial(setting))
        found = {trial.setting: _score_or_worst(trial.fidelity.score) for trial in self.trials}
        return {setting: found.get(setting, -math.inf) for setting in settings}

    def train(self, setting: Setting) -> Pair:
        """Return the pair of a whole training."""
        slot = checkpoint_slot(self.stages, "training")
        return fit_pair(self.make(setting, False), self.surrogate, self.rows, slot)

    def _fit_trial(self, setting: Setting) -> Pair:
        encoder, learned, validation = self.make(setting, False), self.rows.learned, self.rows.validation
        if isinstance(encoder, TrainedEncoder) and _dense(encoder):
            encoder.fit_trial(learned.X, learned.P, validation=(validation.X, validation.P))
            return pair_encoder(encoder, self.surrogate, self.rows)
        slot = checkpoint_slot(self.stages, f"trial-{setting.n_latents}-{setting.alignment:g}")
        return fit_pair(self.make(setting, True), self.surrogate, self.rows, slot)

    def _measure(self, setting: Setting, pair: Pair) -> None:
        found = validation_fidelity(pair, self.rows, TRIAL_ROWS)
        self.trials.append(Trial(setting, found))
        if self.best is None or _score_or_worst(found.score) > self.best[0]:
            self.best = (_score_or_worst(found.score), pair, setting)
        if getattr(pair.history, "interrupted", False):
            self.interrupted = self.best[1]


def _dense(encoder: TrainedEncoder) -> bool:
    return encoder.objective is None or encoder.objective.alpha is None


def _score_or_worst(score: float) -> float:
    """Return a score; NaN, of weights that diverged, is worse than any other."""
    return -math.inf if math.isnan(score) else score
