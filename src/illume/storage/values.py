"""Plain values and frozen dataclasses to JSON and back, by their types; nothing else comes out of a file."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from illume.data.schema import Other
from illume.errors import FormatError, SaveError

ODD_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
LONGEST = 2**53  # a whole number that a float holds


def dump(hint: Any, value: Any) -> Any:
    """Return a value of some type as JSON values."""
    kind: Hashable = hint
    if hint is Hashable or hint is Any:
        return scalar(value)
    if is_dataclass(hint):
        hints = _hints(kind)
        return {field.name: dump(hints[field.name], getattr(value, field.name)) for field in fields(hint)}
    if get_origin(hint) is not None:
        return None if value is None else _dump_many(hint, value)
    if isinstance(value, Enum):
        return value.value
    return _number(value.item() if isinstance(value, np.generic) else value)


def read(hint: Any, value: Any, where: str) -> Any:
    """Return the value of some type that JSON values stand for; `where` is for the error."""
    if hint is Hashable or hint is Any:
        return read_scalar(value, where)
    if is_dataclass(hint):
        return _read_dataclass(hint, value, where)
    if get_origin(hint) is not None:
        return _read_many(hint, value, where)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _read_enum(hint, value, where)
    return _read_plain(hint, value, where)


def _dump_many(hint: Any, value: Any) -> Any:
    """Return a value of a union with None, a tuple or a dictionary as JSON values."""
    if get_origin(hint) is tuple:
        return [dump(get_args(hint)[0], each) for each in value]
    if get_origin(hint) is dict:
        return {str(name): dump(get_args(hint)[1], each) for name, each in value.items()}
    return dump(_not_none(hint), value)


def _read_many(hint: Any, value: Any, where: str) -> Any:
    if get_origin(hint) is tuple:
        return tuple(read(get_args(hint)[0], each, where) for each in of_type(list, value, where))
    if get_origin(hint) is dict:
        items = of_type(dict, value, where).items()
        return {name: read(get_args(hint)[1], each, where) for name, each in items}
    return None if value is None else read(_not_none(hint), value, where)


def of_type(kind: type, value: Any, where: str) -> Any:
    """Return a JSON value that must be of some type."""
    if type(value) is not kind:
        raise FormatError(f"{where} is {_shown(value)}, expected {kind.__name__}")
    if isinstance(value, int) and abs(value) > LONGEST:
        raise FormatError(f"{where} is {_shown(value)}, which is too large")
    return value


def items_of(value: Any, names: tuple[str, ...], where: str) -> tuple[Any, ...]:
    """Return what stands under exactly these names, in their order."""
    found = of_type(dict, value, where)
    if set(found) != set(names):
        raise FormatError(f"{where} holds {sorted(found)}, expected {sorted(names)}")
    return tuple(found[name] for name in names)


def scalar(value: Any) -> Any:
    """Return a single value of a column, or the name of a class, as a JSON value.

    >>> scalar("a"), scalar(float("nan")), scalar(b"a")
    ('a', {'float': 'nan'}, {'bytes': '61'})
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is Other.OTHER:
        return {"other": True}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": _number(value)}
    if type(value).__name__ == "NAType":
        return {"missing": "NA"}
    if isinstance(value, Enum) or not (value is None or isinstance(value, (bool, int, float, str))):
        raise SaveError(
            f"a value {value!r} of type {type(value).__name__} cannot be saved; a file holds text, numbers, "
            f"booleans and missing values"
        )
    return value


def read_scalar(value: Any, where: str) -> Any:
    """Return the single value that a JSON value stands for."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict) and len(value) == 1:
        ((kind, inner),) = value.items()
        if kind == "other" and inner is True:
            return Other.OTHER
        if kind == "float" and inner in ODD_FLOATS:
            return ODD_FLOATS[inner]
        if kind == "bytes" and isinstance(inner, str):
            return _from_hex(inner, where)
        if kind == "missing" and inner == "NA":
            return _pandas_na()
    raise FormatError(f"{where} is {_shown(value)}, which is no value of a column")


def _read_dataclass(hint: Any, value: Any, where: str) -> Any:
    hints = _hints(hint)
    names = tuple(field.name for field in fields(hint))
    found = items_of(value, names, where)
    given = {
        name: read(hints[name], each, f"{where}.{name}") for name, each in zip(names, found, strict=True)
    }
    try:
        return hint(**given)
    except (ValueError, TypeError) as error:
        raise FormatError(f"{where}: {error}") from error


def _read_enum(hint: type[Enum], value: Any, where: str) -> Enum:
    for member in hint:
        if member.value == value:
            return member
    raise FormatError(f"{where} is {_shown(value)}, expected one of {[member.value for member in hint]}")


def _read_plain(hint: Any, value: Any, where: str) -> Any:
    if hint is float:
        if isinstance(value, str) and value in ODD_FLOATS:
            return ODD_FLOATS[value]
        if type(value) is int and abs(value) <= LONGEST:
            return value
    return of_type(hint, value, where)


@cache
def _hints(kind: Hashable) -> dict[str, Any]:
    return get_type_hints(kind)


def _number(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def _not_none(hint: Any) -> Any:
    (kind,) = (arg for arg in get_args(hint) if arg is not type(None))
    return kind


def _from_hex(text: str, where: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise FormatError(f"{where}: {error}") from error


def _pandas_na() -> Any:
    import pandas as pd

    return pd.NA


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
