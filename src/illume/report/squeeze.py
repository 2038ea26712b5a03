"""Numbers in few characters: bytes of equal place side by side, compressed, in base 85."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from illume.data.rounded_weights import common_unit
from illume.report.payload import Json

# What would be escaped in a page stands for something else than usual.
TO_PAGE = bytes.maketrans(b"&<>", b",.:")


def squeeze(array: Any, dtype: str = "f4") -> Json:
    """Squeeze numbers as a type of a browser's arrays, exactly.

    >>> len(squeeze([0.5] * 100)["text"]) < 40
    True
    """
    return {
        "type": dtype,
        "squeezed": True,
        "unit": None,
        "text": _text(np.asarray(array, dtype=f"<{dtype}")),
    }


def squeeze_codes(array: Any) -> Json:
    """Squeeze whole numbers from 0 on, in the smallest type that holds the largest.

    >>> squeeze_codes([0, 300])["type"]
    'u2'
    """
    largest = int(np.max(array, initial=0))
    return squeeze(array, np.min_scalar_type(largest).str[1:])


def squeeze_numbers(array: Any) -> Json:
    """Squeeze numbers in single precision where that holds each exactly, else in double.

    >>> squeeze_numbers([0.5, np.nan])["type"], squeeze_numbers([0.1])["type"]
    ('f4', 'f8')
    """
    numbers = np.asarray(array, dtype=np.float64)
    with np.errstate(over="ignore"):
        single = numbers.astype(np.float32)
    return squeeze(numbers, "f4" if np.array_equal(single, numbers, equal_nan=True) else "f8")


def squeeze_rounded(array: Any, bits: int) -> Json:
    """Squeeze numbers as multiples of a unit: their own, if they were rounded in fit, which is exact.

    Otherwise they are rounded to their root mean square divided by 2 to the power of `bits`. The multiples
    are whole numbers, written as 0, -1, 1, -2, … so that small ones have empty high bytes.

    >>> squeeze_rounded([3.0, -4.0], 3)["unit"], round(squeeze_rounded([0.1, -0.3], 3)["unit"], 6)
    (1.0, 0.027951)
    """
    numbers = np.asarray(array, dtype=np.float64)
    unit = common_unit(array)
    if np.abs(numbers).max(initial=0.0) >= unit * 2.0**bits:
        unit = float(np.sqrt(np.mean(np.square(numbers)))) * 2.0**-bits
    whole = np.round(numbers / unit).astype(np.int64) if unit > 0 else np.zeros(numbers.shape, dtype=np.int64)
    if whole.size and np.abs(whole).max() >= 2**30:  # a few weights outweigh all others
        return squeeze(array)
    folded = np.where(whole < 0, -2 * whole - 1, 2 * whole).astype("<u4")
    return {"type": "u4", "squeezed": True, "unit": unit, "text": _text(folded)}


def squeeze_text(text: str) -> str:
    """Squeeze a text; nothing in it needs to be escaped in a page."""
    return _characters(text.encode())


def _text(numbers: Any) -> str:
    return _characters(np.ascontiguousarray(numbers).reshape(-1, 1).view(np.uint8).T.tobytes())


def _characters(content: bytes) -> str:
    return base64.b85encode(zlib.compress(content, 9)).translate(TO_PAGE).decode("ascii")
