"""Exceptions and warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from types import FrameType
from typing import Any, Self


@dataclass(frozen=True)
class Setting:
    """The name of an option in the text of an error, with a value if one is advised or was found.

    >>> str(Setting("twin", "learned")), str(Setting("threshold"))
    ("twin='learned'", 'threshold')
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value!r}"


class IllumeError(Exception):
    """Any error that illume raises on purpose; its arguments are the pieces of its text."""

    def __str__(self) -> str:
        return self.spell(str)

    @property
    def pieces(self) -> tuple[Any, ...]:
        """Texts and settings that are the error's text together."""
        return self.args

    def spell(self, spelled: Callable[[Setting], str]) -> str:
        """Return the text with settings written in another way, such as options of the command line."""
        return "".join(spelled(each) if isinstance(each, Setting) else str(each) for each in self.pieces)


class OptionError(IllumeError, ValueError):
    """An option has a value that cannot be used, or does not go with the model or with another option.

    `options` are the names of all options in the text, in its order, and `option` is the first of them.

    >>> error = OptionError(Setting("n"), " goes with counterfactuals")
    >>> print(error.option, error, error.spell(lambda setting: f"-{setting.name}"), sep="; ")
    n; n goes with counterfactuals; -n goes with counterfactuals
    """

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options in the text."""
        return tuple(each.name for each in self.pieces if isinstance(each, Setting))

    @property
    def option(self) -> str:
        """The name of the first option in the text."""
        return next(iter(self.options), "")

    @classmethod
    def must_be(cls, option: str, expected: str, found: str) -> Self:
        """Return the error of an option that has another value than expected.

        >>> print(OptionError.must_be("n", "a positive integer", "0"))
        n must be a positive integer, found 0
        """
        return cls(Setting(option), f" must be {expected}, found {found}")


class SchemaError(IllumeError, ValueError):
    """The columns or values of a frame are not those expected."""


@dataclass(eq=False)
class RowError(SchemaError):
    """A value in one row cannot be used.

    `column` and `row`, its position from 0, say where it is; `file` names the file of that row, if any.

    >>> print(RowError("age", "inf", 3, "", "replace it").renumber(lambda row: 100 + row, "new.csv"))
    column 'age' holds inf in row 103 of new.csv (rows count from 0); replace it
    """

    column: str
    found: str
    row: int
    why: str
    advice: str
    file: str = ""

    def __post_init__(self) -> None:
        """Keep all fields for pickling."""
        self.args = tuple(vars(self).values())

    @property
    def pieces(self) -> tuple[Any, ...]:
        """The error's text."""
        where = f"row {self.row} of {self.file} (rows count from 0)" if self.file else f"row {self.row}"
        return (f"column {self.column!r} holds {self.found} in {where}{self.why}; {self.advice}",)

    def renumber(self, number: Callable[[int], int], file: str = "") -> Self:
        """Return the same error with another number for its row, and the name of its file."""
        return replace(self, row=number(self.row), file=file or self.file)


class UnknownCategoryError(RowError):
    """A row holds a category that was not seen while fitting, and `unknown` is `error`."""


@dataclass(eq=False)
class BlackBoxError(IllumeError, RuntimeError):
    """The model to explain failed, answered with something else than probabilities or numbers, or is missing.

    `rows` are positions of rows that it failed on, only the first of them if there are `more`.

    >>> print(BlackBoxError("the model raised an error", rows=(0, 1, 2)).renumber([7, 7, 4].__getitem__))
    the model raised an error; failing rows: 4, 7
    """

    message: str
    rows: tuple[int, ...] = ()
    more: bool = False
    file: str = ""

    def __post_init__(self) -> None:
        """Keep all fields for pickling."""
        self.args = tuple(vars(self).values())

    @property
    def pieces(self) -> tuple[Any, ...]:
        """The error's text."""
        of = f" of {self.file} (from 0)" if self.file else ""
        named = f"; failing rows{of}: {', '.join(map(str, self.rows))}" if self.rows else ""
        return (self.message + named + (" and more" if self.more else ""),)

    def renumber(self, number: Callable[[int], int], file: str = "") -> Self:
        """Return the same error with other numbers for its rows, and the name of their file."""
        rows = tuple(sorted({number(row) for row in self.rows}))
        return replace(self, rows=rows, file=file or self.file)


@dataclass(eq=False)
class NewNumberError(BlackBoxError):
    """A model whose whole numbers were taken for labels answered with a new one."""


@contextmanager
def renumber_rows(number: Callable[[int], int], file: str = "") -> Iterator[None]:
    """Make errors about rows use other numbers for them, and name their file."""
    try:
        yield
    except (RowError, BlackBoxError) as error:
        raise error.renumber(number, file) from error.__cause__


def rows_after(start: int, file: str = "") -> AbstractContextManager[None]:
    """Make errors count rows from `start`, and name their file."""
    return renumber_rows(lambda row: start + row, file)


class FormatError(IllumeError, ValueError):
    """A file is damaged, cut off, of another kind, or newer than this version of illume."""


class SaveError(IllumeError, RuntimeError):
    """Something could not be saved; a file that was there before is unchanged."""


class ExportError(IllumeError, TypeError):
    """An explainer cannot be exported: a foreign encoder, or two categories of the same text."""


class OutOfMemoryError(IllumeError, MemoryError):
    """Memory ran out while training on batches of rows."""


class TwinError(IllumeError, TypeError):
    """A model cannot be read as it was asked for."""


class LeftOutError(IllumeError, RuntimeError):
    """A call needs something that was left out when the explainer was saved."""


class ModelChangedWarning(UserWarning):
    """The model passed to `load` does not answer as the explained one did."""


class TwinWarning(UserWarning):
    """The model answers otherwise than what was read from it."""


class LabelsOnlyWarning(UserWarning):
    """The model answers with labels instead of probabilities, so that less can be said about it."""


class NoisyModelWarning(UserWarning):
    """The model answers the same row differently when it is asked again."""


class IgnoredColumnsWarning(UserWarning):
    """The model ignores columns: its answers stay the same whatever they hold."""


class LostDigitsWarning(UserWarning):
    """A column holds whole numbers that are too large to be told apart."""


class FewQueriesWarning(UserWarning):
    """There are too few queries to measure the errors of contributions."""


class FewRowsWarning(UserWarning):
    """There are too few validation or report rows for meaningful figures of quality and trust."""


class MissingExtraError(IllumeError, ImportError):
    """An optional package is needed for this call."""


def import_extra(name: str, extra: str) -> Any:
    """Import an optional module; raise an error that names the extra if a package is not installed.

    >>> import_extra("no_such_package.part", "plots")
    Traceback (most recent call last):
    illume.errors.MissingExtraError: this needs no_such_package; install it with: pip install "illume[plots]"
    """
    package = name.partition(".")[0]
    try:
        import_module(package)
        return import_module(name)
    except ImportError as error:
        missing = (error.name or package).partition(".")[0]
        raise MissingExtraError(
            f'this needs {missing}; install it with: pip install "illume[{extra}]"'
        ) from error


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of illume that led here, however deep the call is."""
    level = 2
    caller: FrameType | None = sys._getframe(1)
    while caller is not None and caller.f_globals.get("__name__", "").partition(".")[0] == "illume":
        level, caller = level + 1, caller.f_back
    warnings.warn(message, category, stacklevel=level)
