"""What a command says beside its answer: notes, warnings, errors and progress, all on stderr."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.text import Text

from illume.cli.errors import Code, code_of, one_line
from illume.errors import FewRowsWarning, ModelChangedWarning

STYLES = {"note": "cyan", "warning": "bold yellow", "error": "bold red"}


@dataclass
class Voice:
    """Speaks on stderr; each sentence once.

    Parameters
    ----------
    quiet
        Say nothing but warnings and errors.
    debug
        Show the traceback of an error.
    """

    quiet: bool = False
    debug: bool = False
    said: set[str] = field(default_factory=set)

    def say(self, text: str) -> None:
        """Say how it goes, unless quiet."""
        if not self.quiet:
            _stderr().print(Text(text), soft_wrap=True)

    def note(self, text: str) -> None:
        """Point out what a user may want to know, unless quiet."""
        if not self.quiet:
            self._labelled("note", text)

    def warning(self, text: str) -> None:
        """Point out what a user must know."""
        self._labelled("warning", text)

    def error(self, error: BaseException) -> Code:
        """Say what went wrong and return the exit code."""
        code = code_of(error)
        if code is Code.PIPE_CLOSED:
            return code
        if self.debug and code is not Code.INTERRUPTED:
            sys.stderr.write("".join(traceback.format_exception(error)))
        self._labelled("error", one_line(error))
        return code

    def usage(self, text: str, command: str) -> Code:
        """Say which words were wrong, and where help is."""
        end = " " if text.endswith("?") else "; "
        self._labelled("error", f"{text.rstrip('.')}{end}see {command} --help")
        return Code.USAGE

    def python_warning(self, message: Warning | str, *where: Any, **more: Any) -> None:
        """Say a warning of Python in one line; stands in for `warnings.showwarning`."""
        serious = isinstance(message, (ModelChangedWarning, FewRowsWarning))
        say = self.warning if serious else self.note
        say(str(message))

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        """Show a bar while rows are worked on, on a terminal only; yields what counts rows."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        console = _stderr()
        hidden = self.quiet or not console.is_terminal
        with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
            task = bar.add_task(what, total=total)
            yield lambda n: bar.advance(task, n)

    def _labelled(self, label: str, text: str) -> None:
        text = " ".join(text.split())
        if text in self.said:
            return
        self.said.add(text)
        _stderr().print(Text.assemble((f"{label}:", STYLES[label]), " ", text), soft_wrap=True)


def _stderr() -> Console:
    return Console(stderr=True, highlight=False)
