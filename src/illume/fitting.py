"""Choosing and training the pair of encoder and surrogate that explains."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.splits import Split
from illume.encoders.base import Encoder
from illume.encoders.identity import IdentityEncoder
from illume.encoders.ranks import ranks
from illume.encoders.trained import TrainedEncoder
from illume.explanations.neighbours import Neighbours
from illume.metrics.fidelity import Fidelity, fidelity
from illume.storage.checkpoints import Slot, Stages, slot_of
from illume.surrogates.logistic import HeadSurrogate
from illume.surrogates.selection import best_surrogate, candidates, large_trees, require_linear, thinned

# What may be lost of the fidelity score on validation rows for fewer latents, and for aligned explanations
LATENTS_TOLERANCE = 0.01
ALIGNMENT_TOLERANCE = 0.03
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


@dataclass(frozen=True)
class Setting:
    """What is chosen by trials: how many latents, and how much the alignment of explanations counts."""

    n_latents: int
    alignment: float = 1.0


@dataclass(frozen=True)
class Trial:
    """How well a short training with some setting did on validation rows."""

    setting: Setting
    fidelity: Fidelity


@dataclass(frozen=True)
class Choices:
    """What to choose from; alignments from strong to weak."""

    n_latents: tuple[int, ...]
    alignments: tuple[float, ...]


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


def fit_pair(encoder: Encoder, surrogate: Any, material: Material, slot: Slot | None = None) -> Pair:
    """Train an encoder, then fit the surrogate on its latents; a joint head is the logistic surrogate.

    With a slot, the training of an encoder of illume's own goes on from what is written there.
    """
    learned, validation = material.learned, material.validation
    options: dict[str, Any] = {"checkpoint": slot} if slot and isinstance(encoder, TrainedEncoder) else {}
    encoder.fit(learned.X, learned.P, validation=(validation.X, validation.P), **options)
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


def choosing_rows(n: int) -> slice:
    """Return which of n validation rows choose: all, or evenly spaced ones where there are very many."""
    return slice(None, None, max(1, -(-n // CHOOSING_ROWS)))


def choose_pair(
    make: Callable[[Setting, bool], Encoder],
    choices: Choices,
    surrogate: Any,
    material: Material,
    stages: Stages | None = None,
) -> Choice:
    """Choose a setting by short trials, train, and never end below the global surrogate.

    `make(setting, trial)` returns an unfitted encoder. Every choice is made on validation rows. Trainings are
    stages of their own.
    """
    baseline = fit_pair(IdentityEncoder(), surrogate, material)
    require_linear(baseline.surrogate, material.training.P.shape[1])
    search = _Search(make, surrogate, material, stages)
    setting = search.best_setting(choices)
    slot = slot_of(stages, "training")
    pair = search.interrupted or fit_pair(make(setting, False), surrogate, material, slot)
    ending = ending_of(pair.history, search.interrupted is not None)
    if ending:
        warnings.warn(f"training ended early: {ending}", UserWarning, stacklevel=3)
    mine, other = (on_validation(p, material) for p in (pair, baseline))
    better = mine.score > other.score and getattr(pair.history, "learned", True)
    fell_back = not isinstance(pair.encoder, IdentityEncoder) and not better
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


def on_validation(pair: Pair, material: Material) -> Fidelity:
    """Return the fidelity by which choices are made; unknown where weights blew up."""
    rows = material.validation
    some = choosing_rows(len(rows))
    P, Q = rows.P[some], ranks().from_first(lambda: pair.probabilities(rows.X[some]))
    return fidelity(P, Q) if np.isfinite(Q).all() else Fidelity(math.nan, math.nan, len(P))


class _Search:
    """Short trainings, kept in order; an interrupted one ends the search with the best of them."""

    def __init__(
        self,
        make: Callable[[Setting, bool], Encoder],
        surrogate: Any,
        material: Material,
        stages: Stages | None,
    ) -> None:
        self.make, self.surrogate, self.material, self.stages = make, surrogate, material, stages
        self.trials: list[Trial] = []
        self.best: tuple[float, Pair] | None = None
        self.interrupted: Pair | None = None

    def best_setting(self, choices: Choices) -> Setting:
        """Return the fewest latents, then the strongest alignment, that cost no fidelity to speak of."""
        settings = [Setting(k, choices.alignments[0]) for k in sorted(choices.n_latents)]
        if len(settings) == len(choices.alignments) == 1:
            return settings[0]
        goal = max(map(self._score, settings)) - LATENTS_TOLERANCE
        setting = next(setting for setting in settings if self._score(setting) >= goal)
        weakest = replace(setting, alignment=choices.alignments[-1])
        if weakest == setting or self._score(weakest) - self._score(setting) <= ALIGNMENT_TOLERANCE:
            return setting
        softer = [replace(setting, alignment=alignment) for alignment in choices.alignments[1:-1]]
        goal = self._score(weakest) - ALIGNMENT_TOLERANCE
        return next((milder for milder in softer if self._score(milder) >= goal), weakest)

    def _score(self, setting: Setting) -> float:
        for trial in self.trials:
            if trial.setting == setting:
                return _known(trial.fidelity.score)
        if self.interrupted is not None:
            return -math.inf
        slot = slot_of(self.stages, f"trial-{setting.n_latents}-{setting.alignment:g}")
        pair = fit_pair(self.make(setting, True), self.surrogate, self.material, slot)
        found = on_validation(pair, self.material)
        self.trials.append(Trial(setting, found))
        if self.best is None or _known(found.score) > self.best[0]:
            self.best = (_known(found.score), pair)
        if pair.history is not None and pair.history.interrupted:
            self.interrupted = self.best[1]
        return _known(found.score)


def _known(score: float) -> float:
    """Return a score; one that is no number, of weights that blew up, is worse than any other."""
    return -math.inf if math.isnan(score) else score


def ending_of(history: Any, interrupted: bool = False) -> str:
    """Say how a training ended that did not end as it should, and what to do; else nothing.

    >>> from illume.results.history import History
    >>> ending_of(History((), best=0, ended="all 0 epochs done"))
    ''
    """
    if interrupted or getattr(history, "interrupted", False):
        return "interrupted, the best so far was kept"
    return f"{history.ended}; {ADVICE}" if getattr(history, "diverged", False) else ""
