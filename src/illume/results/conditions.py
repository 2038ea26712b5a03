"""Conditions of rules: intervals, categories and weighted sums, in the user's units."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Frame
from illume.data.schema import MISSING, Feature, Other
from illume.results.text import format_bound, format_value, plain_value


class Condition(Protocol):
    """Something that a row satisfies or not."""

    name: str

    def covers(self, frame: Frame) -> BoolArray:
        """Return which rows of a frame satisfy it."""
        ...

    def to_sql(self) -> str:
        """Return it as an SQL expression."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        ...


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

    def __and__(self, other: Interval) -> Interval:
        """Return where both hold."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Interval(self.name, low, high, self.missing and other.missing)

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high or (self.missing and math.isnan(value))

    def __str__(self) -> str:
        if self.low == self.high:
            text = f"{self.name} = {format_bound(self.low)}"
        elif math.isinf(self.low):
            text = f"{self.name} ≤ {format_bound(self.high)}"
        elif math.isinf(self.high):
            text = f"{self.name} ≥ {format_bound(self.low)}"
        else:
            text = f"{format_bound(self.low)} ≤ {self.name} ≤ {format_bound(self.high)}"
        return f"{text} (or missing)" if self.missing else text

    def covers(self, frame: Frame) -> BoolArray:
        """Return which rows lie in the interval."""
        numbers = frame.numbers(self.name)
        return ((numbers >= self.low) & (numbers <= self.high)) | (self.missing & np.isnan(numbers))

    def to_sql(self) -> str:
        """Return the interval as an SQL expression."""
        name = quoted(self.name)
        sides = [f"{name} >= {_number(self.low)}"] if math.isfinite(self.low) else []
        sides += [f"{name} <= {_number(self.high)}"] if math.isfinite(self.high) else []
        inside = " AND ".join(sides)
        return f"({inside} OR {name} IS NULL)" if self.missing else f"({inside})"

    def to_dict(self) -> dict[str, Any]:
        """Return name and bounds; an open side is None."""
        return {
            "feature": self.name,
            "low": self.low if math.isfinite(self.low) else None,
            "high": self.high if math.isfinite(self.high) else None,
            "missing": self.missing,
        }


@dataclass(frozen=True)
class Membership:
    r"""The value is one of some categories; None among them stands for a missing one.

    >>> print(Membership("education", allowed=("low", "middle"), excluded=("high",)))
    education ≠ high
    >>> Membership("education", allowed=("low",), excluded=("high", None)).to_sql()
    '("education" IN (\'low\'))'
    """

    name: str
    allowed: tuple[Hashable | None, ...]
    excluded: tuple[Hashable | None, ...]

    def __contains__(self, value: Hashable | None) -> bool:
        known = value in self.allowed or value in self.excluded
        return value in self.allowed if known else Other.OTHER in self.allowed

    def __str__(self) -> str:
        shown, sign, many = (
            (self.excluded, "≠", "not in")
            if len(self.excluded) < len(self.allowed)
            else (self.allowed, "=", "in")
        )
        labels = [MISSING if value is None else str(value) for value in shown]
        return (
            f"{self.name} {sign} {labels[0]}"
            if len(labels) == 1
            else f"{self.name} {many} {{{', '.join(labels)}}}"
        )

    def covers(self, frame: Frame) -> BoolArray:
        """Return which rows have an allowed category."""
        return np.array([value in self for value in frame.labels(self.name)], dtype=bool)

    def to_sql(self) -> str:
        """Return the set as an SQL expression; values never seen are in it only where "(other)" is."""
        name = quoted(self.name)
        listed = self.excluded if Other.OTHER in self.allowed else self.allowed
        values = ", ".join(_literal(v) for v in listed if v is not None and v is not Other.OTHER)
        if Other.OTHER in self.allowed:
            inside = f"{name} NOT IN ({values})" if values else f"{name} IS NOT NULL"
        else:
            inside = f"{name} IN ({values})" if values else ""
        missing = f"{name} IS NULL" if None in self.allowed else ""
        return f"({' OR '.join(part for part in (inside, missing) if part)})"

    def to_dict(self) -> dict[str, Any]:
        """Return name and categories; a missing value is None."""
        return {
            "feature": self.name,
            "allowed": [_plain_category(value) for value in self.allowed],
            "excluded": [_plain_category(value) for value in self.excluded],
        }


def quoted(name: str) -> str:
    """Return a column's name as SQL wants it."""
    return '"' + name.replace('"', '""') + '"'


def _plain_category(value: Hashable | None) -> Any:
    return str(value) if value is Other.OTHER else plain_value(value)


def _number(value: float) -> str:
    """Return a number that reads back as the very same."""
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def _literal(value: Hashable) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float, np.number)):
        return _number(float(value))
    return "'" + str(value).replace("'", "''") + "'"


@dataclass(frozen=True, eq=False)
class Bounds:
    """What each rule demands of each feature.

    Parameters
    ----------
    features
        The features, in order.
    low, high
        Numbers lie between these, both ends included, (n, n_features); infinite where a side is open.
    missing
        Where a missing number counts as inside, (n, n_features).
    allowed
        Which categories are allowed, (n, n_categories), those of all categorical features side by side.
    first
        Where the categories of each feature begin among all of them, (n_features + 1,).
    """

    features: tuple[Feature, ...]
    low: FloatArray
    high: FloatArray
    missing: BoolArray
    allowed: BoolArray
    first: IntArray

    def __len__(self) -> int:
        return len(self.low)

    def __getitem__(self, rows: Any) -> Bounds:
        taken = {name: getattr(self, name)[rows] for name in ("low", "high", "missing", "allowed")}
        return replace(self, **taken)

    @property
    def conditioned(self) -> BoolArray:
        """Which features each rule says something about, (n, n_features)."""
        said = np.isfinite(self.low) | np.isfinite(self.high)
        for j in np.flatnonzero(np.diff(self.first)):
            said[:, j] = ~self.allowed[:, self.first[j] : self.first[j + 1]].all(1)
        return said

    def conditions(self, row: int) -> tuple[Interval | Membership, ...]:
        """Return one rule's conditions, by feature."""
        said = self[row : row + 1].conditioned[0]
        return tuple(self.condition(row, int(j)) for j in np.flatnonzero(said))

    def condition(self, row: int, j: int) -> Interval | Membership:
        """Return what one rule demands of one feature."""
        feature = self.features[j]
        if feature.numeric:
            low, high = float(self.low[row, j]), float(self.high[row, j])
            return Interval(feature.name, low, high, bool(self.missing[row, j]))
        allowed = self.allowed[row, self.first[j] : self.first[j + 1]]
        pairs = list(zip(feature.categories, allowed, strict=True))
        return Membership(
            feature.name,
            tuple(value for value, inside in pairs if inside),
            tuple(value for value, inside in pairs if not inside),
        )


SHOWN = 6


@dataclass(frozen=True, eq=False)
class ObliqueCondition:
    """`low < sum of weights times inputs <= high`, in the features' own units.

    An input is a number, or 1 for the category it names and 0 otherwise.
    """

    inputs: tuple[str, ...]
    weights: FloatArray
    low: float
    high: float

    def __str__(self) -> str:
        order = np.argsort(-np.abs(self.weights), kind="stable")
        order = order[self.weights[order] != 0]
        terms = [f"{self.weights[j]:+.3g}·[{self.inputs[j]}]" for j in order[:SHOWN]]
        more = f" … ({len(order) - SHOWN} more)" if len(order) > SHOWN else ""
        total = " ".join(terms) + more
        if math.isinf(self.low):
            return f"{total} ≤ {format_value(self.high)}"
        if math.isinf(self.high):
            return f"{total} > {format_value(self.low)}"
        return f"{format_value(self.low)} < {total} ≤ {format_value(self.high)}"

    def to_dict(self) -> dict[str, Any]:
        """Return weights by input, and bounds; an open side is None."""
        some = np.flatnonzero(self.weights)
        return {
            "weights": {self.inputs[j]: float(self.weights[j]) for j in some},
            "low": self.low if math.isfinite(self.low) else None,
            "high": self.high if math.isfinite(self.high) else None,
        }


@dataclass(frozen=True, eq=False)
class ObliqueRules:
    """Oblique conditions of many rules: `low < weights @ x <= high` on scaled, centred inputs.

    Parameters
    ----------
    latent
        Which latent each condition is about, (n, d); -1 for none.
    weights
        The rows' own directions, (n, d, n_inputs).
    low, high
        Bounds, (n, d).
    mean, scale
        What was subtracted from the inputs, and what they were then divided by, (n_inputs,).
    """

    latent: IntArray
    weights: FloatArray
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    scale: FloatArray
    inputs: tuple[str, ...]

    def __getitem__(self, rows: Any) -> ObliqueRules:
        return ObliqueRules(
            self.latent[rows],
            self.weights[rows],
            self.low[rows],
            self.high[rows],
            self.mean,
            self.scale,
            self.inputs,
        )

    def conditions(self, row: int) -> tuple[ObliqueCondition, ...]:
        """Return one rule's conditions in the features' own units."""
        found = []
        for d in np.flatnonzero(self.latent[row] >= 0):
            weights = self.weights[row, d] / self.scale
            shift = float(weights @ self.mean)
            found.append(
                ObliqueCondition(
                    self.inputs, weights, float(self.low[row, d]) + shift, float(self.high[row, d]) + shift
                )
            )
        return tuple(found)

    def satisfied(self, X: FloatArray) -> BoolArray:
        """Return whether encoded rows X (n, n_inputs), one per rule, satisfy all conditions of theirs."""
        value = (self.weights @ X[:, :, None])[:, :, 0]
        inside: BoolArray = (self.latent < 0) | ((value > self.low) & (value <= self.high))
        return np.asarray(inside.all(1))
