"""From what went wrong to one line with advice, and the exit code."""

from __future__ import annotations

from enum import IntEnum

from illume.errors import IllumeError, UnknownCategoryError

LONGEST = 600
UNKNOWN = "map it to one of these, or take such values as none of them with --unknown ignore"


class Code(IntEnum):
    """Exit codes; `illume --help` lists them."""

    OK = 0
    FAILED = 1
    USAGE = 2
    DRIFTED = 3
    INTERRUPTED = 130
    PIPE_CLOSED = 141


class CommandError(IllumeError):
    """A file, its content or a model cannot be used."""


class UsageError(Exception):
    """The options do not go together."""


def code_of(error: BaseException) -> Code:
    """Return the exit code that an error leads to."""
    if isinstance(error, KeyboardInterrupt):
        return Code.INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return Code.PIPE_CLOSED
    return Code.USAGE if isinstance(error, UsageError) else Code.FAILED


def one_line(error: BaseException) -> str:
    """Say in one line what went wrong.

    >>> one_line(FileNotFoundError(2, "No such file or directory", "loans.csv"))
    'loans.csv does not exist'
    >>> one_line(KeyError("a"))
    "unexpected KeyError: 'a'; run it again with --debug for the traceback"
    """
    text = " ".join(_words(error).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … (--debug shows all)"


def _words(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, MemoryError):
        return "not enough memory; give fewer rows at a time"
    if isinstance(error, (IllumeError, UsageError)):
        return str(error.advised(UNKNOWN) if isinstance(error, UnknownCategoryError) else error)
    if isinstance(error, OSError) and error.filename is not None:
        return _of_file(error)
    if isinstance(error, (OSError, ValueError)) and str(error):
        return str(error)
    return f"unexpected {type(error).__name__}: {error}; run it again with --debug for the traceback"


def _of_file(error: OSError) -> str:
    words = {
        FileNotFoundError: "does not exist",
        IsADirectoryError: "is a folder, expected a file",
        PermissionError: "may not be read or written; check its permissions",
    }
    said = words.get(type(error), f"cannot be used: {error.strerror}")
    return f"{error.filename} {said}"
