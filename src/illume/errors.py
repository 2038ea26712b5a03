"""Exceptions and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Self


class IllumeError(Exception):
    """Any error that illume raises on purpose."""


class SchemaError(IllumeError, ValueError):
    """The frame does not hold what was expected of it."""


class RowError(SchemaError):
    """A value in one row cannot be used.

    `column` and `row`, its position from 0, say where it stands; `file` which file that row is of, if any.

    >>> print(RowError("age", "inf", 3, "", "replace it").moved(100, "new.csv"))
    column 'age' holds inf in row 103 of new.csv (rows count from 0); replace it
    """

    def __init__(  # noqa: PLR0917 -- as they are pickled
        self, column: str, found: str, row: int, why: str, advice: str, file: str = ""
    ) -> None:
        self.column, self.found, self.row, self.file = column, found, row, file
        self.why, self.advice = why, advice
        where = f"row {row} of {file} (rows count from 0)" if file else f"row {row}"
        super().__init__(f"column {column!r} holds {found} in {where}{why}; {advice}")

    def moved(self, start: int, file: str = "") -> Self:
        """Return the same error about a row that comes after so many others, of a file."""
        return type(self)(self.column, self.found, start + self.row, self.why, self.advice, file or self.file)

    def placed(self, places: Sequence[int]) -> Self:
        """Return the same error about the row that stands where `places` says: row i at places[i]."""
        row = int(places[self.row])
        return type(self)(self.column, self.found, row, self.why, self.advice, self.file)

    def advised(self, advice: str) -> Self:
        """Return the same error with other advice."""
        return type(self)(self.column, self.found, self.row, self.why, advice, self.file)

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, int, str, str, str]]:
        return type(self), (self.column, self.found, self.row, self.why, self.advice, self.file)


class UnknownCategoryError(RowError):
    """A row holds a category that was not seen while fitting, and `unknown` is `error`."""


class BlackBoxError(IllumeError, RuntimeError):
    """The model to explain failed, did not answer with probabilities, or is not there.

    `rows` are positions of rows that it failed on, the first of them where there are many (`more`).

    >>> print(BlackBoxError("the model raised ValueError: no", rows=(3, 7)).moved(100))
    the model raised ValueError: no; failing rows: 103, 107
    """

    def __init__(self, message: str, rows: tuple[int, ...] = (), more: bool = False, file: str = "") -> None:
        self.message, self.rows, self.more, self.file = message, rows, more, file
        of = f" of {file} (from 0)" if file else ""
        named = f"; failing rows{of}: {', '.join(map(str, rows))}" if rows else ""
        super().__init__(message + named + (" and more" if more else ""))

    def moved(self, start: int, file: str = "") -> BlackBoxError:
        """Return the same error about rows that come after so many others, of a file."""
        return BlackBoxError(
            self.message, tuple(start + row for row in self.rows), self.more, file or self.file
        )

    def placed(self, places: Sequence[int]) -> BlackBoxError:
        """Return the same error about the rows that stand where `places` says: row i at places[i].

        >>> print(BlackBoxError("no", rows=(0, 1, 2)).placed([7, 7, 4]))
        no; failing rows: 4, 7
        """
        rows = sorted({int(places[row]) for row in self.rows})
        return BlackBoxError(self.message, tuple(rows), self.more, self.file)

    def __reduce__(self) -> tuple[type[BlackBoxError], tuple[str, tuple[int, ...], bool, str]]:
        return type(self), (self.message, self.rows, self.more, self.file)


@contextmanager
def rows_after(start: int, file: str = "") -> Iterator[None]:
    """Let errors about rows name them as the rows that come after so many others, of a file."""
    try:
        yield
    except (RowError, BlackBoxError) as error:
        raise error.moved(start, file) from error.__cause__


@contextmanager
def rows_at(places: Sequence[int]) -> Iterator[None]:
    """Let errors about rows, taken from others, name them by where they stand there: row i at places[i]."""
    try:
        yield
    except (RowError, BlackBoxError) as error:
        raise error.placed(places) from error.__cause__


class FormatError(IllumeError, ValueError):
    """A file is damaged, cut off, of another kind, or newer than this version of illume."""


class SaveError(IllumeError, RuntimeError):
    """Something could not be saved; a file that was there before is unchanged."""


class ExportError(IllumeError, TypeError):
    """An explainer cannot be written for another runtime: an encoder of others, or categories of one name."""


class CheckpointError(IllumeError, RuntimeError):
    """What a checkpoint folder holds belongs to another fit, or cannot be read."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written, or a folder not be locked; work goes on without."""


class OutOfMemoryError(IllumeError, MemoryError):
    """Memory ran out even for a single row, or for a batch of a training."""


class LeftOutError(IllumeError, RuntimeError):
    """What is asked for needs what was left out when the explainer was saved."""


class ModelChangedWarning(UserWarning):
    """The model given to `load` does not answer as the explained one did."""


class FewQueriesWarning(UserWarning):
    """There are too few queries to measure the errors of contributions."""


class FewRowsWarning(UserWarning):
    """So few rows chose and are reported on that figures of quality and trust mean little."""


class MissingExtraError(IllumeError, ImportError):
    """An optional package is needed for this call."""


def import_extra(name: str, extra: str) -> Any:
    """Import an optional module; raise an error that names the extra if its package is not installed.

    >>> import_extra("no_such_package.part", "plots")
    Traceback (most recent call last):
    illume.errors.MissingExtraError: this needs no_such_package; install it with: pip install "illume[plots]"
    """
    package = name.partition(".")[0]
    try:
        import_module(package)
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f'this needs {package}; install it with: pip install "illume[{extra}]"'
        ) from error
