"""The settings of an explainer, and of its encoders, to JSON and back; only kinds that are listed here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from illume.data.schema import Schema
from illume.data.typed_json import dump, dump_scalar, expect, read, read_scalar
from illume.encoders.linear import IdentityEncoder, LinearEncoder
from illume.encoders.meta import MetaEncoder
from illume.encoders.options import Objective, Training
from illume.errors import FormatError
from illume.explanations.options import DataOptions, RuleOptions, SurrogateOptions

VALUES = {"Objective": Objective, "Training": Training, "Schema": Schema}
ENCODERS = {"MetaEncoder": MetaEncoder, "LinearEncoder": LinearEncoder, "IdentityEncoder": IdentityEncoder}
OPTIONS = {kind.__name__: kind for kind in (SurrogateOptions, RuleOptions, DataOptions)}
LONGEST_TEXT = 2_000


class Described:
    """A setting that a file cannot hold, such as an estimator: only what it looked like."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def require_whole(settings: Mapping[str, Any]) -> None:
    """Refuse to fit anew with settings of which a file kept the looks only."""
    for name, value in settings.items():
        if type(value) in OPTIONS.values():
            require_whole({field.name: getattr(value, field.name) for field in fields(value)})
        if isinstance(value, Described):
            raise ValueError(
                f"{name} was {value.text:.100}, which a file does not hold; set it again before fitting"
            )


def dump_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by name as JSON values."""
    return {name: dump_setting(value) for name, value in settings.items()}


def read_settings(values: Any, known: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return settings by name; all names must be known."""
    found = expect(dict, values, where)
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise FormatError(f"{where} holds {unknown}, which are no settings")
    return {name: read_setting(value, f"{where}.{name}") for name, value in found.items()}


def dump_setting(value: Any) -> Any:
    """Return one setting as JSON values; what is no known kind is kept as text only.

    >>> dump_setting((1, "a")), dump_setting(print)
    ({'tuple': [1, 'a']}, {'text': '<built-in function print>'})
    """
    if value is None or isinstance(value, (bool, int, float, str, np.generic)):
        return dump_scalar(value)
    if isinstance(value, tuple):
        return {"tuple": [dump_setting(each) for each in value]}
    if isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return [dump_setting(each) for each in value]
    name, inner = type(value).__name__, None
    if VALUES.get(name) is type(value):
        inner = dump(type(value), value)
    elif OPTIONS.get(name) is type(value):
        inner = {field.name: dump_setting(getattr(value, field.name)) for field in fields(value)}
    elif ENCODERS.get(name) is type(value):
        inner = dump_settings(value.get_params(deep=False))
    return {"text": repr(value)[:LONGEST_TEXT]} if inner is None else {name: inner}


def read_setting(value: Any, where: str) -> Any:
    """Return the setting that JSON values stand for."""
    if isinstance(value, list):
        return [read_setting(each, where) for each in value]
    if not isinstance(value, dict) or set(value) == {"float"}:
        return read_scalar(value, where)
    if len(value) != 1:
        raise FormatError(f"{where} is no setting: {sorted(value)}")
    ((kind, inner),) = value.items()
    if kind == "tuple":
        return tuple(read_setting(each, where) for each in expect(list, inner, where))
    if kind == "text":
        return Described(expect(str, inner, where))
    return _read_object(kind, inner, where)


def _read_object(kind: str, inner: Any, where: str) -> Any:
    if kind in VALUES:
        return read(VALUES[kind], inner, where)
    if kind in OPTIONS:
        known = {field.name: None for field in fields(OPTIONS[kind])}
        return OPTIONS[kind](**read_settings(inner, known, where))
    if kind in ENCODERS:
        return unfitted(kind, inner, where)
    raise FormatError(f"{where} is of kind {kind!r}, which is not known")


def unfitted(kind: str, values: Any, where: str) -> Any:
    """Return an unfitted encoder of a known kind."""
    make = ENCODERS[kind]
    encoder = make(**read_settings(values, make().get_params(deep=False), where))
    if kind == "IdentityEncoder":
        return encoder
    if type(encoder.n_latents) is not int:
        raise FormatError(f"{where}.n_latents is {encoder.n_latents!r}, expected a number")
    if not isinstance(encoder.objective, Objective | None):
        raise FormatError(f"{where}.objective is {encoder.objective!r}, expected an objective")
    return encoder
