"""Frozen dataclasses to JSON and named arrays and back, by the types of their fields.

Numbers, texts, tuples, dictionaries and other dataclasses become JSON values; an array becomes its name among
the arrays. Nothing that a file names is imported or called, other than the kinds of values listed here.
"""

# Not msgspec: it ignores unknown fields of dataclasses and knows neither NaN, pd.NA nor `Other`; hooks for
# these would take more lines than it saves.

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator

from illume.data.frames import Frame
from illume.data.outputs import Outputs
from illume.data.scales import LogOdds, NumberScale, Scale, Shares
from illume.data.schema import Schema
from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.data.stored_frames import dump_frame, read_frame
from illume.data.typed_json import (
    MAX_INTEGER,
    SPECIAL_FLOATS,
    dump_float,
    dump_scalar,
    expect,
    read_scalar,
    shorten,
)
from illume.encoders.base import IdentityEncoder
from illume.encoders.estimators import LinearEncoder, MetaEncoder
from illume.encoders.options import Objective, PairObjective, Training
from illume.errors import FormatError
from illume.explanations.options import OPTION_TYPES

Kinds = Mapping[str, type[Any]]
Check = Callable[[Any, "Reader"], None]

UNIONS = (Union, UnionType)
MAX_TEXT = 2_000
# Kinds of settings, of whose types nothing is known, beside plain values, lists and tuples
SETTINGS: Kinds = {
    kind.__name__: kind
    for kind in (
        *(Objective, PairObjective, Training, Schema, *OPTION_TYPES.values()),
        *(MetaEncoder, LinearEncoder, IdentityEncoder),
    )
}
PROTOCOLS: dict[Any, tuple[type[Any], ...]] = {Scale: (LogOdds, Shares, NumberScale)}
SHARED = (Schema, Outputs)  # written once, where they come first; later fields of these types are the same


@dataclass(frozen=True)
class Described:
    """A setting that a file cannot hold, such as an estimator: only its description."""

    text: str

    def __repr__(self) -> str:
        return self.text


def require_complete(settings: Mapping[str, Any]) -> None:
    """Raise unless all settings can be fitted with: a file keeps only descriptions of some."""
    for name, value in settings.items():
        if type(value) in OPTION_TYPES.values():
            require_complete(vars(value))
        if isinstance(value, Described):
            raise ValueError(
                f"{name} was {value.text:.100}, which a file does not hold; set it again before fitting"
            )


class Writer:
    """Turns values into JSON values; arrays and frames of numbers go to `arrays`."""

    def __init__(self) -> None:
        self.arrays = ArrayWriter()
        self.shared: dict[Any, Any] = {}

    def dump(self, hint: Any, value: Any, where: str) -> Any:  # noqa: C901, PLR0911 -- one line a type
        """Return a value of type `hint` as JSON values; `where` is the first part of names of arrays."""
        hint, inner = _without_none(hint), get_args(_without_none(hint))
        if hint is Hashable:
            return dump_scalar(value)
        if value is None or isinstance(value, Enum):
            return None if value is None else value.value
        if kinds := _alternatives(hint):
            return {type(value).__name__: self._dump_record(kinds[type(value).__name__], value, where)}
        if hint is Any or get_origin(hint) in UNIONS:
            return self._dump_setting(value, where)
        if hint is Frame:
            return dump_frame(value, self.arrays, where)
        if get_origin(hint) is np.ndarray:
            self.arrays.add(where, value)
            return where
        if get_origin(hint) is tuple:
            return [self.dump(h, each, f"{where}.{i}") for i, (h, each) in enumerate(_pairs(inner, value))]
        if get_origin(hint) is dict:
            return {name: self.dump(inner[1], each, f"{where}.{name}") for name, each in value.items()}
        if hasattr(hint, "from_dict"):
            return value.to_dict()
        if _is_record(hint):
            return self._dump_record(hint, value, where)
        return dump_float(value.item() if isinstance(value, np.generic) else value)

    def _dump_record(self, kind: Any, value: Any, where: str) -> dict[str, Any]:
        found = {}
        for name, hint in field_types(kind).items():
            mine = getattr(value, name)
            if hint in self.shared and mine == self.shared[hint]:
                continue
            if hint in SHARED:
                self.shared.setdefault(hint, mine)
            found[name] = self.dump(hint, mine, _join(where, name))
        return found

    def _dump_setting(self, value: Any, where: str) -> Any:
        """Return a value whose type is not known beforehand; of one that a file cannot hold, its text."""
        if value is None or isinstance(value, (bool, int, float, str, np.generic)):
            return dump_scalar(value)
        if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim == 1):
            listed = [self._dump_setting(each, where) for each in value]
            return {"tuple": listed} if isinstance(value, tuple) else listed
        name = type(value).__name__
        if SETTINGS.get(name) is type(value):
            return {name: self._dump_record(type(value), value, where)}
        return {"text": repr(value)[:MAX_TEXT]}


class Reader:
    """Makes values of JSON values and arrays.

    `check` raises ValueError if the fields of a value have the right types, and yet cannot be its fields;
    `may_be_nan` says which arrays may hold NaN.
    """

    def __init__(self, arrays: ArrayReader, check: Check, may_be_nan: Mapping[Any, tuple[str, ...]]) -> None:
        self.arrays, self.check, self.may_be_nan = arrays, check, may_be_nan
        self.budget = arrays.budget
        self.shared: dict[Any, Any] = {}

    @property
    def schema(self) -> Schema:
        """The features, which come first in a file."""
        return self.shared[Schema]

    @property
    def outputs(self) -> Outputs:
        """What the model answers, which comes next."""
        return self.shared[Outputs]

    def read(self, hint: Any, value: Any, where: str, nan: bool = False) -> Any:  # noqa: C901, PLR0911
        """Return the value of type `hint` that JSON values stand for; `where` names it in errors."""
        if value is None and NoneType in get_args(hint):
            return None
        hint, inner = _without_none(hint), get_args(_without_none(hint))
        origin = get_origin(hint)
        if hint is Hashable:
            return read_scalar(value, where)
        if kinds := _alternatives(hint):
            return self._read_one_of(kinds, value, where)
        if hint is Any or origin in UNIONS:
            return self._read_setting(value, where)
        if hint is Frame:
            return read_frame(value, self.arrays, None, where)
        if origin is np.ndarray:
            dtype = get_args(inner[1])[0]
            return self.arrays.take(expect(str, value, where), get_origin(dtype) or dtype, nan=nan)
        if origin is tuple:
            pairs = _pairs(inner, expect(list, value, where))
            return tuple(self.read(h, each, f"{where}.{i}") for i, (h, each) in enumerate(pairs))
        if origin is dict:
            found = expect(dict, value, where)
            return {name: self.read(inner[1], each, f"{where}.{name}") for name, each in found.items()}
        if hasattr(hint, "from_dict"):
            return _try(hint.from_dict, where, expect(dict, value, where))
        return self._read_record(hint, value, where) if _is_record(hint) else _read_plain(hint, value, where)

    def _read_record(self, kind: Any, value: Any, where: str) -> Any:
        types, found = field_types(kind), expect(dict, value, where)
        nan = self.may_be_nan.get(kind, ())
        given = {name: self.shared[h] for name, h in types.items() if h in self.shared and name not in found}
        wanted = sorted(set(types) - set(given))
        if sorted(found) != wanted:
            raise FormatError(f"{where or 'manifest'} holds {sorted(found)}, expected {wanted}")
        for name, hint in types.items():
            if name in found:
                given[name] = self.read(hint, found[name], _join(where, name), name in nan)
                if hint in SHARED:
                    self.shared.setdefault(hint, given[name])
        made = _try(kind, where, **given)
        _try(self.check, where, made, self)
        return made

    def _read_setting(self, value: Any, where: str) -> Any:
        if isinstance(value, list):
            return [self._read_setting(each, where) for each in value]
        match value:
            case {"tuple": list(listed), **rest} if not rest:
                return tuple(self._read_setting(each, where) for each in listed)
            case {"text": str(text), **rest} if not rest:
                return Described(text)
            case dict() if set(value) != {"float"}:
                return self._read_one_of(SETTINGS, value, where)
        return read_scalar(value, where)

    def _read_one_of(self, kinds: Kinds, value: Any, where: str) -> Any:
        """Return a record whose kind the file names."""
        name = str(next(iter(expect(dict, value, where)), None))
        if len(value) != 1 or name not in kinds:
            raise FormatError(
                f"{where} is of kind {name!r}, which is not known; expected one of {list(kinds)}"
            )
        return self._read_record(kinds[name], value[name], where)


@cache
def field_types(kind: Any) -> dict[str, Any]:
    """Return the types of a record's fields by name; options and parameters of estimators may be anything.

    Those of the records in it are resolved as well, which evaluates their annotations: reading a file later
    runs nothing.
    """
    if kind in SETTINGS.values() and (kind in OPTION_TYPES.values() or issubclass(kind, BaseEstimator)):
        default: Any = kind()
        return dict.fromkeys(vars(default) if is_dataclass(kind) else default.get_params(deep=False), Any)
    hints = get_type_hints(kind)
    names = kind._fields if issubclass(kind, tuple) else [field.name for field in fields(kind)]
    types = {name: hints[name] for name in names}
    pending = list(types.values())
    while pending:
        hint = pending.pop()
        pending += [*get_args(hint), *PROTOCOLS.get(hint, ())] if isinstance(hint, Hashable) else []
        if isinstance(hint, type) and _is_record(hint):
            field_types(hint)
    return types


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _is_record(hint: Any) -> bool:
    if not isinstance(hint, type):
        return False
    return is_dataclass(hint) or hasattr(hint, "_fields") or issubclass(hint, BaseEstimator)


@cache
def _alternatives(hint: Any) -> Kinds:
    """Return the kinds of records of which a value must be one; none where its type says which."""
    kinds = PROTOCOLS.get(hint) or (get_args(hint) if get_origin(hint) in UNIONS else ())
    return {kind.__name__: kind for kind in kinds} if all(map(_is_record, kinds)) else {}


def _pairs(inner: tuple[Any, ...], values: Any) -> list[tuple[Any, Any]]:
    """Return the values of a tuple with their types."""
    hints = [inner[0]] * len(values) if inner[-1] is ... else inner
    if len(hints) != len(values):
        raise FormatError(f"found {len(values)} values, expected {len(hints)}")
    return list(zip(hints, values, strict=True))


def _try(make: Callable[..., Any], where: str, *given: Any, **named: Any) -> Any:
    try:
        return make(*given, **named)
    except FormatError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{where}: {error}" if where else str(error)) from error


def _read_plain(hint: Any, value: Any, where: str) -> Any:
    if get_origin(hint) is Literal or issubclass(hint, Enum):
        choices = get_args(hint) or {member.value: member for member in hint}
        if value not in list(choices):
            raise FormatError(f"{where} is {shorten(value)}, expected one of {list(choices)}")
        return value if isinstance(choices, tuple) else choices[value]
    if hint is float and isinstance(value, str) and value in SPECIAL_FLOATS:
        return SPECIAL_FLOATS[value]
    if hint is float and type(value) is int and abs(value) <= MAX_INTEGER:
        return value
    return expect(hint, value, where)


@cache
def _without_none(hint: Any) -> Any:
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    return Union[tuple(kinds)] if NoneType in get_args(hint) else hint  # noqa: UP007
