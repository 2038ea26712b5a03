"""Random formulas of a table's columns, with their gradients in closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from illume._typing import FloatArray

Function = Callable[..., FloatArray]

BINARY_SHARE = 0.7  # how many terms join two columns


def _power(x: FloatArray, y: FloatArray) -> FloatArray:
    return np.abs(x) ** y * np.where(x < 0, np.cos(np.pi * y), 1.0)


def _power_by_base(x: FloatArray, y: FloatArray) -> FloatArray:
    return y * np.abs(x) ** (y - 1) * np.where(x < 0, -np.cos(np.pi * y), 1.0)


def _power_by_exponent(x: FloatArray, y: FloatArray) -> FloatArray:
    turn = np.where(x < 0, np.pi * y, 0.0)
    rate = np.where(x < 0, np.pi, 0.0)
    return np.abs(x) ** y * (np.log(np.abs(x)) * np.cos(turn) - rate * np.sin(turn))


def _inside(slope: Function) -> Function:
    """Return the slope where it is real, 0 where the function is imaginary plus a constant."""
    return lambda x: np.nan_to_num(slope(x), nan=0.0, posinf=np.inf, neginf=-np.inf)


# Each is the real part of the complex function: (value, its derivative by each argument).
UNARY: dict[str, tuple[Function, Function]] = {
    "sqrt": (lambda x: np.sqrt(np.maximum(x, 0.0)), _inside(lambda x: 0.5 / np.sqrt(x))),
    "exp": (np.exp, np.exp),
    "log": (lambda x: np.log(np.abs(x)), lambda x: 1 / x),
    "sin": (np.sin, np.cos),
    "cos": (np.cos, lambda x: -np.sin(x)),
    "tan": (np.tan, lambda x: 1 + np.tan(x) ** 2),
    "sinh": (np.sinh, np.cosh),
    "cosh": (np.cosh, np.sinh),
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "asin": (lambda x: np.arcsin(np.clip(x, -1, 1)), _inside(lambda x: 1 / np.sqrt(1 - x * x))),
    "acos": (lambda x: np.arccos(np.clip(x, -1, 1)), _inside(lambda x: -1 / np.sqrt(1 - x * x))),
    "atan": (np.arctan, lambda x: 1 / (1 + x * x)),
    "minus": (np.negative, lambda x: np.full_like(x, -1.0)),
    "sign": (np.sign, np.zeros_like),
    "identity": (lambda x: x, np.ones_like),
}
BINARY: dict[str, tuple[Function, Function, Function]] = {
    "+": (np.add, lambda x, _: np.ones_like(x), lambda x, _: np.ones_like(x)),
    "-": (np.subtract, lambda x, _: np.ones_like(x), lambda x, _: np.full_like(x, -1.0)),
    "*": (np.multiply, lambda _, y: y, lambda x, _: x),
    "/": (np.divide, lambda _, y: 1 / y, lambda x, y: -x / (y * y)),
    "**": (_power, _power_by_base, _power_by_exponent),
}
OPERATORS: dict[str, tuple[Function, ...]] = {**UNARY, **BINARY}
LINEAR = {"identity": (1,), "minus": (-1,), "+": (1, 1), "-": (1, -1)}


class Term(NamedTuple):
    """An operator and the columns it is given, by position."""

    operator: str
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Expression:
    """A sum of terms; its value is real, the real part of what complex arithmetic would give.

    >>> expression = Expression((Term("*", (0, 1)), Term("sqrt", (1,))))
    >>> expression.score(np.array([[3.0, 4.0], [3.0, -4.0]]))
    array([ 14., -12.])
    >>> expression.gradient(np.array([[3.0, 4.0]]))
    array([[4.  , 3.25]])
    """

    terms: tuple[Term, ...]

    def score(self, X: FloatArray) -> FloatArray:
        """Return the sum for each row of X, (n,); infinite or nan where it leaves the numbers."""
        total = np.zeros(len(X))
        with np.errstate(all="ignore"):
            for operator, columns in self.terms:
                total += OPERATORS[operator][0](*(X[:, column] for column in columns))
        return total

    def gradient(self, X: FloatArray) -> FloatArray:
        """Return the derivative by each column, (n, m); that of `sign` is 0."""
        slopes = np.zeros(X.shape)
        with np.errstate(all="ignore"):
            for operator, columns in self.terms:
                values = [X[:, column] for column in columns]
                for column, slope in zip(columns, OPERATORS[operator][1:], strict=True):
                    slopes[:, column] += slope(*values)
        return slopes

    def uses(self, n_columns: int) -> bool:
        """Tell whether the sum depends on each of the first columns.

        A column drops out only where its linear terms cancel, as in (x0 - x1) + (x1 - x0).
        """
        linear, other = np.zeros(n_columns), np.zeros(n_columns, dtype=bool)
        for operator, columns in self.terms:
            if operator in LINEAR:
                linear[list(columns)] += LINEAR[operator]
            else:
                other[list(columns)] = True
        return bool(np.all(other | (linear != 0)))


def draw(n_columns: int, rng: np.random.Generator) -> Expression:
    """Return a sum of one random term for each column, joined with another column or alone."""
    return Expression(tuple(_term(column, n_columns, rng) for column in range(n_columns)))


def _term(column: int, n_columns: int, rng: np.random.Generator) -> Term:
    if rng.random() >= BINARY_SHARE:
        return Term(list(UNARY)[rng.integers(len(UNARY))], (column,))
    other = (column + 1 + int(rng.integers(n_columns - 1))) % n_columns
    pair = (column, other) if rng.random() < 0.5 else (other, column)
    return Term(list(BINARY)[rng.integers(len(BINARY))], pair)
