"""Train an encoder and the surrogate on its latents, and measure them on validation rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.checkpoints import Slot
from illume.encoders.base import Encoder
from illume.encoders.ranks import ranks
from illume.encoders.trained import TrainedEncoder
from illume.explanations.fitted import AnsweredRows, FitRows, Pair
from illume.metrics.fidelity import Fidelity, fidelity
from illume.results.diagnostics import History
from illume.surrogates.base import HeadSurrogate
from illume.surrogates.selection import best_surrogate, candidates, large_trees, subsample_indices

VALIDATION_ROWS = 50_000  # that choose; with this many, agreement is known to .003
ADVICE = "try a smaller learning rate, Training(learning_rate=…), and look for extreme values among the rows"


def fit_pair(encoder: Encoder, surrogate: Any, rows: FitRows, slot: Slot | None = None) -> Pair:
    """Train an encoder, then pair it with its surrogate.

    With a slot, the training of an encoder of illume's own resumes from its checkpoint.
    """
    learned, validation = rows.learned, rows.validation
    options: dict[str, Any] = {"checkpoint": slot} if slot and isinstance(encoder, TrainedEncoder) else {}
    encoder.fit(learned.X, learned.P, validation=(validation.X, validation.P), **options)
    return pair_encoder(encoder, surrogate, rows)


def pair_encoder(encoder: Encoder, surrogate: Any, rows: FitRows) -> Pair:
    """Pair a fitted encoder with the head trained with it, or fit a surrogate on its latents."""
    head = getattr(encoder, "head_", None)
    if head is not None and surrogate == "logistic":
        return Pair(encoder, HeadSurrogate(head.coef, head.intercept))
    return fit_surrogate(encoder, surrogate, rows)


def fit_surrogate(encoder: Encoder, surrogate: Any, rows: FitRows) -> Pair:
    """Fit the surrogate on the latents of a fitted encoder; trees may learn from queries, too.

    Of very many rows, only those are encoded that the surrogate learns from or is chosen on.
    """

    def latents(rows: AnsweredRows, kept: Any = None) -> tuple[FloatArray, FloatArray]:
        kept = subsample_indices(rows.P) if kept is None else kept
        return encoder.transform(rows.X[kept]), rows.P[kept]

    grows = surrogate == "tree" and len(rows.queries) > 0
    more = (large_trees(), latents(rows.learned)) if grows else None
    validation = latents(rows.validation, validation_sample(len(rows.validation)))
    return Pair(encoder, best_surrogate(candidates(surrogate), latents(rows.training), validation, more))


def validation_sample(n: int, most: int = VALIDATION_ROWS) -> slice:
    """Return which of n validation rows choose: all, or evenly spaced ones where there are very many."""
    return slice(None, None, max(1, -(-n // most)))


def validation_fidelity(pair: Pair, rows: FitRows, most: int = VALIDATION_ROWS) -> Fidelity:
    """Return the fidelity on validation rows by which choices are made; NaN where weights diverged."""
    validation = rows.validation
    some = validation_sample(len(validation), most)
    P, Q = validation.P[some], ranks().from_first(lambda: pair.probabilities(validation.X[some]))
    return fidelity(P, Q) if np.isfinite(Q).all() else Fidelity(math.nan, math.nan, len(P))


def describe_early_end(history: History | None, interrupted: bool = False) -> str:
    """Say how a training ended that was interrupted or diverged, and what to do; else return nothing.

    >>> describe_early_end(History((), best=0, ended="all 0 epochs done"))
    ''
    """
    if interrupted or getattr(history, "interrupted", False):
        return "interrupted, the best so far was kept"
    return f"{history.ended}; {ADVICE}" if history is not None and getattr(history, "diverged", False) else ""
