"""Statistics of a column collected batch by batch: range, whole numbers, categories, missing values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.column_values import Storage, is_missing
from illume.data.frames import as_frame
from illume.data.schema import Feature, Kind, categorical_feature, counted, require_finite
from illume.errors import SchemaError

MOST_VALUES = 100_000  # different labels that are counted; a column with more only names its rows


class NumberStats:
    """The range of numbers that came by.

    >>> seen = NumberStats("age")
    >>> seen.numbers(np.array([3.0, np.nan]), 0)
    >>> seen.numbers(np.array([1.5]), 2)
    >>> seen.feature([]).low, seen.feature([]).high, seen.feature([]).whole, seen.missing
    (1.5, 3.0, False, True)
    """

    def __init__(self, name: str) -> None:
        self.name, self.low, self.high = name, math.inf, -math.inf
        self.whole, self.missing = True, False

    def add(self, table: Any, start: int) -> None:
        """Look at a column of an Arrow table; `start` rows came before."""
        self.numbers(as_frame(table).numbers(self.name), start)

    def numbers(self, values: FloatArray, start: int) -> None:
        """Look at numbers, NaN where one is missing."""
        gaps = np.isnan(values)
        there = values[~gaps] if gaps.any() else values
        self.missing |= len(there) < len(values)
        if not len(there):
            return
        low, high = float(there.min()), float(there.max())
        if math.isinf(low) or math.isinf(high):
            require_finite(self.name, values, start)
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.whole = self.whole and bool((there == np.round(there)).all())

    def feature(self, sample: list[Hashable | None]) -> Feature:
        """Return what the column is; no row of a sample is needed for that."""
        if self.low > self.high:
            return Feature(self.name, Kind.NUMERIC, low=math.nan, high=math.nan)
        return Feature(self.name, Kind.NUMERIC, low=self.low, high=self.high, whole=self.whole)


class LabelStats:
    """How often each label came by; of a column with very many, only a sample of its rows will tell."""

    def __init__(self, name: str, kind: Kind) -> None:
        self.name, self.kind = name, kind
        self.counts: Counter[Hashable | None] = Counter()
        self.overflow = self.missing = False

    def add(self, table: Any, start: int) -> None:
        """Look at a column of an Arrow table."""
        column = table.column(self.name)
        self.missing |= column.null_count > 0
        if self.overflow:
            return
        for pair in column.value_counts().to_pylist():
            value = None if is_missing(pair["values"]) else pair["values"]
            self.counts[value] += pair["counts"]
        if len(self.counts) > MOST_VALUES:
            self.overflow = True
            self.counts.clear()

    def feature(self, sample: list[Hashable | None]) -> Feature:
        """Return what the column is; of very many labels the most frequent ones of the sample are known."""
        if not self.overflow:
            return categorical_feature(self.name, self.kind, self.counts)
        counts = counted(self.name, sample)
        counts[None] += self.missing
        return categorical_feature(self.name, self.kind, counts, f"more than {MOST_VALUES:,}")


class Categories:
    """All values that the dictionaries of a column list, whether a row has them or not, in their order."""

    def __init__(self) -> None:
        self.values: dict[Hashable | None, None] = {}
        self.overflow = False
        self._last: Any = None

    def add(self, dictionary: Any) -> None:
        """Look at the dictionary of the next rows, which is mostly the last one again."""
        if self.overflow or (self._last is not None and dictionary.equals(self._last)):
            return
        self._last = dictionary
        self.values.update(dict.fromkeys(dictionary.to_pylist()))
        self.overflow = len(self.values) > MOST_VALUES


Seen = NumberStats | LabelStats


def stats_for(name: str, arrow_type: Any, *, is_code: bool = False) -> Seen:
    """Return what looks at a column of some Arrow type; `is_code` says that numbers are codes."""
    storage = storage_of(name, arrow_type)
    if storage is Storage.NUMBER and not is_code:
        return NumberStats(name)
    return LabelStats(name, Kind.BOOLEAN if storage is Storage.BOOLEAN else Kind.CATEGORICAL)


def storage_of(name: str, arrow_type: Any) -> Storage:
    """Return how a column of some Arrow type is stored; what is neither number nor label is refused."""
    from pyarrow import types

    if any(known(arrow_type) for known in (types.is_integer, types.is_floating, types.is_decimal)):
        return Storage.NUMBER
    if types.is_boolean(arrow_type):
        return Storage.BOOLEAN
    texts = (types.is_string, types.is_large_string, types.is_dictionary)
    if any(known(arrow_type) for known in texts) or str(arrow_type) == "string_view":
        return Storage.LABEL
    if types.is_null(arrow_type):
        return Storage.NUMBER
    raise SchemaError(
        f"column {name!r} holds {arrow_type}, which is neither a number nor a category; "
        f"convert it (for instance to days since a date) or drop it"
    )
