"""Columns put together from two frames, value by value."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from illume._typing import IntArray

Series = nw.Series[Any]


def mixed_series(mine: Series, other: Series, row: IntArray, source: IntArray) -> Series:
    """Take values of one series, or of the other where `source` is >= 0."""
    mine, other = (nw.maybe_reset_index(series) for series in (mine, other))
    both = nw.concat([other.to_frame(), _like(mine, other).alias(other.name).to_frame()])
    # Rows keep no index: columns of one frame are put together by position.
    return nw.maybe_reset_index(both[:, 0][np.where(source >= 0, source, len(other) + row)])


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
