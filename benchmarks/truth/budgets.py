"""How a number of asks a row is shared between sets of features and background rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

from benchmarks.truth.cells import LEAST


class TooFewAsksError(ValueError):
    """A method cannot do with so few asks a row."""


@dataclass(frozen=True)
class Shares:
    """Sets of features that are tried, each with so many background rows."""

    sets: int
    background: int


def shared(
    budget: str, least: int, most_background: int, *, step: int = 1, most_sets: int | None = None
) -> Shares:
    """Share a budget: as many background rows as sets, but never fewer sets than a method needs.

    Parameters
    ----------
    budget
        Asks a row, or "least".
    least
        The fewest sets of features that the method takes.
    most_background
        As many background rows there are.
    step
        Numbers of sets are multiples of this.
    most_sets
        As many sets there are; then more background rows are taken.

    Examples
    --------
    >>> shared("1024", 10, 500), shared("64", 42, 500), shared("least", 42, 500)
    (Shares(sets=32, background=32), Shares(sets=64, background=1), Shares(sets=42, background=1))
    """
    asks = least if budget == LEAST else int(budget)
    if asks < least:
        raise TooFewAsksError(f"needs at least {least} asks a row")
    most = most_sets or asks
    sets = min(most, max(least, isqrt(asks)))
    background = max(1, min(most_background, asks // sets))
    return Shares(min(most, max(least, asks // background // step * step)), background)
