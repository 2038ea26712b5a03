"""Plain values and frozen dataclasses to JSON and back, by their types."""

# Not msgspec: it ignores unknown fields of dataclasses and knows neither NaN, pd.NA nor `Other`; hooks for
# these would take more lines than it saves.

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

SPECIAL_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
MAX_INTEGER = 2**53  # the largest that a float holds exactly


def dump(hint: Any, value: Any) -> Any:  # noqa: PLR0911
    """Return a value of type `hint` as JSON values; `object` stands for JSON values themselves.

    A class with `from_dict` has its own `to_dict`.
    """
    hint = _without_none(hint)
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Hashable or hint is Any:
        return dump_scalar(value)
    if hint is object or value is None or isinstance(value, Enum):
        return value.value if isinstance(value, Enum) else value
    if origin is tuple:
        return [dump(inner[0], each) for each in value]
    if origin is dict:
        return {str(name): dump(inner[1], each) for name, each in value.items()}
    if hasattr(hint, "from_dict"):
        return value.to_dict()
    if is_dataclass(hint):
        types: dict[str, Any] = field_types(hint)  # type: ignore[arg-type]
        return {name: dump(kind, getattr(value, name)) for name, kind in types.items()}
    return _dump_float(value.item() if isinstance(value, np.generic) else value)


def read(hint: Any, value: Any, where: str) -> Any:
    """Return the value of type `hint` that JSON values stand for; `where` names it in errors."""
    if type(None) in get_args(hint):
        return None if value is None else read(_without_none(hint), value, where)
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Hashable or hint is Any:
        return read_scalar(value, where)
    if origin is tuple:
        return tuple(read(inner[0], each, where) for each in expect(list, value, where))
    if origin is dict:
        return {name: read(inner[1], each, where) for name, each in expect(dict, value, where).items()}
    if hasattr(hint, "from_dict"):
        try:
            return hint.from_dict(expect(dict, value, where))
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{where}: {error!r}") from error
    return _read_dataclass(hint, value, where) if is_dataclass(hint) else _read_plain(hint, value, where)


def expect(kind: type, value: Any, where: str) -> Any:
    """Return a JSON value; raise `FormatError` unless it is of type `kind`."""
    if type(value) is not kind:
        raise FormatError(f"{where} is {_shorten(value)}, expected {kind.__name__}")
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise FormatError(f"{where} is {_shorten(value)}, which is too large")
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
        return {"float": _dump_float(value)}
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
    raise FormatError(f"{where} is {_shorten(value)}, which is no value of a column")


@cache
def field_types(kind: Any) -> dict[str, Any]:
    """Return the types of a dataclass's fields by name.

    Those of the dataclasses in it are resolved as well, which evaluates their annotations: reading a file
    later runs nothing.
    """
    hints = get_type_hints(kind)
    types = {field.name: hints[field.name] for field in fields(kind)}
    pending = list(types.values())
    while pending:
        hint = pending.pop()
        pending += get_args(hint)
        if isinstance(hint, type) and is_dataclass(hint):
            field_types(hint)
    return types


def _read_dataclass(hint: Any, value: Any, where: str) -> Any:
    types = field_types(hint)
    found = expect_fields(value, tuple(types), where)
    given = {
        name: read(kind, each, f"{where}.{name}")
        for (name, kind), each in zip(types.items(), found, strict=True)
    }
    try:
        return hint(**given)
    except (ValueError, TypeError) as error:
        raise FormatError(f"{where}: {error}") from error


def _read_plain(hint: Any, value: Any, where: str) -> Any:
    if hint is object:
        return value
    if issubclass(hint, Enum):
        for member in hint:
            if member.value == value:
                return member
        raise FormatError(f"{where} is {_shorten(value)}, expected one of {[each.value for each in hint]}")
    if hint is float and isinstance(value, str) and value in SPECIAL_FLOATS:
        return SPECIAL_FLOATS[value]
    if hint is float and type(value) is int and abs(value) <= MAX_INTEGER:
        return value
    return expect(hint, value, where)


def _dump_float(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def _without_none(hint: Any) -> Any:
    kinds = get_args(hint)
    return next(kind for kind in kinds if kind is not type(None)) if type(None) in kinds else hint


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
