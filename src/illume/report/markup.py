"""HTML elements in which every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


class Markup(str):
    """Text that is HTML already; any other is escaped by `tag`."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: str) -> Markup:
    """Return an element; `class_` is the attribute class, and `aria_label` is aria-label.

    >>> tag("p", "a < b ", tag("b", "c"), class_="note")
    '<p class="note">a &lt; b <b>c</b></p>'
    """
    inside = "".join(text(child) for child in children)
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items()
    )
    return Markup(f"<{name}{given}>{inside}</{name}>")


def text(child: str) -> Markup:
    """Return a text escaped, unless it is markup.

    >>> text("<script>")
    '&lt;script&gt;'
    """
    return child if isinstance(child, Markup) else Markup(escape(child))


def joined(parts: Iterable[str]) -> Markup:
    """Return elements one after the other."""
    return Markup("".join(text(part) for part in parts))
