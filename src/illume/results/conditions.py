"""Conditions in the user's own columns, units and categories: an interval of numbers, or a set of values."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from illume._typing import BoolArray
from illume.data.frames import Frame
from illume.data.schema import MISSING, Other
from illume.results.numbers import bound, plain


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
            text = f"{self.name} = {bound(self.low)}"
        elif math.isinf(self.low):
            text = f"{self.name} ≤ {bound(self.high)}"
        elif math.isinf(self.high):
            text = f"{self.name} ≥ {bound(self.low)}"
        else:
            text = f"{bound(self.low)} ≤ {self.name} ≤ {bound(self.high)}"
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
    return str(value) if value is Other.OTHER else plain(value)


def _number(value: float) -> str:
    """Return a number that reads back as the very same."""
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def _literal(value: Hashable) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float, np.number)):
        return _number(float(value))
    return "'" + str(value).replace("'", "''") + "'"
