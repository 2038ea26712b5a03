"""Statistics of a column collected batch by batch: range, whole numbers, categories, missing values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np

from illume.data.answers import is_missing
from illume.data.frames import as_frame
from illume.data.schema import Feature, Kind, categorical_feature, numeric_feature

MOST_VALUES = 100_000  # distinct labels that are counted; a column with more identifies its rows


class NumberStats:
    """The range of a numeric column."""

    def __init__(self, name: str) -> None:
        self.name, self.low, self.high = name, math.nan, math.nan
        self.whole = self.missing = False

    def add(self, table: Any, start: int) -> None:
        """Update from an Arrow table; `start` rows came before."""
        values = as_frame(table).numbers(self.name)
        self.missing |= bool(np.isnan(values).any())
        found = numeric_feature(self.name, values, start)
        if not math.isnan(found.low):
            self.whole = found.whole and (self.whole or math.isnan(self.low))
            # While nothing was found, low and high are NaN, and min and max return their first argument.
            self.low, self.high = min(found.low, self.low), max(found.high, self.high)

    def feature(self, sample: list[Hashable | None]) -> Feature:
        """Return the feature; the sample of values is not needed."""
        return Feature(self.name, Kind.NUMERIC, low=self.low, high=self.high, whole=self.whole)


class LabelStats:
    """How often each label of a column occurs, unless there are too many labels to count.

    `categories` are the values in the dictionaries of the column, used or not, in their order.
    """

    def __init__(self, name: str, kind: Kind) -> None:
        self.name, self.kind = name, kind
        self.counts: Counter[Hashable | None] = Counter()
        self.categories: dict[Hashable | None, None] = {}
        self.overflow = self.missing = False
        self._dictionary: Any = None

    def add(self, table: Any, start: int) -> None:
        """Update from an Arrow table."""
        column = table.column(self.name)
        self.missing |= column.null_count > 0
        if self.overflow:
            return
        for dictionary in (chunk.dictionary for chunk in column.chunks if hasattr(chunk, "dictionary")):
            if self._dictionary is None or not dictionary.equals(self._dictionary):
                self._dictionary = dictionary
                self.categories.update(dict.fromkeys(dictionary.to_pylist()))
        for pair in column.value_counts().to_pylist():
            value = None if is_missing(pair["values"]) else pair["values"]
            self.counts[value] += pair["counts"]
        if max(len(self.counts), len(self.categories)) > MOST_VALUES:
            self.overflow = True
            self.counts.clear()
            self.categories.clear()

    def feature(self, sample: list[Hashable | None]) -> Feature:
        """Return the feature; with too many labels, it has the most frequent ones of a sample of values."""
        if not self.overflow:
            return categorical_feature(self.name, self.kind, self.counts)
        counts = Counter(sample)
        counts[None] += self.missing
        return categorical_feature(self.name, self.kind, counts, f"more than {MOST_VALUES:,}")


Stats = NumberStats | LabelStats
