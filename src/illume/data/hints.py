"""Calls that do not fit a function: one line says what would."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
POSITION = "by position"  # the hint for too many arguments without a name


def guided(
    function: Callable[Arguments, Result], call: str, hints: Mapping[str, str]
) -> Callable[Arguments, Result]:
    """Return the same function, whose errors about arguments say what to write instead.

    `call` is how users write it, `hints` are by arguments that it does not take. Without a hint, the nearest
    argument is named, or all of them.

    >>> def draw(rows, *, n_features=10, title=""): ...
    >>> guided(draw, "draw", {"max_display": "write n_features=…"})([], max_display=3)
    Traceback (most recent call last):
    TypeError: draw takes no max_display; write n_features=…
    >>> guided(draw, "draw", {})([], n_feature=3)
    Traceback (most recent call last):
    TypeError: draw takes no n_feature; write n_features=…
    >>> guided(draw, "draw", {})([], 3)
    Traceback (most recent call last):
    TypeError: draw takes 1 argument by position, found 2; write options by name: n_features=…, title=…
    """
    signature = inspect.signature(function)

    @wraps(function)
    def checked(*args: Arguments.args, **options: Arguments.kwargs) -> Result:
        for name in options.keys() & hints.keys():
            raise TypeError(f"{call} takes no {name}; {hints[name]}")
        try:
            signature.bind(*args, **options)
        except TypeError:
            said = _describe_misuse(signature, hints, len(args), options)
            if said:
                raise TypeError(f"{call} takes {said}") from None
        return function(*args, **options)

    return checked


def _describe_misuse(
    signature: inspect.Signature, hints: Mapping[str, str], n_args: int, options: Mapping[str, object]
) -> str:
    """Return what is wrong about arguments, after "takes"; empty for an argument that is missing."""
    kinds = {each.name: each.kind for each in signature.parameters.values() if each.name != "self"}
    unknown = [name for name in options if name not in kinds]
    if unknown:
        close = difflib.get_close_matches(unknown[0], kinds, n=1)
        hint = f"write {close[0]}=…" if close else f"its arguments are {', '.join(kinds)}"
        return f"no {unknown[0]}; {hint}"
    most = sum(kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds.values())
    found = n_args - ("self" in signature.parameters)
    if found <= most:
        return ""
    rest = ", ".join(f"{name}=…" for name in list(kinds)[most:])
    hint = hints.get(POSITION, f"write options by name: {rest}" if rest else "leave the others out")
    return f"{most} argument{'' if most == 1 else 's'} by position, found {found}; {hint}"
