"""Weights of networks, rounded so that they take few bytes in a page."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume._typing import FloatArray

BITS = 8  # moves contributions by some ten-thousandths of their size, far less than their errors


def round_weights(array: Any, bits: int = BITS) -> FloatArray:
    """Round numbers to multiples of a power of two, about their root mean square divided by 2 to `bits`.

    Whoever computes with the multiples, in whatever language, computes with the same weights.

    >>> round_weights(np.array([1.001, -0.5, 0.01]), bits=4).tolist()
    [1.0, -0.5, 0.0]
    """
    numbers = np.asarray(array, dtype=np.float32)
    size = float(np.sqrt(np.mean(np.square(numbers, dtype=np.float64)))) if numbers.size else 0.0
    if not (np.isfinite(size) and size > 0):
        return numbers
    unit = 2.0 ** (round(np.log2(size)) - bits)
    return (np.round(numbers / unit) * unit).astype(np.float32)


def common_unit(array: Any) -> float:
    """Return the largest power of two that all numbers of single precision are multiples of; 0 if all are 0.

    >>> common_unit([0.75, -2.0, 0.0]), common_unit([0.0])
    (0.25, 0.0)
    """
    numbers = np.asarray(array, dtype=np.float32)
    numbers = numbers[numbers != 0]
    if not (numbers.size and np.isfinite(numbers).all()):
        return 0.0
    mantissa, exponent = np.frexp(numbers)
    whole = (mantissa * 2.0**24).astype(np.int64)
    return float(np.ldexp((whole & -whole).astype(np.float64), exponent - 24).min())
