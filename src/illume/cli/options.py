"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, cast

import typer

from illume.cli.messages import Messages


class Unknown(StrEnum):
    """How to treat a category that was not seen in the fit."""

    ERROR = "error"
    IGNORE = "ignore"


ExplainerFile = Annotated[Path, typer.Argument(metavar="EXPLAINER", help="File written by `illume fit`.")]
Rows = Annotated[
    Path, typer.Argument(metavar="ROWS", help="CSV or Parquet file of rows (- reads CSV from stdin).")
]
Model = Annotated[
    Path | None,
    typer.Option(
        "--model", metavar="FILE", help="The model, saved by joblib. [b]Loading it runs its code.[/]"
    ),
]
TrustModel = Annotated[
    bool, typer.Option("--trust-model", help="Do not warn that loading the model runs its code.")
]
UnknownCategories = Annotated[
    Unknown | None,
    typer.Option(
        "--unknown",
        help="Rows with a category not seen in the fit: refuse them, or treat it as none of the known ones. "
        "Default: as given to `illume fit`.",
    ),
]
MissingWords = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="A,B",
        help="Words in CSV that stand for a missing value, besides empty cells; '' for none. Default: as in "
        "`illume fit`.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes on stderr.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def start(context: typer.Context, quiet: bool, debug: bool) -> Messages:
    """Return the messages of this run."""
    messages = cast(Messages, context.obj)
    messages.quiet, messages.debug = quiet, debug
    return messages


def split_names(values: Iterable[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Split comma-separated column names; a name may itself hold a comma.

    >>> split_names(["a,b", "c, d"], ["a", "b", "c, d"])
    ('a', 'b', 'c, d')
    """
    names: list[str] = []
    for value in values:
        names += [value] if value in columns else [part.strip() for part in value.split(",") if part.strip()]
    return tuple(dict.fromkeys(names))


def split_words(values: Iterable[str] | None) -> tuple[str, ...] | None:
    """Split comma-separated words; None stays None.

    >>> split_words(["NA,?"]), split_words([""]), split_words(None)
    (('NA', '?'), (), None)
    """
    return None if values is None else split_names(values, ())
