"""Statistics of a column collected batch by batch: range, whole numbers, categories, missing values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np

from illume.data.column_values import is_missing
from illume.data.frames import as_frame
from illume.data.schema import Feature, Kind, categorical_feature, count_values, numeric_feature
from illume.errors import SchemaError

MOST_VALUES = 100_000  # distinct labels that are counted; a column with more identifies its rows


class NumberStats:
    """The range of a numeric column."""

    def __init__(self, name: str) -> None:
        self.name, self.low, self.high = name, math.inf, -math.inf
        self.whole, self.missing = True, False

    def add(self, table: Any, start: int) -> None:
        """Update from an Arrow table; `start` rows came before."""
        values = as_frame(table).numbers(self.name)
        self.missing |= bool(np.isnan(values).any())
        found = numeric_feature(self.name, values, start)
        if not math.isnan(found.low):
            self.low, self.high = min(self.low, found.low), max(self.high, found.high)
            self.whole &= found.whole

    def feature(self, sample: list[Hashable | None]) -> Feature:
        """Return the feature; the sample of values is not needed."""
        if self.low > self.high:
            return Feature(self.name, Kind.NUMERIC, low=math.nan, high=math.nan)
        return Feature(self.name, Kind.NUMERIC, low=self.low, high=self.high, whole=self.whole)


class LabelStats:
    """How often each label of a column occurs, unless there are too many labels to count."""

    def __init__(self, name: str, kind: Kind) -> None:
        self.name, self.kind = name, kind
        self.counts: Counter[Hashable | None] = Counter()
        self.overflow = self.missing = False

    def add(self, table: Any, start: int) -> None:
        """Update from an Arrow table."""
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
        """Return the feature; with too many labels, it has the most frequent ones of a sample of values."""
        if not self.overflow:
            return categorical_feature(self.name, self.kind, self.counts)
        counts = count_values(self.name, sample)
        counts[None] += self.missing
        return categorical_feature(self.name, self.kind, counts, f"more than {MOST_VALUES:,}")


class Categories:
    """All values in the dictionaries of a column, used or not, in their order."""

    def __init__(self) -> None:
        self.values: dict[Hashable | None, None] = {}
        self.overflow = False
        self._last: Any = None

    def add(self, dictionary: Any) -> None:
        """Update from the dictionary of the next rows, which usually is the last one again."""
        if self.overflow or (self._last is not None and dictionary.equals(self._last)):
            return
        self._last = dictionary
        self.values.update(dict.fromkeys(dictionary.to_pylist()))
        self.overflow = len(self.values) > MOST_VALUES


Stats = NumberStats | LabelStats


def stats_for(name: str, arrow_type: Any, *, is_code: bool = False) -> Stats:
    """Return empty statistics for a column of an Arrow type; `is_code` says that its numbers are codes."""
    from pyarrow import types

    numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    text = (types.is_string, types.is_large_string, types.is_dictionary)
    if any(is_type(arrow_type) for is_type in numeric):
        return LabelStats(name, Kind.CATEGORICAL) if is_code else NumberStats(name)
    if types.is_boolean(arrow_type):
        return LabelStats(name, Kind.BOOLEAN)
    if any(is_type(arrow_type) for is_type in text) or str(arrow_type) == "string_view":
        return LabelStats(name, Kind.CATEGORICAL)
    raise SchemaError(
        f"column {name!r} holds {arrow_type}, which is neither a number nor a category; "
        f"convert it (for instance to days since a date) or drop it"
    )
