"""The parameters of an explainer, checked before any long work starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from illume.data.black_box import TASKS
from illume.data.encoding import Encoding
from illume.data.load_rows import MIN_ROWS
from illume.data.scales import LINKS
from illume.data.schema import Unknown, require_unknown
from illume.encoders.base import Encoder, IdentityEncoder
from illume.encoders.estimators import LinearEncoder, MetaEncoder, TrainedEncoder, resolve_rank
from illume.encoders.options import PAPER, QUICK, Objective, Training
from illume.errors import import_extra
from illume.explanations.neighbours import SEARCHES
from illume.explanations.options import OPTION_TYPES, DataOptions, RuleOptions, SurrogateOptions
from illume.explanations.trial import Setting
from illume.results.dictionary import Given
from illume.shapley.training_run import EFFORTS, Effort, require_effort
from illume.surrogates.selection import candidates
from illume.surrogates.tree import DecisionTreeSurrogate

ENCODERS = {"meta": MetaEncoder, "linear": LinearEncoder}
BACKENDS = ("pandas", "polars", "pyarrow")
CONTRIBUTIONS = ("shapley", "pullback")
LATENTS = (4, 8, 16)
ALIGNMENTS = (1.0, 0.3, 0.0)
QUICK_STEPS = 1_200  # of training the surrogate with `effort="quick"`; agreement is .003 lower on average
SHORT_SHARE = 0.1  # of the epochs or steps of a whole training

EncoderMaker = Callable[[Setting, bool], Encoder]


@dataclass(frozen=True)
class Choices:
    """What trials choose from; alignments from strong to weak."""

    n_latents: tuple[int, ...]
    alignments: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Settings:
    """The parameters of an `Explainer`, see there."""

    model: Any
    contributions: str
    background: Any
    effort: str
    queries: int | str
    categorical: Sequence[str]
    unknown: Unknown
    labels: Given
    positive_class: Any
    threshold: float | None
    surrogate_options: SurrogateOptions
    rule_options: RuleOptions
    data_options: DataOptions
    device: str
    random_state: Any
    verbose: bool | None

    @property
    def shapley(self) -> bool:
        """Whether contributions are Shapley values."""
        return self.contributions == "shapley" and self.queries != 0

    @property
    def budget(self) -> Effort:
        """How much the fit may spend on Shapley values."""
        return EFFORTS[self.effort]

    @property
    def named_encoder(self) -> bool:
        """Whether the encoder is one of illume's, given by name, that is trained."""
        encoder = self.surrogate_options.encoder
        return isinstance(encoder, str) and encoder != "identity"

    @property
    def trains_rule_encoder(self) -> bool:
        """Whether rules have an encoder of their own."""
        return self.rule_options.objective != "shared" and self.surrogate_options.encoder != "identity"

    @property
    def _usual_training(self) -> Training:
        return replace(QUICK, max_steps=QUICK_STEPS) if self.effort == "quick" else QUICK

    @cached_property
    def choices(self) -> Choices:
        """What is left to choose; a given number of latents or objective is not chosen over."""
        n_latents, objective = self.surrogate_options.n_latents, self.surrogate_options.objective
        if n_latents != "auto" and not (isinstance(n_latents, Integral) and int(n_latents) > 0):
            raise ValueError(f"n_latents must be 'auto' or a positive integer, found {n_latents!r}")
        if not self.named_encoder:
            return Choices((1,), (1.0,))
        aligned = isinstance(objective, str) and Objective.preset(objective).aligns
        latents = LATENTS if n_latents == "auto" else (int(n_latents),)
        return Choices(latents, ALIGNMENTS if aligned else (1.0,))

    def encoder_maker(self, encoding: Encoding, task: str = "classification") -> EncoderMaker:
        """Return a function that makes unfitted encoders."""
        return self._maker(self.surrogate_options.objective, encoding, task)

    def rule_encoder(
        self, encoding: Encoding, n_latents: int, task: str = "classification"
    ) -> Encoder | None:
        """Return the unfitted encoder that rules have of their own, if they do."""
        if not self.trains_rule_encoder:
            return None
        return self._maker(self.rule_options.objective, encoding, task)(Setting(n_latents), False)

    def _maker(self, objective: str | Objective, encoding: Encoding, task: str) -> EncoderMaker:
        encoder = self.surrogate_options.encoder
        known: dict[str, Any] = {"onehot": np.flatnonzero(encoding.onehot).tolist(), "task": task}
        if encoder == "identity":
            return lambda setting, trial: IdentityEncoder()
        if not isinstance(encoder, str):
            return lambda setting, trial: _copy_encoder(encoder, known)
        resolved = resolve_objective(objective)
        training = self.surrogate_options.training or (self._usual_training if resolved.joint else PAPER)
        short = _shorten(training)
        options: dict[str, Any] = {"rank": self.surrogate_options.rank} if encoder == "meta" else {}

        def make(setting: Setting, trial: bool) -> Encoder:
            return ENCODERS[encoder](
                setting.n_latents,
                objective=resolved.with_alignment(setting.alignment),
                training=short if trial else training,
                device=self.device,
                random_state=self.random_state,
                verbose=self.verbose,
                **known,
                **options,
            )

        return make

    def validate(self) -> None:
        """Raise for parameters that cannot work."""
        for name, kind in OPTION_TYPES.items():
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} must be {kind.__name__}(…), found {getattr(self, name)!r}")
        self._validate_values()
        self._validate_parts()
        if self.named_encoder or self.shapley or isinstance(self.surrogate_options.encoder, TrainedEncoder):
            import_extra("torch", "train")

    def _validate_values(self) -> None:
        queries, data = self.queries, self.data_options
        if queries != "auto" and not (isinstance(queries, Integral) and int(queries) >= 0):
            raise ValueError(f"queries must be 'auto' or an integer, 0 or more, found {queries!r}")
        require_effort(self.effort)
        _require_choice("contributions", self.contributions, CONTRIBUTIONS)
        if self.background is not None and self.contributions != "shapley":
            raise ValueError(
                "only Shapley values have a background; leave it out, or use contributions='shapley'"
            )
        _require_choice("task", data.task, TASKS)
        _require_choice("link", data.link, LINKS)
        for name in ("class_names", "output_names"):
            _require_names(name, getattr(data, name))
        budget = data.row_budget
        if budget is not None and not (isinstance(budget, Integral) and int(budget) >= MIN_ROWS):
            raise ValueError(f"row_budget must be None or an integer from {MIN_ROWS}, found {budget!r}")
        if data.backend is not None:
            _require_choice("backend", data.backend, BACKENDS)
        require_unknown(self.unknown)
        sizes = (data.validation_size, data.report_size)
        if not all(0 < size < 1 for size in sizes) or sum(sizes) > 0.5:
            raise ValueError(
                f"validation_size and report_size must be positive and at most 0.5 together, found {sizes}"
            )
        if data.schema is not None and len(self.categorical):
            raise ValueError("give either a schema or categorical, not both")

    def _validate_parts(self) -> None:
        options = self.surrogate_options
        encoder, search, tree = options.encoder, options.search, self.rule_options.tree
        names = sorted([*ENCODERS, "identity"])
        if isinstance(encoder, str) and encoder not in names:
            raise ValueError(f"encoder {encoder!r} is not known; choose one of {names}, or pass one")
        if any(isinstance(choice, DecisionTreeSurrogate) for choice in candidates(options.model)):
            raise ValueError(
                "a tree gives no attributions, and `rules` grows its own: pass it as the tree of the rules, "
                "and 'logistic' or a linear classifier as the surrogate's model"
            )
        if not all(hasattr(choice, "apply") for choice in candidates(tree)):
            raise ValueError(f"tree {tree!r} gives no rules; use 'tree' or a tree classifier of scikit-learn")
        _require_choice("search", search, SEARCHES)
        if search == "index":
            import_extra("faiss", "index")
        if self.trains_rule_encoder:
            if not isinstance(encoder, str):
                raise ValueError(
                    "an encoder object brings its own objective; use the objective 'shared' for rules"
                )
            resolve_objective(self.rule_options.objective)
        resolve_objective(options.objective)
        resolve_rank(options.rank, 1)
        _ = self.choices


def resolve_objective(objective: str | Objective) -> Objective:
    """Return the objective behind a preset's name, or the objective itself."""
    return objective if isinstance(objective, Objective) else Objective.preset(objective)


def _require_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {tuple(choices)}, found {value!r}")


def _require_names(name: str, given: Any) -> None:
    if given is None:
        return
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise ValueError(f"{name} must be a list of names, found {given!r}")
    if len(set(map(str, given))) < len(given):
        raise ValueError(f"{name} must be different from each other, found {list(given)!r}")


def _copy_encoder(encoder: Any, known: dict[str, Any]) -> Encoder:
    """Clone a user's encoder and set what is known of the data, as far as it has such parameters."""
    copy = clone(encoder)
    return copy.set_params(**{name: value for name, value in known.items() if name in copy.get_params()})


def _shorten(training: Training) -> Training:
    lengths = ("max_epochs", "max_steps", "sparsity_epochs")
    return replace(
        training, **{name: max(1, round(SHORT_SHARE * getattr(training, name))) for name in lengths}
    )
