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


def bound(number: float) -> str:
    """Return a bound as text that is the bound: short where that is exact, else with enough digits.

    >>> bound(100049.55000000002), bound(3.0), bound(31.4), bound(1 / 3), bound(1e6 / 7)
    ('100049.55', '3', '31.4', '0.333333', '142857.14')
    """
    if abs(number) < 1e15 and number == int(number):
        return f"{int(number)}"
    for digits in range(3, 11):
        text = f"{number:.{digits}g}"
        if abs(float(text) - number) <= 1e-12 * abs(number):
            return text if "e+" not in text else f"{float(text):f}".rstrip("0").rstrip(".")
    return f"{number:.6g}" if abs(number) < 1e5 else f"{number:.2f}"


def plain(value: Any) -> Any:
    """Return what JSON knows: a missing value is None, a NumPy number a Python one."""
    if is_missing(value):
        return None
    return value.item() if isinstance(value, np.generic) else value
