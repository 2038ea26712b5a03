"""Single values of untyped columns: missing or not, numbers or labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.errors import SchemaError


class Storage(Enum):
    """How a column is stored, which is not yet what it means."""

    NUMBER = "numbers"
    BOOLEAN = "booleans"
    LABEL = "labels"


def is_missing(value: Any) -> bool:
    """Whether a single value is None or not a number.

    >>> is_missing(None), is_missing(float("nan")), is_missing("nan")
    (True, True, False)
    """
    try:
        return value is None or bool(value != value)  # noqa: PLR0124
    except TypeError:  # pandas.NA compares to nothing
        return True


def storage_of_values(values: Sequence[Hashable | None]) -> Storage:
    """Tell from Python values what an untyped column stores.

    >>> storage_of_values([1, 2.5, None]), storage_of_values(["a", 1])
    (<Storage.NUMBER: 'numbers'>, <Storage.LABEL: 'labels'>)
    """
    types = {type(value) for value in values if value is not None}
    if types and types <= {bool, np.bool_}:
        return Storage.BOOLEAN
    if all(issubclass(kind, (int, float, np.number)) for kind in types):
        return Storage.NUMBER
    return Storage.LABEL


def numbers_of_values(name: str, values: Sequence[Hashable | None]) -> FloatArray:
    """Turn an untyped column into numbers, missing ones into NaN."""
    try:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SchemaError(
            f"column {name!r} held numbers when the explainer was fitted and now holds text: {error}"
        ) from error
