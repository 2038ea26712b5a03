"""The command group: help, exit codes, and errors as one line on stderr."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from illume import __version__
from illume.cli import demo, explain, fit, pages, serve, show
from illume.cli.messages import ExitCode, Messages, UsageError, flag
from illume.cli.options import with_options
from illume.errors import OptionError

EPILOG = """[b]Exit codes[/]
  0  success
  1  a file, its rows or the model cannot be used
  2  invalid options or arguments
  3  `illume check`: the rows differ from those of the fit
130  interrupted (Ctrl-C)
141  the reader of stdout closed the pipe

Results go to stdout, messages to stderr.
Files are written completely or not at all.
"""


class Commands(TyperGroup):
    """Runs a command; errors become one line, Python warnings become notes."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        """Parse the arguments, run the command and exit with its code."""
        messages = Messages()
        extra = {**extra, "standalone_mode": False, "obj": messages}
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # characters that the terminal lacks are replaced
                encoding = stream.encoding if stream.isatty() else "utf-8"
                stream.reconfigure(encoding=encoding, errors="replace")
        try:
            code = super().main(args, prog_name, **extra)
        except Exception as error:
            if not hasattr(error, "format_message"):  # not a usage error of typer
                raise
            context = getattr(error, "ctx", None)
            command = context.command_path if context else "illume"
            code = messages.usage_error(error.format_message(), command)
        sys.exit(code if isinstance(code, int) else ExitCode.OK)

    def invoke(self, ctx: Any) -> Any:
        """Run the command and return its exit code."""
        messages: Messages = ctx.obj
        with warnings.catch_warnings():
            warnings.filterwarnings("default", category=UserWarning)
            warnings.showwarning = messages.python_warning
            try:
                super().invoke(ctx)
                sys.stdout.flush()
            except (UsageError, OptionError) as error:
                return messages.usage_error(error.spell(flag), f"illume {ctx.invoked_subcommand}")
            except (Exception, KeyboardInterrupt) as error:
                if hasattr(error, "format_message") or hasattr(error, "exit_code"):  # typer's own
                    raise
                code = messages.error(error)
                if code is ExitCode.PIPE_CLOSED:  # flushing the rest at exit must not fail again
                    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                return code
        return ExitCode.OK


app = typer.Typer(
    cls=Commands,
    help="Explain a tabular classifier or regressor: attributions, rules and counterfactuals for every row.",
    epilog=EPILOG,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"illume {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _demo(
    messages: Messages,
    folder: Annotated[str, typer.Argument(metavar="[FOLDER]", help="Folder for the plots.")] = "demo",
) -> None:
    """Explain a breast cancer model in text and plots; takes about half a minute."""
    demo.main(folder, verbose=not messages.quiet)


COMMANDS: dict[str, Callable[..., None]] = {
    "demo": _demo,
    "fit": fit.fit,
    "show": show.show,
    "explain": explain.explain,
    "rules": show.rules,
    "report": pages.report,
    "explore": pages.explore,
    "check": show.check,
    "export": show.export,
    "serve": serve.serve,
}
for name, command in COMMANDS.items():
    app.command(name)(with_options(command))
