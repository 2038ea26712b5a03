"""Numbers as short text that a browser reads back at once."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np

EXACT_IN_SINGLE = 2**24


@dataclass(frozen=True)
class Packed:
    """A little-endian array as base64; `type` is NumPy's short name, numbers were divided by `unit`."""

    type: str
    text: str
    unit: float = 1.0


def pack(array: Any, dtype: str) -> Packed:
    """Pack numbers as they are.

    >>> pack([1, 2, 255], "u1")
    Packed(type='u1', text='AQL/', unit=1.0)
    """
    numbers = np.ascontiguousarray(array, dtype=np.dtype(f"<{dtype}"))
    return Packed(dtype, base64.b64encode(numbers.tobytes()).decode("ascii"))


def pack_rounded(array: Any) -> Packed:
    """Pack numbers in two bytes each: rounded to a 32,767th of the largest.

    >>> pack_rounded([0.5, -1.0]).unit * 32767
    1.0
    """
    numbers = np.asarray(array, dtype=np.float64)
    unit = float(np.abs(numbers).max(initial=0.0)) / 32767 or 1.0
    return Packed("i2", pack(np.round(numbers / unit), "i2").text, unit)


def pack_numbers(array: Any) -> Packed:
    """Pack numbers in the smallest type that keeps whole ones whole and others to 7 digits.

    >>> [pack_numbers(numbers).type for numbers in ([1, 100], [1, 300], [1, np.nan], [2**24 + 1, 0.5])]
    ['i1', 'i2', 'f4', 'f8']
    """
    numbers = np.asarray(array, dtype=np.float64)
    largest = float(np.abs(numbers).max(initial=0.0, where=np.isfinite(numbers)))
    if np.isfinite(numbers).all() and (numbers == np.round(numbers)).all():
        for dtype, limit in (("i1", 2**7), ("i2", 2**15), ("i4", 2**31)):
            if largest < limit:
                return pack(numbers, dtype)
    return pack(numbers, "f4" if largest < EXACT_IN_SINGLE else "f8")


def pack_codes(codes: Any, n_codes: int) -> Packed:
    """Pack positions in a list of `n_codes`.

    >>> pack_codes([0, 299], 300).type
    'u2'
    """
    return pack(codes, "u1" if n_codes <= 2**8 else "u2" if n_codes <= 2**16 else "u4")
