"""JSON of answers and log lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticSerializationError, to_json


def to_text(content: Any) -> bytes:
    r"""Return JSON in which NaN and infinity are null, and halves of characters are escaped.

    >>> to_text({"a": [1.5, float("nan"), None], "b": "größer"}).decode()
    '{"a":[1.5,null,null],"b":"größer"}'
    >>> to_text(["a\ud800"]).decode()
    '["a\\\\ud800"]'
    """

    def plain(value: Any) -> Any:
        return getattr(value, "item", value.__str__)()

    try:
        return to_json(content, inf_nan_mode="null", fallback=plain)
    except PydanticSerializationError:
        return to_json(escape(content), inf_nan_mode="null", fallback=plain)


def escape(value: Any) -> Any:
    """Return JSON values with escapes for what is not Unicode."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {escape(name): escape(item) for name, item in value.items()}
    return [escape(item) for item in value] if isinstance(value, (list, tuple)) else value
