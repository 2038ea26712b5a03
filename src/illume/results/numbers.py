"""Numbers and values as short text and as plain Python values."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume.data.schema import MISSING
from illume.data.values import is_missing


def short(raw: Any) -> str:
    """Return a value of the user's data as short text.

    >>> short(3.14159), short(7.0), short(None), short("high"), short(True), short(41234.0)
    ('3.142', '7', '(missing)', 'high', 'True', '41234')
    """
    if is_missing(raw):
        return MISSING
    if isinstance(raw, (float, np.floating, int, np.integer)) and not isinstance(raw, (bool, np.bool_)):
        number = float(raw)
        return f"{int(number)}" if abs(number) < 1e15 and number == int(number) else f"{number:.4g}"
    return str(raw)


def plain(value: Any) -> Any:
    """Return what JSON knows: a missing value is None, a NumPy number a Python one."""
    if is_missing(value):
        return None
    return value.item() if isinstance(value, np.generic) else value
