"""Options of counterfactuals: what is desired, and what may change."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.data.frames import Frame
from illume.data.number_outputs import Numbers
from illume.data.outputs import Outputs
from illume.data.require import require_int, require_share
from illume.data.schema import Feature, Schema
from illume.errors import BlackBoxError, LeftOutError, OptionError, Setting
from illume.explanations.counterfactual_goals import ClassGoal, Goal, RangeGoal, threshold_goal
from illume.explanations.counterfactual_limits import (
    Direction,
    categories_in_order,
    direction_ranks,
    free_features,
    parse_range,
    permitted_categories,
    permitted_values,
    values_beyond,
)
from illume.explanations.fitted import Fitted
from illume.results.counterfactuals import ANY_OTHER
from illume.results.dictionary import DataDictionary

OPPOSITE = "opposite"
WISHES = ("desired_range", "desired_change", "threshold")
NUMBER_WISHES = (*WISHES, "output")


@dataclass(frozen=True)
class CounterfactualRequest:
    """Options of `Explainer.counterfactuals`."""

    n: int = 3
    desired_class: Any = OPPOSITE
    features_to_vary: str | Sequence[str] = "all"
    permitted_range: Mapping[str, Sequence[Any]] | None = None
    max_changes: int | None = None
    min_probability: float = 0.0
    desired_range: Sequence[float | None] | None = None
    desired_change: float | None = None
    threshold: float | None = None
    output: int | str | None = None
    immutable: Sequence[str] | None = None
    direction: Mapping[str, Direction] | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        require_int("n", self.n)
        require_int("max_changes", self.max_changes, other=(None,))
        require_share("min_probability", self.min_probability, below=True)

    def goal(self, outputs: Outputs, P: FloatArray) -> Goal:
        """Return what changed rows should reach, for rows that the model answers with P (n, c)."""
        wishes = {name: getattr(self, name) for name in NUMBER_WISHES if getattr(self, name) is not None}
        if isinstance(outputs, Numbers):
            return self._range_goal(outputs, P, wishes)
        if wishes.keys() - {"threshold"}:
            wishes.pop("threshold", None)
            raise OptionError(
                *_listed(wishes),
                f" is for models that answer with numbers; this one decides between {list(outputs.names)}: ",
                "use ",
                Setting("desired_class"),
            )
        names, wish, question = outputs.names, self.desired_class, outputs.question(threshold=self.threshold)
        any_other = isinstance(wish, str) and wish == OPPOSITE and OPPOSITE not in names
        if not any_other and str(wish) not in names:
            known = f" {wish!r} is not known; choose 'opposite' or one of {list(names)}"
            raise OptionError(Setting("desired_class"), known)
        desired = -1 if any_other else names.index(str(wish))
        text = ANY_OTHER if any_other else f"decide {str(wish)!r}"
        return ClassGoal(question, question.decide(P), np.full(len(P), desired), self.min_probability, text)

    def _range_goal(self, outputs: Numbers, P: FloatArray, wishes: Mapping[str, Any]) -> Goal:
        if self.desired_class != OPPOSITE or self.min_probability:
            raise OptionError(
                *_listed(["desired_class", "min_probability"]),
                " are for classifiers; the model answers with numbers: use ",
                *_listed(WISHES, " or "),
            )
        chosen = [name for name in wishes if name != "output"]
        if len(chosen) != 1:
            raise OptionError(
                "say which numbers are desired, by one of ",
                *_listed(WISHES),
                "; found ",
                *(_listed(chosen) or ["none of them"]),
            )
        question = outputs.question(self.output, self.threshold)
        if self.threshold is not None:
            return threshold_goal(outputs, question, P)
        at = outputs.position(self.output)
        y, unit = P[:, at], float(outputs.unit[at])
        if self.desired_range is not None:
            low, high = parse_range(self.desired_range, Setting("desired_range"), OptionError)
            text = _describe_range(low, high)
            ends = np.full(len(y), low), np.full(len(y), high)
        else:
            change = self.desired_change
            if (
                isinstance(change, bool)
                or not isinstance(change, Real)
                or not math.isfinite(change)
                or not change
            ):
                wrong = f" must be a number other than 0, found {change!r}"
                raise OptionError(Setting("desired_change"), wrong)
            text = f"change its answer by {float(change):+,g} or more"
            far = np.full(len(y), math.copysign(math.inf, change))
            ends = (y + float(change), far) if change > 0 else (far, y + float(change))
        return RangeGoal(question, at, y, *ends, unit, text)

    @property
    def is_unrestricted(self) -> bool:
        """Whether any number of features may change to any value."""
        limits = (self.immutable, self.permitted_range, self.direction, self.max_changes)
        return isinstance(self.features_to_vary, str) and not any(limits)

    def validate(self, fitted: Fitted) -> None:
        """Raise unless counterfactuals can be found: the model and rows are there, and names are known."""
        if fitted.pool is None:
            raise LeftOutError(
                "counterfactuals take values from training rows, and the explainer was saved with ",
                Setting("rows", "none"),
                "; save it with rows to have them",
            )
        if not fitted.has_model:
            raise BlackBoxError(
                "counterfactuals are checked on the model, and the explainer was loaded without it; "
                "use illume.load(path, model=…)"
            )
        self.require_known(fitted)

    def require_known(self, fitted: Fitted) -> None:
        """Raise unless what is desired can be answered, and names and values are known."""
        self.goal(fitted.outputs, np.empty((0, len(fitted.outputs))))
        self.free_features(fitted.schema)
        if fitted.pool is not None:
            self.permitted_values(fitted.schema, fitted.pool.frame)
        self.direction_ranks(fitted.schema)

    def with_columns(self, fitted: Fitted) -> Self:
        """Return the same with columns and values by their names, where they were given by their labels."""
        schema, dictionary = fitted.schema, fitted.dictionary

        def column(name: Any) -> Any:
            return name if name in schema.names else dictionary.column(name)

        def columns(given: Any) -> Any:
            return given if given is None or isinstance(given, str) else [column(name) for name in given]

        def values(given: Any, parse: Callable[[Feature, Any, DataDictionary], Any]) -> Any:
            if not isinstance(given, Mapping):
                return given
            named = {column(name): each for name, each in given.items()}
            coded = {name for name in named if name in schema.names and not schema[name].numeric}
            return {
                name: parse(schema[name], each, dictionary) if name in coded else each
                for name, each in named.items()
            }

        return replace(
            self,
            features_to_vary=columns(self.features_to_vary),
            immutable=columns(self.immutable),
            permitted_range=values(self.permitted_range, permitted_categories),
            direction=values(self.direction, categories_in_order),
        )

    def free_features(self, schema: Schema) -> BoolArray:
        """Return which features may change, (n_features,)."""
        return free_features(schema, self.features_to_vary, self.immutable or ())

    def permitted_values(self, schema: Schema, pool: Frame) -> BoolArray:
        """Return which values of the pool's rows a counterfactual may take, (p, n_features)."""
        return permitted_values(schema, pool, self.free_features(schema), self.permitted_range or {})

    def values_beyond(self, schema: Schema, pool: Frame) -> dict[str, FloatArray]:
        """Return values to try that no training row has, as a permitted range asks for them."""
        return values_beyond(schema, pool, self.permitted_range or {})

    def direction_ranks(self, schema: Schema) -> dict[int, FloatArray | float]:
        """Return what the direction of features is to be judged by."""
        return direction_ranks(schema, self.direction or {})


def _listed(names: Iterable[str], last: str = " and ") -> list[Setting | str]:
    """Return the settings with these names, and the text between them.

    >>> print(*_listed(["n", "output", "threshold"]), sep="")
    n, output and threshold
    """
    settings = [Setting(name) for name in names]
    before = ["", *[", "] * (len(settings) - 2), last]  # each of them
    return [each for pair in zip(before, settings, strict=False) for each in pair if each]


def _describe_range(low: float, high: float) -> str:
    if math.isinf(low):
        return f"answer at most {high:,g}"
    return f"answer {low:,g} or more" if math.isinf(high) else f"answer from {low:,g} to {high:,g}"
