"""The parameters of an explainer and of its encoders to JSON and back; only the kinds listed here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from illume.data.schema import Schema
from illume.data.typed_json import dump, dump_scalar, expect, read, read_scalar
from illume.encoders.base import HEAD_TYPES, IdentityEncoder
from illume.encoders.estimators import LinearEncoder, MetaEncoder
from illume.encoders.options import Objective, PairObjective, Training
from illume.errors import FormatError
from illume.explanations.options import OPTION_TYPES

VALUES = {kind.__name__: kind for kind in (Objective, PairObjective, Training, Schema)}
OPTIONS = {kind.__name__: kind for kind in OPTION_TYPES.values()}
ENCODERS: dict[str, Any] = {kind.__name__: kind for kind in (MetaEncoder, LinearEncoder, IdentityEncoder)}
MAX_TEXT = 2_000


class Described:
    """A setting that a file cannot hold, such as an estimator: only its description."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def require_complete(settings: Mapping[str, Any]) -> None:
    """Raise unless all settings can be fitted with: a file keeps only descriptions of some."""
    for name, value in settings.items():
        if type(value) in OPTIONS.values():
            require_complete(vars(value))
        if isinstance(value, Described):
            raise ValueError(
                f"{name} was {value.text:.100}, which a file does not hold; set it again before fitting"
            )


def dump_setting(value: Any) -> Any:
    """Return one setting as JSON values; of an unknown kind only a description.

    >>> dump_setting((1, "a")), dump_setting(print)
    ({'tuple': [1, 'a']}, {'text': '<built-in function print>'})
    """
    if value is None or isinstance(value, (bool, int, float, str, np.generic)):
        return dump_scalar(value)
    if isinstance(value, tuple):
        return {"tuple": [dump_setting(each) for each in value]}
    if isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return [dump_setting(each) for each in value]
    kind = type(value)
    if kind in VALUES.values():
        return {kind.__name__: dump(kind, value)}
    if kind in OPTIONS.values() or kind in ENCODERS.values():
        found = vars(value) if is_dataclass(value) else value.get_params(deep=False)
        return {kind.__name__: {name: dump_setting(each) for name, each in found.items()}}
    return {"text": repr(value)[:MAX_TEXT]}


def read_settings(values: Any, known: Iterable[str], where: str) -> dict[str, Any]:
    """Return settings by name; all names must be known."""
    found = expect(dict, values, where)
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise FormatError(f"{where} holds {unknown}, which are no settings")
    return {name: _read_setting(value, f"{where}.{name}") for name, value in found.items()}


def _read_setting(value: Any, where: str) -> Any:
    if isinstance(value, list):
        return [_read_setting(each, where) for each in value]
    if not isinstance(value, dict) or set(value) == {"float"}:
        return read_scalar(value, where)
    if len(value) != 1:
        raise FormatError(f"{where} is no setting: {sorted(value)}")
    ((kind, inner),) = value.items()
    if kind == "tuple":
        return tuple(_read_setting(each, where) for each in expect(list, inner, where))
    if kind == "text":
        return Described(expect(str, inner, where))
    return _read_object(kind, inner, where)


def _read_object(kind: str, inner: Any, where: str) -> Any:
    if kind in VALUES:
        return read(VALUES[kind], inner, where)
    if kind in OPTIONS:
        return OPTIONS[kind](**read_settings(inner, [field.name for field in fields(OPTIONS[kind])], where))
    return read_encoder_settings(kind, inner, where)


def read_encoder_settings(kind: str, values: Any, where: str) -> Any:
    """Return an unfitted encoder."""
    if kind not in ENCODERS:
        raise FormatError(f"{where} is of kind {kind!r}, which is not known")
    encoder = ENCODERS[kind](**read_settings(values, ENCODERS[kind]().get_params(deep=False), where))
    if isinstance(encoder, IdentityEncoder):
        return encoder
    if encoder.task not in HEAD_TYPES:
        raise FormatError(f"{where}.task is {encoder.task!r}, expected one of {sorted(HEAD_TYPES)}")
    if type(encoder.n_latents) is not int:
        raise FormatError(f"{where}.n_latents is {encoder.n_latents!r}, expected a number")
    if not isinstance(encoder.objective, Objective | PairObjective | None):
        raise FormatError(f"{where}.objective is {encoder.objective!r}, expected an objective")
    return encoder
