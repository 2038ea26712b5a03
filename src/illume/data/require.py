"""Checks of options; errors say which option, what was expected and what was found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from illume.errors import OptionError


def require_int(
    name: str, value: Any, least: int = 1, most: int | None = None, *, other: Sequence[str | None] = ()
) -> None:
    """Raise unless an option is an integer from `least` to `most`, or one of `other` values.

    >>> require_int("n", True)
    Traceback (most recent call last):
    illume.errors.OptionError: n must be a positive integer, found True
    >>> require_int("rank", 0, other=("auto", None))
    Traceback (most recent call last):
    illume.errors.OptionError: rank must be 'auto', None or a positive integer, found 0
    """
    if (value is None or isinstance(value, str)) and value in other:
        return
    if is_int(value, least) and (most is None or value <= most):
        return
    expected = "a positive integer" if least == 1 else f"an integer, {least} or more"
    if most is not None:
        expected = f"an integer from {least} to {most}"
    others = ", ".join(map(repr, other))
    raise OptionError.must_be(name, f"{others} or {expected}" if others else expected, repr(value))


def is_int(value: Any, least: int) -> bool:
    """Whether a value is an integer of at least `least`; `True` is none."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def require_number(name: str, value: Any, *, above: bool = False) -> None:
    """Raise unless an option is a finite number, 0 or more; with `above`, more than 0.

    >>> require_number("lambda_x", -1.0)
    Traceback (most recent call last):
    illume.errors.OptionError: lambda_x must be a finite number >= 0, found -1.0
    """
    if not (_is_number(value) and 0 <= value < math.inf and not (above and value == 0)):
        raise OptionError.must_be(name, f"a finite number {'>' if above else '>='} 0", repr(value))


def require_share(name: str, value: Any, least: float = 0.0, *, below: bool = False) -> None:
    """Raise unless an option is a number from `least` to 1; with `below`, not 1 itself.

    >>> require_share("precision", 1.0, 0.5, below=True)
    Traceback (most recent call last):
    illume.errors.OptionError: precision must be a number from 0.5 to below 1, found 1.0
    """
    if not (_is_number(value) and least <= value <= 1 and not (below and value == 1)):
        raise OptionError.must_be(name, f"a number from {least:g} to {'below ' * below}1", repr(value))


def require_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise unless an option is one of some names.

    >>> require_choice("twin", "exakt", ("auto", "exact", "learned"))
    Traceback (most recent call last):
    illume.errors.OptionError: twin must be 'auto', 'exact' or 'learned', found 'exakt'
    """
    if not (isinstance(value, str) and value in choices):
        *others, last = map(repr, choices)
        raise OptionError.must_be(name, f"{', '.join(others)} or {last}", repr(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
