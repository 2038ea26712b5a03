"""Choosing and training the pair of encoder and surrogate that explains."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.encoders.base import Encoder
from illume.encoders.identity import IdentityEncoder
from illume.metrics.fidelity import Fidelity, fidelity
from illume.surrogates.logistic import HeadSurrogate
from illume.surrogates.selection import best_surrogate, candidates

LATENT_CHOICES = (4, 8, 16)


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
        return int(self.encoder._n_features_out)

    @property
    def history(self) -> Any:
        """The encoder's training, or None."""
        return getattr(self.encoder, "history_", None)


@dataclass(frozen=True)
class Trial:
    """How well a short training with some number of latents did on validation rows."""

    n_latents: int
    fidelity: Fidelity


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen pair, the global one, and how it came to that."""

    pair: Pair
    baseline: Pair
    trials: tuple[Trial, ...]
    fell_back: bool
    reason: str


def fit_pair(encoder: Encoder, surrogate: Any, material: Material) -> Pair:
    """Train an encoder, then fit the surrogate on its latents; a joint head is the surrogate itself."""
    learned, validation = material.learned, material.validation
    encoder.fit(learned.X, learned.P, validation=(validation.X, validation.P))
    head = getattr(encoder, "head_", None)
    if head is not None:
        coef, intercept = (p.detach().cpu().numpy() for p in (head.weight, head.bias))
        return Pair(encoder, HeadSurrogate(coef, intercept))
    training = material.training
    return Pair(
        encoder,
        best_surrogate(
            candidates(surrogate),
            (encoder.transform(training.X), training.P),
            (encoder.transform(validation.X), validation.P),
        ),
    )


def choose_pair(
    make: Callable[[int, bool], Encoder],
    n_latents: int | str,
    surrogate: Any,
    material: Material,
) -> Choice:
    """Choose the number of latents by short trials, train, and never end below the global surrogate.

    `make(k, trial)` returns an unfitted encoder. Every choice is made on validation rows.
    """
    baseline = fit_pair(IdentityEncoder(), surrogate, material)
    choices = LATENT_CHOICES if n_latents == "auto" else (int(n_latents),)
    trials, pair = _try_latents(make, choices, surrogate, material)
    if pair is None:
        best = max(trials, key=lambda t: t.fidelity.score).n_latents if trials else choices[0]
        pair = fit_pair(make(best, False), surrogate, material)
    _warn_of_ending(pair)
    mine, other = (on_validation(p, material) for p in (pair, baseline))
    fell_back = not mine.score > other.score
    compared = (
        f"on {len(material.validation)} validation rows the local surrogate agrees on {mine.agreement:.3f} "
        f"(R² {mine.r2:.3f}), the global one on {other.agreement:.3f} (R² {other.r2:.3f})"
    )
    return Choice(baseline if fell_back else pair, baseline, trials, fell_back, compared)


def on_validation(pair: Pair, material: Material) -> Fidelity:
    """Return the fidelity by which choices are made."""
    return fidelity(material.validation.P, pair.probabilities(material.validation.X))


def _try_latents(
    make: Callable[[int, bool], Encoder],
    choices: Sequence[int],
    surrogate: Any,
    material: Material,
) -> tuple[tuple[Trial, ...], Pair | None]:
    """Train every choice shortly; an interrupted trial is itself the pair to keep."""
    if len(choices) == 1:
        return (), None
    trials = []
    for k in choices:
        pair = fit_pair(make(k, True), surrogate, material)
        trials.append(Trial(k, on_validation(pair, material)))
        if pair.history is not None and pair.history.interrupted:
            return tuple(trials), pair
    return tuple(trials), None


def _warn_of_ending(pair: Pair) -> None:
    history = pair.history
    if history is not None and (history.interrupted or "NaN" in history.ended):
        warnings.warn(f"training ended early: {history.ended}", UserWarning, stacklevel=4)
