"""Columns put together from two frames, value by value."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from illume._typing import IntArray

Series = nw.Series[Any]


def stacked(mine: Series, other: Series) -> Series:
    """Put one series under another, in the other's type wherever it can be had."""
    mine, other = (nw.maybe_reset_index(series) for series in (mine, other))
    return nw.concat([other.to_frame(), _like(mine, other).alias(other.name).to_frame()])[:, 0]


def taken(both: Series, n_other: int, row: IntArray, source: IntArray) -> Series:
    """Take rows of the lower of two stacked series, or of the upper one where `source` is >= 0."""
    # Rows keep no index: columns of one frame are put together by position.
    return nw.maybe_reset_index(both[np.where(source >= 0, source, n_other + row)])


def _like(series: Series, pattern: Series) -> Series:
    """Return a series in another's type; as it is, where it cannot be converted."""
    native, wanted = series.to_native(), pattern.to_native()
    if series.implementation.is_pandas_like():  # categories belong to the type
        if native.dtype == wanted.dtype:
            return series
        try:
            return nw.from_native(native.astype(wanted.dtype), series_only=True)
        except (TypeError, ValueError):
            return series
    return series if series.dtype == pattern.dtype else series.cast(pattern.dtype)
