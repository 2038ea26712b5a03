"""Conditions of rules, in the user's own columns, units and categories."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, ClassVar

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Frame
from illume.data.schema import Feature, Other
from illume.results.dictionary import NO_LABELS, DataDictionary
from illume.results.predictions import PerRow
from illume.results.text import format_bound, format_value, plain_value

TERMS_SHOWN = 6


@dataclass(frozen=True)
class Interval:
    """`low <= name <= high`; infinite where a side is open.

    With `missing`, a missing number counts as inside (it is read as the mean, which lies inside).

    >>> print(Interval("age", high=27.0))
    age ≤ 27
    >>> Interval("age", low=18.0, high=27.0).to_sql()
    '("age" >= 18 AND "age" <= 27)'
    """

    name: str
    low: float = -math.inf
    high: float = math.inf
    missing: bool = False
    dictionary: DataDictionary = field(default=NO_LABELS, compare=False, repr=False)

    def __str__(self) -> str:
        name = self.dictionary.label(self.name)
        low, high = (self.dictionary.bound(self.name, end) for end in (self.low, self.high))
        if self.low == self.high:
            text = f"{name} = {low}"
        elif math.isinf(self.low):
            text = f"{name} ≤ {high}"
        elif math.isinf(self.high):
            text = f"{name} ≥ {low}"
        else:
            text = f"{format_bound(self.low)} ≤ {name} ≤ {high}"
        return f"{text} (or missing)" if self.missing else text

    def covers(self, frame: Frame) -> BoolArray:
        """Return which rows of a frame lie in the interval."""
        numbers = frame.numbers(self.name)
        return ((numbers >= self.low) & (numbers <= self.high)) | (self.missing & np.isnan(numbers))

    def to_sql(self) -> str:
        """Return the interval as an SQL expression."""
        name = _sql_name(self.name)
        sides = [f"{name} >= {_sql_number(self.low)}"] if math.isfinite(self.low) else []
        sides += [f"{name} <= {_sql_number(self.high)}"] if math.isfinite(self.high) else []
        inside = " AND ".join(sides)
        return f"({inside} OR {name} IS NULL)" if self.missing else f"({inside})"

    def to_dict(self) -> dict[str, Any]:
        """Return name and bounds; an open side is None."""
        sides = {"low": self.low, "high": self.high}
        return dict(plain_value({"feature": self.name, **sides, "missing": self.missing}))


@dataclass(frozen=True)
class Membership:
    r"""The value is one of several categories; None among them stands for a missing one.

    >>> print(Membership("education", allowed=("low", "middle"), excluded=("high",)))
    education ≠ high
    >>> Membership("education", allowed=("low",), excluded=("high", None)).to_sql()
    '("education" IN (\'low\'))'
    """

    name: str
    allowed: tuple[Hashable | None, ...]
    excluded: tuple[Hashable | None, ...]
    dictionary: DataDictionary = field(default=NO_LABELS, compare=False, repr=False)

    def __contains__(self, value: Hashable | None) -> bool:
        return value in self.allowed or (value not in self.excluded and Other.OTHER in self.allowed)

    def __str__(self) -> str:
        negated = len(self.excluded) < len(self.allowed)
        shown, one, several = (self.excluded, "≠", "not in") if negated else (self.allowed, "=", "in")
        name = self.dictionary.label(self.name)
        labels = [self.dictionary.quoted(self.name, value) for value in shown]
        return f"{name} {one} {labels[0]}" if len(shown) == 1 else f"{name} {several} {{{', '.join(labels)}}}"

    def covers(self, frame: Frame) -> BoolArray:
        """Return which rows of a frame have an allowed category."""
        return np.array([value in self for value in frame.labels(self.name)], dtype=bool)

    def to_sql(self) -> str:
        """Return the set as an SQL expression; unseen values are in it only where "(other)" is."""
        name, other = _sql_name(self.name), Other.OTHER in self.allowed
        listed = self.excluded if other else self.allowed
        values = ", ".join(sql_literal(v) for v in listed if v is not None and v is not Other.OTHER)
        parts = [f"{name} {'NOT IN' if other else 'IN'} ({values})"] if values else []
        parts += [f"{name} IS NOT NULL"] if other and not values else []
        parts += [f"{name} IS NULL"] if None in self.allowed else []
        return f"({' OR '.join(parts)})"

    def to_dict(self) -> dict[str, Any]:
        """Return name and categories; a missing value is None."""
        return dict(plain_value({"feature": self.name, "allowed": self.allowed, "excluded": self.excluded}))


def _sql_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sql_number(value: float) -> str:
    """Return a number that reads back as exactly the same."""
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def sql_literal(value: Hashable) -> str:
    """Return a value as SQL writes it."""
    if isinstance(value, (bool, np.bool_)):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float, np.number)):
        return _sql_number(float(value))
    return "'" + str(value).replace("'", "''") + "'"


@dataclass(frozen=True, eq=False)
class Bounds(PerRow):
    """Conditions on features of many rules, as arrays.

    Parameters
    ----------
    low, high
        Bounds of numbers, both included, (n, n_features); infinite where a side is open.
    missing
        Where a missing number counts as inside, (n, n_features).
    allowed
        Which categories are allowed, (n, n_categories), those of all categorical features side by side.
    first
        Where the categories of each feature begin among all of them, (n_features + 1,).
    dictionary
        What features and their values are called in texts.
    """

    features: tuple[Feature, ...]
    low: FloatArray
    high: FloatArray
    missing: BoolArray
    allowed: BoolArray
    first: IntArray
    dictionary: DataDictionary = NO_LABELS

    PER_ROW: ClassVar[tuple[str, ...]] = ("low", "high", "missing", "allowed")

    def __len__(self) -> int:
        return len(self.low)

    @property
    def has_condition(self) -> BoolArray:
        """Which features each rule has a condition on, (n, n_features)."""
        found = np.isfinite(self.low) | np.isfinite(self.high)
        for j in np.flatnonzero(np.diff(self.first)):
            found[:, j] = ~self.allowed[:, self.first[j] : self.first[j + 1]].all(1)
        return found

    def conditions(self, row: int) -> tuple[Interval | Membership, ...]:
        """Return one rule's conditions, by feature."""
        found = self[row : row + 1].has_condition[0]
        return tuple(self.condition(row, int(j)) for j in np.flatnonzero(found))

    def condition(self, row: int, j: int) -> Interval | Membership:
        """Return one rule's condition on one feature."""
        feature = self.features[j]
        if feature.numeric:
            low, high = float(self.low[row, j]), float(self.high[row, j])
            return Interval(feature.name, low, high, bool(self.missing[row, j]), self.dictionary)
        inside = self.allowed[row, self.first[j] : self.first[j + 1]]
        allowed, excluded = (tuple(compress(feature.categories, side)) for side in (inside, ~inside))
        return Membership(feature.name, allowed, excluded, self.dictionary)


@dataclass(frozen=True, eq=False)
class ObliqueCondition:
    """`low < sum of weights times inputs <= high`, in the features' own units.

    An input is a number, or 1 for the category it names and 0 otherwise; `labels` are what inputs are called.
    """

    inputs: tuple[str, ...]
    weights: FloatArray
    low: float
    high: float
    labels: tuple[str, ...]

    def __str__(self) -> str:
        order = np.argsort(-np.abs(self.weights), kind="stable")
        order = order[self.weights[order] != 0]
        total = " ".join(f"{self.weights[j]:+.3g}·[{self.labels[j]}]" for j in order[:TERMS_SHOWN])
        total += f" … ({len(order) - TERMS_SHOWN} more)" if len(order) > TERMS_SHOWN else ""
        if math.isinf(self.high):
            return f"{total} > {format_value(self.low)}"
        low = "" if math.isinf(self.low) else f"{format_value(self.low)} < "
        return f"{low}{total} ≤ {format_value(self.high)}"

    def to_dict(self) -> dict[str, Any]:
        """Return weights by input, and bounds; an open side is None."""
        weights = {self.inputs[j]: float(self.weights[j]) for j in np.flatnonzero(self.weights)}
        return {"weights": weights, "low": plain_value(self.low), "high": plain_value(self.high)}


@dataclass(frozen=True, eq=False)
class ObliqueRules(PerRow):
    """Oblique conditions of many rules: `low < weights @ x <= high` on scaled, centred inputs.

    Parameters
    ----------
    latent
        The latent of each condition, (n, d); -1 where there is no condition.
    weights
        The rows' own directions, (n, d, n_inputs).
    low, high
        Bounds, (n, d).
    mean, scale
        Mean and scale of the inputs, (n_inputs,).
    inputs, labels
        Their names, and what they are called in texts.
    """

    latent: IntArray
    weights: FloatArray
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    scale: FloatArray
    inputs: tuple[str, ...]
    labels: tuple[str, ...]

    PER_ROW: ClassVar[tuple[str, ...]] = ("latent", "weights", "low", "high")

    def conditions(self, row: int) -> tuple[ObliqueCondition, ...]:
        """Return one rule's conditions in the features' own units."""
        found = []
        for d in np.flatnonzero(self.latent[row] >= 0):
            weights = self.weights[row, d] / self.scale
            low, high = np.array([self.low[row, d], self.high[row, d]]) + float(weights @ self.mean)
            found.append(ObliqueCondition(self.inputs, weights, float(low), float(high), self.labels))
        return tuple(found)
