"""The parameters of an explainer, checked before any long work starts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from illume.data.black_box import TASKS
from illume.data.encoding import Encoding
from illume.data.load_rows import MIN_ROWS
from illume.data.outputs import Outputs
from illume.data.require import is_int, require_choice, require_int, require_share
from illume.data.scales import CLASS_SCALES, LINKS, PROBABILITY
from illume.data.schema import Unknown, require_unknown
from illume.encoders.base import Encoder, IdentityEncoder
from illume.encoders.estimators import LinearEncoder, MetaEncoder, TrainedEncoder, resolve_rank
from illume.encoders.options import PAIRS, PAPER, QUICK, Objective, PairObjective, Training
from illume.errors import OptionError, import_extra
from illume.explanations.neighbours import SEARCHES
from illume.explanations.options import OPTION_TYPES, DataOptions, RuleOptions, SurrogateOptions
from illume.results.dictionary import Given
from illume.surrogates.selection import candidates
from illume.surrogates.tree import DecisionTreeSurrogate
from illume.twin.training_run import EFFORTS, Effort, require_effort

ENCODERS = {"meta": MetaEncoder, "linear": LinearEncoder}
BACKENDS = ("pandas", "polars", "pyarrow")
CONTRIBUTIONS = ("shapley", "pullback")
TWINS = ("auto", "exact", "learned")
SCALES = ("auto", *CLASS_SCALES)
FEWEST_LATENTS = 8
QUICK_STEPS = 1_200  # of training with a head on rows with `effort="quick"`
PAIR_STEPS = {"quick": 500, "standard": 1_600}  # of training on pairs; other efforts take those of standard
N_PAIRS = {"quick": 20_000, "standard": 60_000}
WIDTH, CLASS_WIDTH = 256, 384  # of hidden layers: for at most two outputs, and for more
MOST_TIMES = 2.5  # as many steps and pairs as for one output are taken for many classes

EncoderMaker = Callable[[], Encoder]


@dataclass(frozen=True, eq=False)
class Settings:
    """The parameters of an `Explainer`, see there."""

    model: Any
    contributions: str
    twin: str
    scale: str
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
    def seconds_for_queries(self) -> float | None:
        """How long the model may be asked, where `queries` is a time such as `"60 s"`; else None."""
        return _seconds(self.queries)

    @property
    def finds_task(self) -> bool:
        """Whether the model's answers tell if they are classes or numbers."""
        return self.data_options.task == "auto" and self.data_options.class_names is None

    @property
    def named_encoder(self) -> bool:
        """Whether the encoder is one of illume's, given by name, that is trained."""
        encoder = self.surrogate_options.encoder
        return isinstance(encoder, str) and encoder != "identity"

    @property
    def trains_rule_encoder(self) -> bool:
        """Whether rules have an encoder of their own."""
        return self.rule_options.objective != "shared" and self.surrogate_options.encoder != "identity"

    def n_latents(self, n_outputs: int) -> int:
        """Return the number of latents; for many classes it is twice their number."""
        given = self.surrogate_options.n_latents
        return max(FEWEST_LATENTS, 2 * n_outputs) if given == "auto" else int(given)

    def n_pairs(self, n_outputs: int) -> int:
        """Return how many pairs of rows the encoder learns from."""
        return round(_times(n_outputs) * N_PAIRS.get(self.effort, N_PAIRS["standard"]))

    @property
    def learns_pairs(self) -> bool:
        """Whether the encoder learns from pairs of made-up rows."""
        options = self.surrogate_options
        if isinstance(options.encoder, str):
            return options.encoder == "meta" and isinstance(self._objective(1), PairObjective)
        return isinstance(getattr(options.encoder, "objective", None), PairObjective)

    def _objective(self, n_outputs: int) -> Objective | PairObjective:
        options = self.surrogate_options
        if options.objective != "pairs":
            return resolve_objective(options.objective)
        if options.encoder == "linear":  # one map for all rows has no steps to follow
            return Objective.preset("joint")
        return PairObjective(steadiness=options.steadiness, width=WIDTH if n_outputs <= 2 else CLASS_WIDTH)

    def _training(self, objective: Objective | PairObjective, n_outputs: int) -> Training:
        if self.surrogate_options.training is not None:
            return self.surrogate_options.training
        if isinstance(objective, PairObjective):
            n_steps = PAIR_STEPS.get(self.effort, PAIR_STEPS["standard"])
            return replace(PAIRS, max_steps=round(_times(n_outputs) * n_steps))
        if not objective.joint:
            return PAPER
        return replace(QUICK, max_steps=QUICK_STEPS) if self.effort == "quick" else QUICK

    def encoder_maker(self, encoding: Encoding, outputs: Outputs) -> EncoderMaker:
        """Return a function that makes unfitted encoders."""
        n = len(outputs.explained)
        return self._maker(self._objective(n), encoding, outputs.task, self.n_latents(n), n)

    def rule_encoder(
        self, encoding: Encoding, n_latents: int, task: str = "classification"
    ) -> Encoder | None:
        """Return the unfitted encoder that rules have of their own, if they do."""
        if not self.trains_rule_encoder:
            return None
        objective = resolve_objective(self.rule_options.objective)
        return self._maker(objective, encoding, task, n_latents, 1)()

    def _maker(
        self, objective: Objective | PairObjective, encoding: Encoding, task: str, n_latents: int, n: int
    ) -> EncoderMaker:
        encoder = self.surrogate_options.encoder
        known: dict[str, Any] = {"onehot": np.flatnonzero(encoding.onehot).tolist(), "task": task}
        if encoder == "identity":
            return IdentityEncoder
        if not isinstance(encoder, str):
            return lambda: _copy_encoder(encoder, known)
        options: dict[str, Any] = {"rank": self.surrogate_options.rank} if encoder == "meta" else {}

        def make() -> Encoder:
            return ENCODERS[encoder](
                n_latents,
                objective=objective,
                training=self._training(objective, n),
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
        self._validate_twin()
        self._validate_parts()

    def _validate_twin(self) -> None:
        require_choice("twin", self.twin, TWINS)
        require_choice("scale", self.scale, SCALES)
        if self.scale == PROBABILITY and self.contributions != "shapley":
            raise ValueError("pulled-back contributions add up in log-odds; leave scale out")
        if self.twin == "learned" and self.shapley:
            import_extra("torch", "train")

    def require_torch(self) -> None:
        """Raise where torch is not installed, and the latent surrogate needs it."""
        if self.named_encoder or isinstance(self.surrogate_options.encoder, TrainedEncoder):
            import_extra("torch", "train")

    def _validate_values(self) -> None:
        queries, data = self.queries, self.data_options
        if queries != "auto" and not is_int(queries, 0) and _seconds(queries) is None:
            expected = "'auto', an integer, 0 or more, or a time such as '60 s'"
            raise OptionError.must_be("queries", expected, repr(queries))
        require_effort(self.effort)
        require_choice("contributions", self.contributions, CONTRIBUTIONS)
        if self.background is not None and self.contributions != "shapley":
            raise ValueError(
                "only Shapley values have a background; leave it out, or use contributions='shapley'"
            )
        require_choice("task", data.task, TASKS)
        require_choice("link", data.link, LINKS)
        for name in ("class_names", "output_names"):
            _require_names(name, getattr(data, name))
        require_int("row_budget", data.row_budget, least=MIN_ROWS, other=(None,))
        if data.backend is not None:
            require_choice("backend", data.backend, BACKENDS)
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
        require_choice("search", search, SEARCHES)
        if search == "index":
            import_extra("faiss", "index")
        if self.trains_rule_encoder:
            if not isinstance(encoder, str):
                raise ValueError(
                    "an encoder object brings its own objective; use the objective 'shared' for rules"
                )
            resolve_objective(self.rule_options.objective)
        require_share("steadiness", options.steadiness)
        self._objective(1)
        resolve_rank(options.rank, 1)
        require_int("n_latents", options.n_latents, other=("auto",))


def resolve_objective(objective: str | Objective) -> Objective:
    """Return the objective behind a preset's name, or the objective itself."""
    return objective if isinstance(objective, Objective) else Objective.preset(objective)


def _times(n_outputs: int) -> float:
    """Return how many times as long a training takes as for one output.

    >>> _times(1), _times(3), _times(7), _times(26)
    (1.0, 1.5, 2.5, 2.5)
    """
    return min(1.0 + max(n_outputs - 1, 0) / 4, MOST_TIMES)


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


def _seconds(queries: Any) -> float | None:
    """Return the seconds of a time in words; None if it is none.

    >>> _seconds("60 s"), _seconds("auto"), _seconds(500)
    (60.0, None, None)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?) s", queries) if isinstance(queries, str) else None
    return float(found[1]) if found else None
