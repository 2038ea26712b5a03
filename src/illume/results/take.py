"""Taking rows of a batch, the same way for every kind of result."""

from __future__ import annotations

from typing import Any

import numpy as np


def positions(rows: Any, n: int) -> tuple[Any, bool]:
    """Return what to index arrays of n rows with, and whether one single row was asked for.

    >>> positions(-1, 3)
    (slice(2, 3, None), True)
    """
    if isinstance(rows, (str, tuple)):
        raise TypeError(f"rows are taken by position, not by {rows!r}; for a feature use to_frame()")
    if isinstance(rows, (int, np.integer)):
        if not -n <= rows < n:
            raise IndexError(f"there are {n} rows, found {rows}")
        position = range(n)[int(rows)]
        return slice(position, position + 1), True
    if isinstance(rows, slice):
        return rows, False
    return np.asarray(rows if len(rows) else np.empty(0, dtype=np.intp)), False
