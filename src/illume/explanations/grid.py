"""The steps that refinement tries: none, and a thousandth to the whole way, evenly in logarithms."""

from __future__ import annotations

import numpy as np

from illume._typing import FloatArray, IntArray

SHIFT = 15  # leaves 8 bits of a float32's mantissa: cells narrower than the steps are apart
LEAST, MOST = 2.0**-11, 2.0  # cells between them; all steps but 0 are well inside


class Grid:
    """Steps in ascending order, from 0 to 1, neighbouring ones but the first two more than 1 % apart.

    >>> Grid(np.array([0.0, 0.1, 1.0])).at_least(np.array([0.0, 0.05, 0.1, 0.2, 3.0]))
    array([0. , 0.1, 0.1, 1. , inf])
    """

    def __init__(self, values: FloatArray) -> None:
        self.values, self.down = values, values[::-1].copy()
        self._or_none = np.append(values, np.inf)
        self._first = int(_cells(np.array([LEAST]))[0])
        cells = np.arange(self._first, int(_cells(np.array([MOST]))[0]) + 1, dtype=np.int32)
        lower = (cells << SHIFT).view(np.float32).astype(np.float64) * (1 - 1e-6)  # against rounding
        self._place = np.where(lower < LEAST, 0, np.searchsorted(values, lower))

    def __len__(self) -> int:
        return len(self.values)

    def at_least(self, t: FloatArray) -> FloatArray:
        """Return the least step that is no less than each number (0 or more); infinity where there is none.

        The upper bits of a number tell one of two steps, as a search would, only faster.
        """
        place = self._place.take(_cells(np.clip(t, LEAST, MOST)) - self._first)
        place += t > self._or_none.take(place)
        return self._or_none.take(place)


def _cells(t: FloatArray) -> IntArray:
    """Return the upper bits of numbers, which ascend as they do."""
    return t.astype(np.float32).view(np.int32) >> SHIFT
