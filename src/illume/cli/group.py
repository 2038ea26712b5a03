"""The group of commands: every way out leads to a documented exit code and one line on stderr."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from typer.core import TyperGroup

from illume.cli.errors import Code, UsageError
from illume.cli.voice import Voice


class Commands(TyperGroup):
    """Runs a command; errors become one line, warnings of Python become notes."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        """Parse the words, run the command and leave with its exit code."""
        voice = Voice()
        extra = {**extra, "standalone_mode": False, "obj": voice}
        _speak_utf8()
        try:
            code = super().main(args, prog_name, **extra)
        except Exception as error:
            if not hasattr(error, "format_message"):  # a usage error of typer's
                raise
            context = getattr(error, "ctx", None)
            command = context.command_path if context else "illume"
            code = voice.usage(error.format_message(), command)
        sys.exit(code if isinstance(code, int) else Code.OK)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; whatever it raises is said in one line."""
        voice: Voice = ctx.obj
        with warnings.catch_warnings():
            warnings.filterwarnings("default", category=UserWarning)
            warnings.showwarning = voice.python_warning
            try:
                super().invoke(ctx)
                sys.stdout.flush()
            except UsageError as error:
                return voice.usage(str(error), f"illume {ctx.invoked_subcommand}")
            except (Exception, KeyboardInterrupt) as error:
                if hasattr(error, "format_message") or hasattr(error, "exit_code"):  # typer's own
                    raise
                code = voice.error(error)
                if code is Code.PIPE_CLOSED:
                    _forget_stdout()
                return code
        return Code.OK


def _speak_utf8() -> None:
    """Pipes get UTF-8 wherever this runs; a terminal says itself what it can show."""
    if not sys.stdout.isatty() and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")


def _forget_stdout() -> None:
    """Nobody reads stdout any more: what is still buffered must not fail again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
