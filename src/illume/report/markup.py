"""HTML elements from text, which is always escaped."""

from __future__ import annotations

from html import escape


class Markup(str):
    """HTML; any other text is escaped by `tag`."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: str) -> Markup:
    """Return an element; `class_` is the attribute class, `aria_label` is aria-label.

    >>> tag("p", "a < b ", tag("b", "c"), class_="note")
    '<p class="note">a &lt; b <b>c</b></p>'
    """
    inside = "".join(child if isinstance(child, Markup) else escape(child) for child in children)
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items()
    )
    return Markup(f"<{name}{given}>{inside}</{name}>")
