"""Numbers and lists in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from illume.data.number_text import count as count


def percent(share: float) -> str:
    r"""Return a share in per cent; "100 %" and "0 %" only if it is exactly that.

    >>> percent(0.5), percent(0.9996), percent(1.0), percent(0.0004), percent(float("nan"))
    ('50\xa0%', '99.9\xa0%', '100\xa0%', 'below 0.1\xa0%', 'an unknown share')
    """
    if math.isnan(share):
        return "an unknown share"
    if 0 < share < 0.001:
        return "below 0.1\N{NO-BREAK SPACE}%"
    number = 100 * share
    if number < 10 or 99 <= number < 100:
        return f"{min(math.floor(10 * number + 0.5) / 10, 99.9):g}\N{NO-BREAK SPACE}%"
    return f"{number:.0f}\N{NO-BREAK SPACE}%"


def enumerate_names(names: Sequence[str]) -> str:
    """Join names with commas and "and".

    >>> enumerate_names(["a"]), enumerate_names(["a", "b"]), enumerate_names(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def quote(name: str) -> str:
    """Return a name in quotation marks."""
    return f"“{name}”"


def figure(number: float) -> str:
    """Return a measured figure with three decimals, or a dash if it is not known.

    >>> figure(0.98765), figure(float("nan"))
    ('0.988', '–')
    """
    return "–" if math.isnan(number) else f"{number:.3f}"
