"""From the words a user chose by to the parts they stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from illume.data.encoding import Encoding
from illume.encoders.base import Encoder
from illume.encoders.identity import IdentityEncoder
from illume.encoders.linear import LinearEncoder
from illume.encoders.meta import MetaEncoder
from illume.encoders.objective import Objective
from illume.encoders.training import PAPER, QUICK, Training
from illume.fitting import Choices, Setting

ENCODERS = {"meta": MetaEncoder, "linear": LinearEncoder}
TRIAL_SHARE = 0.1  # of the epochs or steps of a whole training

LATENTS = (4, 8, 16)
ALIGNMENTS = (1.0, 0.3, 0.0)

EncoderMaker = Callable[[Setting, bool], Encoder]


def resolved_choices(n_latents: Any, objective: Any) -> Choices:
    """Return what is left to choose: a number, or an objective of one's own, is not chosen over."""
    if n_latents != "auto" and not (isinstance(n_latents, Integral) and int(n_latents) > 0):
        raise ValueError(f"n_latents must be 'auto' or a positive integer, found {n_latents!r}")
    latents = LATENTS if n_latents == "auto" else (int(n_latents),)
    aligned = isinstance(objective, str) and Objective.preset(objective).aligns
    return Choices(latents, ALIGNMENTS if aligned else (1.0,))


def resolved_objective(objective: str | Objective) -> Objective:
    """Return the objective behind a preset's name, or the objective itself."""
    return objective if isinstance(objective, Objective) else Objective.preset(objective)


def resolved_training(training: Training | None, objective: Objective) -> Training:
    """Return how to train: quick where a head is trained along, else as the paper does."""
    return training or (QUICK if objective.joint else PAPER)


def _copy(encoder: Any, encoding: Encoding) -> Encoder:
    """Clone an encoder of the user's and tell it which inputs are categories, if it asks."""
    copy = clone(encoder)
    if "onehot" in copy.get_params():
        copy.set_params(onehot=np.flatnonzero(encoding.onehot).tolist())
    return copy


def encoder_maker(
    encoder: Any, objective: Objective, training: Training, **options: Any
) -> Callable[[Encoding], EncoderMaker]:
    """Return what makes unfitted encoders, once the encoding is known."""
    if encoder == "identity":
        return lambda encoding: lambda setting, trial: IdentityEncoder()
    if not isinstance(encoder, str):
        return lambda encoding: lambda setting, trial: _copy(encoder, encoding)
    if encoder not in ENCODERS:
        names = sorted([*ENCODERS, "identity"])
        raise ValueError(f"encoder {encoder!r} is not known; choose one of {names}, or pass one")
    short = replace(
        training,
        max_epochs=max(1, round(TRIAL_SHARE * training.max_epochs)),
        max_steps=max(1, round(TRIAL_SHARE * training.max_steps)),
        sparsity_epochs=max(1, round(TRIAL_SHARE * training.sparsity_epochs)),
    )

    def for_encoding(encoding: Encoding) -> EncoderMaker:
        onehot = np.flatnonzero(encoding.onehot).tolist()

        def make(setting: Setting, trial: bool) -> Encoder:
            return ENCODERS[encoder](
                setting.n_latents,
                objective=objective.softened(setting.alignment),
                training=short if trial else training,
                onehot=onehot,
                **options,
            )

        return make

    return for_encoding
