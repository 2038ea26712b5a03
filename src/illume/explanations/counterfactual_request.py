"""Options of counterfactuals: what is desired, and what may change."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray
from illume.data.frames import Frame
from illume.data.number_outputs import Numbers
from illume.data.outputs import Outputs
from illume.data.schema import Feature, Schema, describe_unknown
from illume.errors import BlackBoxError, LeftOutError, SchemaError
from illume.explanations.counterfactual_goals import ClassGoal, Goal, RangeGoal, threshold_goal
from illume.explanations.fitted import Fitted
from illume.results.text import format_value

OPPOSITE = "opposite"
NUMBER_WISHES = ("desired_range", "desired_change", "threshold", "output")


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

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not (isinstance(self.n, Integral) and int(self.n) >= 1):
            raise ValueError(f"n must be a positive integer, found {self.n!r}")
        if self.max_changes is not None and not (
            isinstance(self.max_changes, Integral) and int(self.max_changes) >= 1
        ):
            raise ValueError(f"max_changes must be a positive integer, found {self.max_changes!r}")
        if not 0 <= self.min_probability < 1:
            raise ValueError(f"min_probability must be from 0 to below 1, found {self.min_probability!r}")

    def goal(self, outputs: Outputs, P: FloatArray) -> Goal:
        """Return what changed rows should reach, for rows that the model answers with P (n, c)."""
        wishes = {name: getattr(self, name) for name in NUMBER_WISHES if getattr(self, name) is not None}
        if isinstance(outputs, Numbers):
            return self._range_goal(outputs, P, wishes)
        if wishes:
            raise ValueError(
                f"{' and '.join(wishes)} is for models that answer with numbers; this one decides between "
                f"{list(outputs.names)}: use desired_class"
            )
        names, wish, question = outputs.names, self.desired_class, outputs.question()
        any_other = isinstance(wish, str) and wish == OPPOSITE and OPPOSITE not in names
        if not any_other and str(wish) not in names:
            raise ValueError(
                f"desired_class {wish!r} is not known; choose 'opposite' or one of {list(names)}"
            )
        desired = -1 if any_other else names.index(str(wish))
        text = f"decide {'otherwise' if any_other else repr(str(wish))}"
        return ClassGoal(question, question.decide(P), np.full(len(P), desired), self.min_probability, text)

    def _range_goal(self, outputs: Numbers, P: FloatArray, wishes: Mapping[str, Any]) -> Goal:
        if self.desired_class != OPPOSITE or self.min_probability:
            raise ValueError(
                "desired_class and min_probability are for classifiers; the model answers with numbers: use "
                "desired_range, desired_change or threshold"
            )
        chosen = [name for name in wishes if name != "output"]
        if len(chosen) != 1:
            raise ValueError(
                "say which numbers are desired, by one of desired_range=[low, high], desired_change and "
                f"threshold; found {' and '.join(chosen) or 'none of them'}"
            )
        question = outputs.question(self.output, self.threshold)
        if self.threshold is not None:
            return threshold_goal(outputs, question, P)
        at = outputs.position(self.output)
        y, unit = P[:, at], float(outputs.unit[at])
        if self.desired_range is not None:
            low, high = parse_range(self.desired_range, "desired_range", ValueError)
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
                raise ValueError(f"desired_change must be a number other than 0, found {change!r}")
            text = f"change its answer by {float(change):+,g} or more"
            far = np.full(len(y), math.copysign(math.inf, change))
            ends = (y + float(change), far) if change > 0 else (far, y + float(change))
        return RangeGoal(question, at, y, *ends, unit, text)

    @property
    def is_unrestricted(self) -> bool:
        """Whether any number of features may change to any value."""
        return isinstance(self.features_to_vary, str) and not (self.permitted_range or self.max_changes)

    def validate(self, fitted: Fitted) -> None:
        """Raise unless counterfactuals can be found: the model and rows are there, and names are known."""
        if fitted.pool is None:
            raise LeftOutError(
                "counterfactuals take values from training rows, and the explainer was saved with "
                "rows='none'; save it with rows to have them"
            )
        if not fitted.has_model:
            raise BlackBoxError(
                "counterfactuals are checked on the model, and the explainer was loaded without it; "
                "use illume.load(path, model=…)"
            )
        self.goal(fitted.outputs, np.empty((0, len(fitted.outputs))))
        self.permitted_values(fitted.schema, fitted.pool.frame)

    def free_features(self, schema: Schema) -> BoolArray:
        """Return which features may change, (n_features,)."""
        if isinstance(self.features_to_vary, str):
            if self.features_to_vary == "all":
                return np.ones(len(schema), dtype=bool)
            raise SchemaError(
                f"features_to_vary must be 'all' or a list of names; write [{self.features_to_vary!r}]"
            )
        names = [str(name) for name in self.features_to_vary]
        for name in names:
            if name not in schema.names:
                raise SchemaError(f"features_to_vary names {describe_unknown(name, schema.names)}")
        if not names:
            raise SchemaError("features_to_vary is empty; at least one feature must be free to change")
        return np.isin(schema.names, names)

    def permitted_values(self, schema: Schema, pool: Frame) -> BoolArray:
        """Return which values of the pool's rows a counterfactual may take, (p, n_features)."""
        allowed = np.broadcast_to(self.free_features(schema), (len(pool), len(schema))).copy()
        for name, wish in (self.permitted_range or {}).items():
            if name not in schema.names:
                raise SchemaError(f"permitted_range names {describe_unknown(name, schema.names)}")
            j = schema.names.index(name)
            if not allowed[:, j].any():
                raise SchemaError(f"permitted_range names {name!r}, which is not among features_to_vary")
            allowed[:, j] &= _within(schema.features[j], wish, pool)
        return allowed


def parse_range(wish: Any, name: str, error: type[Exception]) -> tuple[float, float]:
    """Return the ends of `[low, high]`, None for an open end.

    >>> parse_range([None, 3], "desired_range", ValueError)
    (-inf, 3.0)
    """
    pair = list(wish) if isinstance(wish, Sequence | np.ndarray) and not isinstance(wish, str) else []
    ends = [e if o is None else o for o, e in zip(pair, (-math.inf, math.inf), strict=False)]
    if len(pair) != 2 or not all(isinstance(end, Real) for end in ends) or not ends[0] <= ends[1]:
        raise error(f"{name} must be [low, high] with low <= high, None for an open end, found {wish!r}")
    return float(ends[0]), float(ends[1])


def _describe_range(low: float, high: float) -> str:
    if math.isinf(low):
        return f"answer at most {high:,g}"
    return f"answer {low:,g} or more" if math.isinf(high) else f"answer from {low:,g} to {high:,g}"


def _within(feature: Feature, wish: Any, pool: Frame) -> BoolArray:
    if feature.numeric:
        ends = parse_range(wish, f"permitted_range of {feature.name!r}", SchemaError)
        numbers = pool.numbers(feature.name)
        inside = (numbers >= ends[0]) & (numbers <= ends[1])
        if not inside.any():
            raise SchemaError(
                f"no training row has {feature.name!r} within {wish!r}, and values are taken from these; "
                f"they go from {format_value(np.nanmin(numbers))} to {format_value(np.nanmax(numbers))}"
            )
        return inside
    if isinstance(wish, str) or not isinstance(wish, Sequence | np.ndarray | set | frozenset):
        raise SchemaError(f"permitted_range of {feature.name!r} must be a list of its values, found {wish!r}")
    values = set(wish)
    for value in set() if feature.open else values - set(feature.categories):
        known = ", ".join(map(repr, feature.categories[:12])) + (
            ", …" if len(feature.categories) > 12 else ""
        )
        raise SchemaError(
            f"permitted_range of {feature.name!r} holds {value!r}, not among its values: {known}"
        )
    return np.array([value in values for value in pool.labels(feature.name)], dtype=bool)
