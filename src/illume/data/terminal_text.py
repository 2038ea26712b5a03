"""Text of a stranger's file as a terminal may show it, and text that cannot be written at all."""

from __future__ import annotations

import re

from illume.errors import SchemaError

# Controls but tab and line feed, directions of text, separators that break lines, halves of characters
CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def printable(text: str) -> str:
    r"""Return text in which control characters, which a terminal would obey, are shown as codes.

    >>> print(printable("a " + chr(27) + "[31mred name"))
    a \x1b[31mred name
    """
    return CONTROLS.sub(lambda found: ascii(found.group())[1:-1], text)


def require_text(what: str, *values: object) -> None:
    """Raise `SchemaError` if a name or a category holds half of a character, which no file can hold."""
    for value in values:
        if isinstance(value, str) and not value.isascii():
            try:
                value.encode("utf-8")
            except UnicodeEncodeError:
                raise SchemaError(
                    f"{what} {value!a} holds half of a character (a lone surrogate), which can be neither "
                    f"written nor shown; replace it"
                ) from None
