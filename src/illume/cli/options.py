"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal, cast

from typer import Argument, Context, Option

from illume.cli.messages import Messages

Unknown = Literal["error", "ignore"]
Names = list[str] | None

ExplainerFile = Annotated[Path, Argument(metavar="EXPLAINER", help="File written by `illume fit`.")]
Rows = Annotated[Path, Argument(metavar="ROWS", help="CSV or Parquet file of rows (- reads CSV from stdin).")]
Model = Annotated[
    Path | None,
    Option("--model", metavar="FILE", help="The model, saved by joblib. [b]Loading it runs its code.[/]"),
]
TrustModel = Annotated[
    bool, Option("--trust-model", help="Do not warn that loading the model runs its code.")
]
UnknownCategories = Annotated[
    Unknown | None,
    Option(help="Categories not seen in the fit: refuse them, or treat them as none of the known ones."),
]
MissingWords = Annotated[
    Names,
    Option(
        metavar="A,B", help="Words in CSV for a missing value; '' for none. By default as in `illume fit`."
    ),
]
Labels = Annotated[
    Path | None,
    Option(metavar="FILE", help="Labels and units of columns, labels of values: a CSV or JSON file."),
]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="No progress and no notes on stderr.")]
Debug = Annotated[bool, Option("--debug", help="Show the traceback of an error.")]


def start(context: Context, quiet: bool, debug: bool) -> Messages:
    """Return the messages of this run."""
    messages = cast(Messages, context.obj)
    messages.quiet, messages.debug = quiet, debug
    return messages


def split_names(values: Iterable[str] | None, columns: Sequence[str] = ()) -> tuple[str, ...]:
    """Split comma-separated names; a column may itself hold a comma.

    >>> split_names(["a,b", "c, d"], ["a", "b", "c, d"])
    ('a', 'b', 'c, d')
    """
    names: list[str] = []
    for value in values or ():
        names += [value] if value in columns else [part.strip() for part in value.split(",") if part.strip()]
    return tuple(dict.fromkeys(names))
