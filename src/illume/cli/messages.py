"""Exit codes, errors, and the messages that a command prints to stderr."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import typer

from illume.data.terminal_text import printable
from illume.errors import (
    FewRowsWarning,
    IllumeError,
    ModelChangedWarning,
    OptionError,
    Setting,
    UnknownCategoryError,
)

COLORS = {"note": "cyan", "warning": "yellow", "error": "red"}
MAX_LENGTH = 600
UNKNOWN_ADVICE = "map it to a known category, or treat it as none of them with --unknown ignore"
FLAGS = {  # of settings whose option is called otherwise
    "n": "-n",
    "desired_class": "--desired",
    "features_to_vary": "--vary",
    "output_names": "--output-name",
    "hold_model=False": "--no-hold-model",
    "inputs='encoded'": "--encoded",
}
FILE_ERRORS = {
    FileNotFoundError: "does not exist",
    IsADirectoryError: "is a folder, expected a file",
    PermissionError: "may not be read or written; check its permissions",
}


def show(text: str, *, err: bool = False, end: str = "\n") -> None:
    """Print text, with control characters as codes: all that is printed comes through here."""
    typer.echo(printable(text) + end, err=err, nl=False)


class ExitCode(IntEnum):
    """Exit codes; `illume --help` lists them."""

    OK = 0
    FAILED = 1
    USAGE = 2
    DRIFTED = 3
    INTERRUPTED = 130
    PIPE_CLOSED = 141


class CommandError(IllumeError):
    """A file, its content or a model cannot be used."""


class UsageError(IllumeError):
    """The given options do not work together."""


def flag(setting: Setting) -> str:
    """Return a setting of Python as an option of the command line.

    >>> flag(Setting("twin", "learned")), flag(Setting("hold_model", False)), flag(Setting("n"))
    ('--twin learned', '--no-hold-model', '-n')
    """
    if str(setting) in FLAGS:
        return FLAGS[str(setting)]
    name = FLAGS.get(setting.name, f"--{setting.name.replace('_', '-')}")
    if isinstance(setting.value, (list, tuple)):
        return f"{name} {','.join(map(str, setting.value))}"
    return name if setting.value is None else f"{name} {setting.value}"


def exit_code(error: BaseException) -> ExitCode:
    """Return the exit code for an error."""
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return ExitCode.PIPE_CLOSED
    return ExitCode.USAGE if isinstance(error, (UsageError, OptionError)) else ExitCode.FAILED


def error_line(error: BaseException) -> str:
    """Describe an error in one line.

    >>> error_line(FileNotFoundError(2, "No such file or directory", "loans.csv"))
    'loans.csv does not exist'
    >>> error_line(KeyError("a"))
    "unexpected KeyError: 'a'; run again with --debug for the traceback"
    """
    text = " ".join(_error_text(error).split())
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]} … (--debug shows all)"


def _error_text(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, MemoryError):
        return "not enough memory; use fewer rows at a time"
    if isinstance(error, UnknownCategoryError):
        error = replace(error, advice=UNKNOWN_ADVICE)
    if isinstance(error, IllumeError):
        return error.spell(flag)
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename} {FILE_ERRORS.get(type(error), f'cannot be used: {error.strerror}')}"
    if isinstance(error, (OSError, ValueError)) and str(error):
        return str(error)
    return f"unexpected {type(error).__name__}: {error}; run again with --debug for the traceback"


@dataclass
class Messages:
    """Prints to stderr, each labelled message once; `quiet` leaves only warnings and errors."""

    quiet: bool = False
    debug: bool = False
    printed: set[str] = field(default_factory=set)

    def info(self, text: str) -> None:
        """Print progress, unless quiet."""
        if not self.quiet:
            show(text, err=True)

    def note(self, text: str) -> None:
        """Print something worth knowing, unless quiet."""
        if not self.quiet:
            self._print("note", text)

    def warning(self, text: str) -> None:
        """Print something the user must know."""
        self._print("warning", text)

    def error(self, error: BaseException) -> ExitCode:
        """Print an error and return its exit code."""
        code = exit_code(error)
        if code is ExitCode.PIPE_CLOSED:
            return code
        if self.debug and code is not ExitCode.INTERRUPTED:
            show("".join(traceback.format_exception(error)), err=True, end="")
        self._print("error", error_line(error))
        return code

    def usage_error(self, text: str, command: str) -> ExitCode:
        """Print an error about options that refers to the command's help."""
        end = " " if text.endswith("?") else "; "
        self._print("error", f"{text.rstrip('.')}{end}see {command} --help")
        return ExitCode.USAGE

    def python_warning(self, message: Warning | str, *where: Any, **more: Any) -> None:
        """Print a Python warning in one line; replaces `warnings.showwarning`."""
        serious = isinstance(message, (ModelChangedWarning, FewRowsWarning))
        (self.warning if serious else self.note)(str(message))

    def _print(self, label: str, text: str) -> None:
        text = " ".join(text.split())
        if text in self.printed:
            return
        self.printed.add(text)
        head = typer.style(f"{label}:", fg=COLORS[label], bold=label != "note")
        typer.echo(f"{head} ", err=True, nl=False)
        show(text, err=True)
