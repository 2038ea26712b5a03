"""Numbers as text: with their noun, or with their sign."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if needed.

    >>> count(1, "row"), count(10000, "row"), count(2, "class"), count(2, "query"), count(2, "leaf")
    ('1 row', '10,000 rows', '2 classes', '2 queries', '2 leaves')
    """
    plural = noun + ("es" if noun.endswith("s") else "s")
    for end, several in (("y", "ies"), ("f", "ves")):
        plural = noun[:-1] + several if noun.endswith(end) else plural
    return f"{number:,} {noun if number == 1 else plural}"


def signed(number: float, decimals: int = 3) -> str:
    """Return a number with its sign; what is rounded to zero has none.

    >>> signed(0.1234), signed(-1234.5, 1), signed(-0.0001), signed(0.0)
    ('+0.123', '-1,234.5', '0.000', '0.000')
    """
    text = f"{number:+,.{decimals}f}"
    return text if text.strip("+-0.") else text[1:]
