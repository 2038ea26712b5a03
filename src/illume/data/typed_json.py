"""Single values to JSON and back: of columns, and numbers that JSON does not have."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

import numpy as np

from illume.data.schema import Other
from illume.errors import FormatError, SaveError

SPECIAL_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
MAX_INTEGER = 2**53  # the largest that a float holds exactly


def expect(kind: type, value: Any, where: str) -> Any:
    """Return a JSON value; raise `FormatError` unless it is of type `kind`."""
    if type(value) is not kind:
        raise FormatError(f"{where} is {shorten(value)}, expected {kind.__name__}")
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise FormatError(f"{where} is {shorten(value)}, which is too large")
    return value


def expect_fields(value: Any, names: tuple[str, ...], where: str) -> tuple[Any, ...]:
    """Return the values of a JSON object in the order of `names`; it must have exactly these."""
    found = expect(dict, value, where)
    if set(found) != set(names):
        raise FormatError(f"{where} holds {sorted(found)}, expected {sorted(names)}")
    return tuple(found[name] for name in names)


def dump_scalar(value: Any) -> Any:
    """Return a value of a column, or the name of a class, as a JSON value.

    >>> dump_scalar("a"), dump_scalar(float("nan")), dump_scalar(b"a")
    ('a', {'float': 'nan'}, {'bytes': '61'})
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is Other.OTHER:
        return {"other": True}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": dump_float(value)}
    if type(value).__name__ == "NAType":
        return {"missing": "NA"}
    if isinstance(value, Enum) or not (value is None or isinstance(value, (bool, int, float, str))):
        raise SaveError(
            f"a value {value!r} of type {type(value).__name__} cannot be saved; a file holds text, numbers, "
            f"booleans and missing values"
        )
    return value


def read_scalar(value: Any, where: str) -> Any:
    """Return the value of a column that a JSON value stands for."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    match value:
        case {"other": True, **rest} if not rest:
            return Other.OTHER
        case {"float": "nan" | "inf" | "-inf" as name, **rest} if not rest:
            return SPECIAL_FLOATS[name]
        case {"bytes": str(text), **rest} if not rest:
            try:
                return bytes.fromhex(text)
            except ValueError as error:
                raise FormatError(f"{where}: {error}") from error
        case {"missing": "NA", **rest} if not rest:
            import pandas as pd

            return pd.NA
    raise FormatError(f"{where} is {shorten(value)}, which is no value of a column")


def dump_float(value: Any) -> Any:
    """Return a number as JSON, which has neither infinity nor NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def shorten(value: Any) -> str:
    """Return the beginning of a value's text, for errors."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
