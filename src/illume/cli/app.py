"""The commands put together."""

from __future__ import annotations

from typing import Annotated

import typer

from illume import __version__
from illume.cli import check, demo, explain, export, fit, report, rules, serve, show
from illume.cli.group import Commands

EPILOG = """[b]Exit codes[/]
  0  all went well
  1  illume could not do it: a file, its rows or the model cannot be used
  2  wrong words on the command line
  3  `illume check`: these rows are not like those of the fit
130  interrupted (Ctrl-C)
141  whoever read stdout stopped reading

Answers go to stdout, all else to stderr.
Files are replaced at once when all is done, never half written.
"""

app = typer.Typer(
    cls=Commands,
    help="Explain a tabular classifier: attributions, rules and counterfactuals of every row.",
    epilog=EPILOG,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"illume {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for name, module in {
    "demo": demo,
    "fit": fit,
    "show": show,
    "explain": explain,
    "rules": rules,
    "report": report,
    "check": check,
    "export": export,
    "serve": serve,
}.items():
    app.command(name)(module.command)
