"""Exceptions and warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Self


class IllumeError(Exception):
    """Any error that illume raises on purpose."""


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

    def __str__(self) -> str:
        where = f"row {self.row} of {self.file} (rows count from 0)" if self.file else f"row {self.row}"
        return f"column {self.column!r} holds {self.found} in {where}{self.why}; {self.advice}"

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

    def __str__(self) -> str:
        of = f" of {self.file} (from 0)" if self.file else ""
        named = f"; failing rows{of}: {', '.join(map(str, self.rows))}" if self.rows else ""
        return self.message + named + (" and more" if self.more else "")

    def renumber(self, number: Callable[[int], int], file: str = "") -> Self:
        """Return the same error with other numbers for its rows, and the name of their file."""
        rows = tuple(sorted({number(row) for row in self.rows}))
        return replace(self, rows=rows, file=file or self.file)


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


class OptionError(ValueError):
    """Options have values that cannot be used, or do not go together; `options` are their names.

    >>> OptionError("max_rules is 0; expected 1 or more", "max_rules").options
    ('max_rules',)
    """

    def __init__(self, message: str, *options: str) -> None:
        super().__init__(message, *options)  # all, so that it can be pickled
        self.message, self.options = message, options

    def __str__(self) -> str:
        return self.message


class FormatError(IllumeError, ValueError):
    """A file is damaged, cut off, of another kind, or newer than this version of illume."""


class SaveError(IllumeError, RuntimeError):
    """Something could not be saved; a file that was there before is unchanged."""


class ExportError(IllumeError, TypeError):
    """An explainer cannot be exported: a foreign encoder, or two categories of the same text."""


class OutOfMemoryError(IllumeError, MemoryError):
    """Memory ran out even for a single row, or for a batch of a training."""


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
