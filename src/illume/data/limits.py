"""How much memory a file may take: sizes are added up, and refused, before anything is made of them."""

from __future__ import annotations

import os

from illume.errors import FormatError

VARIABLE = "ILLUME_MAX_BYTES"
DEFAULT = 2 * 2**30
VALUE, OBJECT, CHARACTER = 72, 240, 4  # most bytes of Python for a value, an object and a character of JSON


def most_bytes(given: float | None = None) -> float:
    """Return the limit: the one given, that of the environment, or 2 GiB.

    >>> most_bytes(1e9)
    1000000000.0
    """
    text = os.environ.get(VARIABLE)
    try:
        return float(given if given is not None else text or DEFAULT)
    except ValueError:
        raise ValueError(f"{VARIABLE} is {text!r}, expected a number of bytes such as 8e9") from None


def require_size(size: float, what: str, most: float) -> None:
    """Raise `FormatError` if something takes more bytes than are allowed.

    >>> require_size(3e9, "the table", 1e9)
    Traceback (most recent call last):
    illume.errors.FormatError: the table would take about 3.00 GB of memory, and the limit is 1.00 GB; ...
    """
    if size > most:
        raise FormatError(
            f"{what} would take about {_describe(size)} of memory, and the limit is {_describe(most)}; "
            f"if you trust the file, pass max_bytes= or set {VARIABLE}"
        )


class Budget:
    """What may still be used for one file."""

    def __init__(self, max_bytes: float | None = None) -> None:
        self.most = most_bytes(max_bytes)
        self.used = 0

    def spend(self, n_bytes: int, what: str) -> None:
        """Count some bytes before they are allocated; raise `FormatError` if all are more than the limit."""
        self.used += n_bytes
        require_size(self.used, what, self.most)

    def spend_json(self, content: bytes, what: str) -> None:
        """Count the Python values that a JSON text may become."""
        n_values = content.count(b",") + content.count(b"[")
        size = CHARACTER * len(content) + VALUE * n_values + OBJECT * content.count(b"{")
        self.spend(size, f"reading {what}")


def _describe(size: float) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 1e8 else f"{size / 1e6:.3g} MB"
