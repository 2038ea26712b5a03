"""What explaining so many rows costs in all, and from how many rows on one method costs less than another."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """Seconds over rows: a start, and straight lines through what was timed.

    Below the fewest rows that were timed, and where only one number was, seconds are in proportion to rows;
    beyond the most, the last line goes on. What a method does once for a whole call is in the lines.

    >>> cost = Cost(10.0, (1, 101), (2.0, 3.0))
    >>> cost(1), cost(51), cost(1101)
    (12.0, 12.5, 23.0)
    """

    start: float
    rows: tuple[float, ...]
    seconds: tuple[float, ...]

    def __call__(self, n: float) -> float:
        """Return the seconds of n rows."""
        below = max((i for i, rows in enumerate(self.rows) if rows <= n), default=-1)
        at, took = (self.rows[below], self.seconds[below]) if below >= 0 else (0.0, 0.0)
        return self.start + took + (n - at) * self.slope(n)

    def slope(self, n: float) -> float:
        """Return seconds a row at n rows."""
        i = sum(rows <= n for rows in self.rows)
        i = min(i, len(self.rows) - 1)
        before, took = (self.rows[i - 1], self.seconds[i - 1]) if i else (0.0, 0.0)
        return (self.seconds[i] - took) / (self.rows[i] - before)


def break_even(ours: Cost, theirs: Cost) -> float:
    """Return from how many rows on we cost less; infinite where that never comes.

    Fitting for 20 s and 1 ms a row against 0.101 s a row: 0.1 s a row is won, which pays after 200 rows. A
    peer that takes 1 s for every call, too, is beaten after 190.

    >>> us = Cost(20.0, (1,), (0.001,))
    >>> break_even(us, Cost(0.0, (1,), (0.101,))), break_even(us, Cost(0.0, (1, 101), (1.101, 11.201)))
    (200.0, 190.0)
    >>> break_even(us, Cost(0.0, (1,), (0.001,))), break_even(us, Cost(21.0, (1,), (0.1,)))
    (inf, 1.0)
    """

    def more(n: float) -> float:
        return ours(n) - theirs(n)

    knots = sorted({1.0, *map(float, ours.rows), *map(float, theirs.rows)})
    last = knots[-1]
    losing = ours.slope(last) - theirs.slope(last)
    if losing > 0 or (losing == 0 and more(last) > 0):
        return math.inf
    if more(last) > 0:
        return _whole(last + more(last) / -losing)
    for low, high in zip(knots[-2::-1], knots[:0:-1], strict=True):
        if more(low) > 0:
            return _whole(low + (high - low) * more(low) / (more(low) - more(high)))
    return 1.0


def _whole(n: float) -> float:
    return float(max(1, math.ceil(round(n, 6))))
