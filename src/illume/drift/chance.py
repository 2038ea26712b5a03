"""Whether so many rows can be so by chance."""

from __future__ import annotations

LEVEL = 0.01


def tail(count: int, n: int, share: float) -> float:
    """Return how probable it is that `count` or more of n rows are so, if each is with probability `share`.

    >>> round(tail(2, 2, 0.1), 4), tail(0, 5, 0.1)
    (0.01, 1.0)
    """
    from scipy.stats import binom  # type: ignore[import-untyped]

    return float(binom.sf(count - 1, n, share)) if count > 0 else 1.0


def more_than_chance(count: int, n: int, share: float, n_tried: int) -> bool:
    """Whether that is too improbable, when so many features are looked at.

    >>> more_than_chance(5, 100, 0.01, 1), more_than_chance(5, 100, 0.01, 30)
    (True, False)
    """
    return tail(count, n, share) < LEVEL / max(n_tried, 1)
