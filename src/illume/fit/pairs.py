"""Training the pair of encoder and surrogate that explains, and judging it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.checkpoints import Slot
from illume.data.sampling import Split
from illume.encoders.base import Encoder
from illume.encoders.ranks import ranks
from illume.encoders.trained import TrainedEncoder
from illume.explanations.neighbours import Neighbours
from illume.metrics.fidelity import Fidelity, fidelity
from illume.surrogates.logistic import HeadSurrogate
from illume.surrogates.selection import best_surrogate, candidates, large_trees, thinned

CHOOSING_ROWS = 50_000  # validation rows that choose; with so many, agreement is known to .003
ADVICE = "try a smaller learning rate, Training(learning_rate=…), and look for extreme values among the rows"


@dataclass(frozen=True, eq=False)
class Answered:
    """Encoded rows X (n, m) with the black box's answers P (n, c)."""

    X: FloatArray
    P: FloatArray

    def __len__(self) -> int:
        return len(self.X)

    @classmethod
    def none(cls) -> Answered:
        """Return no rows at all."""
        return cls(np.empty((0, 0)), np.empty((0, 0)))


@dataclass(frozen=True, eq=False)
class Material:
    """The rows of a fit, kept apart: training learns, validation chooses, report is shown."""

    training: Answered
    validation: Answered
    report: Answered
    queries: Answered

    @classmethod
    def of(cls, X: FloatArray, P: FloatArray, split: Split, queries: Answered) -> Material:
        """Divide answered rows as the split says."""
        training, validation, report = (Answered(X[rows], P[rows]) for rows in split)
        return cls(training, validation, report, queries)

    @property
    def learned(self) -> Answered:
        """Training rows and queried rows together."""
        if not len(self.queries):
            return self.training
        X = np.concatenate([self.training.X, self.queries.X])
        return Answered(X, np.concatenate([self.training.P, self.queries.P]))


@dataclass(frozen=True, eq=False)
class Pair:
    """An encoder and the surrogate on its latents."""

    encoder: Any
    surrogate: Any

    def probabilities(self, X: FloatArray) -> FloatArray:
        """Return the surrogate's class probabilities (n, c)."""
        return self.surrogate.probabilities(self.encoder.transform(X))

    @property
    def n_latents(self) -> int:
        """How many latents the surrogate reads."""
        return int(self.surrogate.coef_.shape[1])

    def neighbours(self, training: Answered, search: str) -> Neighbours:
        """Make the training rows ready to be searched for valid neighbours, `exact` or by `index`."""
        Z = self.encoder.transform(training.X)
        mine = self.surrogate.probabilities(Z).argmax(1)
        return Neighbours.of(training.X, Z, training.P, mine, search)

    @property
    def history(self) -> Any:
        """The encoder's training, or None."""
        return getattr(self.encoder, "history_", None)


def fit_pair(encoder: Encoder, surrogate: Any, material: Material, slot: Slot | None = None) -> Pair:
    """Train an encoder, then pair it with its surrogate.

    With a slot, the training of an encoder of illume's own goes on from what is written there.
    """
    learned, validation = material.learned, material.validation
    options: dict[str, Any] = {"checkpoint": slot} if slot and isinstance(encoder, TrainedEncoder) else {}
    encoder.fit(learned.X, learned.P, validation=(validation.X, validation.P), **options)
    return paired(encoder, surrogate, material)


def paired(encoder: Encoder, surrogate: Any, material: Material) -> Pair:
    """Pair a fitted encoder with the head that was trained along, or else with a surrogate on its latents."""
    head = getattr(encoder, "head_", None)
    if head is not None and surrogate == "logistic":
        return Pair(encoder, HeadSurrogate(head.coef, head.intercept))
    return with_surrogate(encoder, surrogate, material)


def with_surrogate(encoder: Encoder, surrogate: Any, material: Material) -> Pair:
    """Fit the surrogate on the latents of a fitted encoder; trees may learn from queried rows, too.

    Of very many rows only those are encoded that it learns from, or that choose.
    """

    def latents(rows: Answered, kept: Any = None) -> tuple[FloatArray, FloatArray]:
        kept = thinned(rows.P) if kept is None else kept
        return encoder.transform(rows.X[kept]), rows.P[kept]

    grows = surrogate == "tree" and len(material.queries) > 0
    more = (large_trees(), latents(material.learned)) if grows else None
    validation = latents(material.validation, choosing_rows(len(material.validation)))
    found = best_surrogate(candidates(surrogate), latents(material.training), validation, more)
    return Pair(encoder, found)


def choosing_rows(n: int, most: int | None = None) -> slice:
    """Return which of n validation rows choose: all, or evenly spaced ones where there are very many."""
    return slice(None, None, max(1, -(-n // (most or CHOOSING_ROWS))))


def on_validation(pair: Pair, material: Material, most: int | None = None) -> Fidelity:
    """Return the fidelity by which choices are made, on so many rows at most; NaN where weights blew up."""
    rows = material.validation
    some = choosing_rows(len(rows), most)
    P, Q = rows.P[some], ranks().from_first(lambda: pair.probabilities(rows.X[some]))
    return fidelity(P, Q) if np.isfinite(Q).all() else Fidelity(math.nan, math.nan, len(P))


def ending_of(history: Any, interrupted: bool = False) -> str:
    """Say how a training ended that did not end as it should, and what to do; else nothing.

    >>> from illume.results.history import History
    >>> ending_of(History((), best=0, ended="all 0 epochs done"))
    ''
    """
    if interrupted or getattr(history, "interrupted", False):
        return "interrupted, the best so far was kept"
    return f"{history.ended}; {ADVICE}" if getattr(history, "diverged", False) else ""
