"""Train encoder and surrogate, and choose between the local and the global one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.encoding import Encoding
from illume.encoders.base import Encoder, IdentityEncoder
from illume.encoders.options import PairObjective
from illume.encoders.pairs import Answer, Asked
from illume.errors import warn
from illume.explanations.fitted import AnsweredRows, FitRows, Pair
from illume.fit.settings import Settings
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

CLEARLY = 1.645  # standard errors that a mean difference must exceed, one-sided at 5 %
VALIDATION_ROWS = 50_000  # that choose; with this many, agreement is known to .003
ADVICE = "try a smaller learning rate, Training(learning_rate=…), and look for extreme values among the rows"


def fit_pair(encoder: Encoder, surrogate: Any, rows: FitRows, asked: Asked | None = None) -> Pair:
    """Train an encoder, then pair it with its surrogate."""
    return pair_encoder(train_encoder(encoder, rows, asked), surrogate, rows)


def train_encoder(encoder: Encoder, rows: FitRows, asked: Asked | None = None) -> Encoder:
    """Train an encoder; one that learns from pairs has made-up rows answered, if there is what answers."""
    learned, validation = encoder_rows(rows), rows.validation
    targets = rows.outputs.targets
    held_out = (validation.X, targets(validation.P))
    if asked is not None and isinstance(getattr(encoder, "objective", None), PairObjective):
        learner: Any = encoder
        learner.fit(learned.X, targets(learned.P), validation=held_out, asked=asked)
        return encoder
    encoder.fit(learned.X, targets(learned.P), validation=held_out)
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


def describe_early_end(history: History | None) -> str:
    """Say how a training ended that was interrupted or diverged, and what to do; else return nothing.

    >>> describe_early_end(History((), best=0, ended="all 0 epochs done"))
    ''
    """
    if getattr(history, "interrupted", False):
        return "interrupted, the best so far was kept"
    return f"{history.ended}; {ADVICE}" if history is not None and getattr(history, "diverged", False) else ""


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen pair, the local and the global one, and the reason for the choice."""

    pair: Pair
    local: Pair
    baseline: Pair
    fell_back: bool
    reason: str
    interrupted: bool


def choose_pair(
    settings: Settings, encoding: Encoding, rows: FitRows, answer: Answer | None = None, imputed: Any = None
) -> Choice:
    """Train the surrogate, and fall back to a global one that is clearly better on validation rows.

    `answer` gives the scores of made-up rows; without it, the encoder learns from the rows that there are.
    `imputed` (n, n_features) says which values the training rows miss, by default none.
    """
    surrogate, asked = settings.surrogate_options.model, None
    if answer is not None and settings.learns_pairs:
        nothing = np.zeros((len(rows.training), len(encoding.schema)), dtype=bool)
        n_pairs = settings.n_pairs(len(rows.outputs.explained))
        asked = Asked(answer, nothing if imputed is None else imputed, encoding.owner, n_pairs)
    baseline = fit_pair(IdentityEncoder(), surrogate, rows)
    require_linear(baseline.surrogate, rows.outputs)
    pair = fit_pair(settings.encoder_maker(encoding, rows.outputs)(), surrogate, rows, asked)
    ending = describe_early_end(pair.history)
    if ending:
        warn(f"training ended early: {ending}")
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
        fell_back=fell_back,
        reason=reason,
        interrupted=getattr(pair.history, "interrupted", False),
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
