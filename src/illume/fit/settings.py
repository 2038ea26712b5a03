"""From the words a user chose by to the parts they stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from illume.data.encoding import Encoding
from illume.data.load_rows import MIN_ROWS
from illume.data.schema import require_unknown
from illume.encoders.base import Encoder
from illume.encoders.identity import IdentityEncoder
from illume.encoders.linear import LinearEncoder
from illume.encoders.low_rank import resolved_rank
from illume.encoders.meta import MetaEncoder
from illume.encoders.options import PAPER, QUICK, Objective, Training
from illume.encoders.trained import TrainedEncoder, require_torch
from illume.errors import MissingExtraError
from illume.explanations.neighbours import SEARCHES
from illume.fit.trials import Choices, Setting
from illume.results.effort import require_effort
from illume.surrogates.selection import candidates
from illume.surrogates.tree import DecisionTreeSurrogate

ENCODERS = {"meta": MetaEncoder, "linear": LinearEncoder}
SHORT_SHARE = 0.1  # of the epochs or steps of a whole training

BACKENDS = ("pandas", "polars", "pyarrow")
CONTRIBUTIONS = ("shapley", "pullback")

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


def rule_encoder_maker(
    encoder: Any, rule_objective: Any, training: Training | None, **options: Any
) -> Callable[[Encoding], EncoderMaker] | None:
    """Return what makes the encoder that rules have of their own; None where they share the attributions'."""
    if rule_objective == "shared" or encoder == "identity":
        return None
    if not isinstance(encoder, str):
        raise ValueError("an encoder object brings its own objective; use rule_objective='shared'")
    objective = resolved_objective(rule_objective)
    return encoder_maker(encoder, objective, resolved_training(training, objective), **options)


def require_search(search: Any) -> None:
    """Refuse a search that is not known, or whose library is not there."""
    if search not in SEARCHES:
        raise ValueError(f"search must be one of {SEARCHES}, found {search!r}")
    if search == "index" and find_spec("faiss") is None:
        raise MissingExtraError.of("faiss-cpu", "index")


def require_tree(tree: Any) -> None:
    """Refuse what gives no rules."""
    for choice in candidates(tree):
        if not hasattr(choice, "apply"):
            raise ValueError(f"tree {tree!r} gives no rules; use 'tree' or a tree classifier of scikit-learn")


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
    if encoder != "meta":
        options.pop("rank", None)
    short = replace(
        training,
        max_epochs=max(1, round(SHORT_SHARE * training.max_epochs)),
        max_steps=max(1, round(SHORT_SHARE * training.max_steps)),
        sparsity_epochs=max(1, round(SHORT_SHARE * training.sparsity_epochs)),
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


def checked(explainer: Any, options: Mapping[str, Any]) -> tuple[Callable[[Encoding], EncoderMaker], Choices]:
    """Refuse settings that cannot work; return what makes encoders, and what is chosen over."""
    _check_numbers(explainer)
    if any(isinstance(choice, DecisionTreeSurrogate) for choice in candidates(explainer.surrogate)):
        raise ValueError(
            "a tree gives no attributions, and `rules` grows its own: pass it as tree=…, and 'logistic' "
            "or a linear classifier as the surrogate"
        )
    require_tree(explainer.tree)
    require_search(explainer.search)
    rule_encoder_maker(explainer.encoder, explainer.rule_objective, explainer.training, **options)
    objective = resolved_objective(explainer.objective)
    training = resolved_training(explainer.training, objective)
    make = encoder_maker(explainer.encoder, objective, training, **options)
    choices = resolved_choices(explainer.n_latents, explainer.objective)
    named = isinstance(explainer.encoder, str) and explainer.encoder != "identity"
    shapley = explainer.contributions == "shapley" and explainer.queries != 0
    if named or shapley or isinstance(explainer.encoder, TrainedEncoder):
        require_torch()
    return make, choices if named else Choices((1,), (1.0,))


def _check_numbers(explainer: Any) -> None:
    if explainer.queries != "auto" and not (
        isinstance(explainer.queries, Integral) and int(explainer.queries) >= 0
    ):
        raise ValueError(f"queries must be 'auto' or an integer, 0 or more, found {explainer.queries!r}")
    require_effort(explainer.effort)
    if explainer.contributions not in CONTRIBUTIONS:
        raise ValueError(f"contributions must be one of {CONTRIBUTIONS}, found {explainer.contributions!r}")
    if explainer.background is not None and explainer.contributions != "shapley":
        raise ValueError(
            "only Shapley values have a background; leave it out, or use contributions='shapley'"
        )
    budget = explainer.row_budget
    if budget is not None and not (isinstance(budget, Integral) and int(budget) >= MIN_ROWS):
        raise ValueError(f"row_budget must be None or an integer from {MIN_ROWS}, found {budget!r}")
    if explainer.backend not in (None, *BACKENDS):
        raise ValueError(f"backend must be None or one of {BACKENDS}, found {explainer.backend!r}")
    resolved_rank(explainer.rank, 1)
    require_unknown(explainer.unknown)
    sizes = (explainer.validation_size, explainer.report_size)
    if not all(0 < size < 1 for size in sizes) or sum(sizes) > 0.5:
        raise ValueError(
            f"validation_size and report_size must be positive and at most 0.5 together, found {sizes}"
        )
    if explainer.schema is not None and len(explainer.categorical):
        raise ValueError("give either a schema or categorical, not both")
