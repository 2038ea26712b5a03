"""Options that several commands have, and the reading of lists of columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, cast

import typer

from illume.cli.voice import Voice


class Unknown(StrEnum):
    """What to do with a category that was not seen while fitting."""

    ERROR = "error"
    IGNORE = "ignore"


ROWS = "CSV or Parquet file of rows (- reads CSV from stdin)."

ExplainerFile = Annotated[Path, typer.Argument(metavar="EXPLAINER", help="File that `illume fit` wrote.")]
Rows = Annotated[Path, typer.Argument(metavar="ROWS", help=ROWS)]
Model = Annotated[
    Path | None,
    typer.Option(
        "--model", metavar="FILE", help="The model, saved by joblib. [b]Loading it runs code in it.[/]"
    ),
]
TrustModel = Annotated[
    bool, typer.Option("--trust-model", help="Do not warn that loading the model runs code in it.")
]
UnknownCategories = Annotated[
    Unknown | None,
    typer.Option(
        "--unknown",
        help="Rows with a category that the fit has not seen: refuse them, or take it as none of the known; "
        "by default as `illume fit --unknown` said.",
    ),
]
MissingWords = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="A,B",
        help="Words in CSV that stand for a missing value, beside empty cells; '' for none. By default as "
        "with `illume fit`.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes on stderr.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def voice_of(context: typer.Context, quiet: bool, debug: bool) -> Voice:
    """Return the voice of this run, told how much to say."""
    voice = cast(Voice, context.obj)
    voice.quiet, voice.debug = quiet, debug
    return voice


def listed(values: Iterable[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Read names that were given one by one or with commas between; a column may hold a comma itself.

    >>> listed(["a,b", "c, d"], ["a", "b", "c, d"])
    ('a', 'b', 'c, d')
    """
    names: list[str] = []
    for value in values:
        names += [value] if value in columns else [part.strip() for part in value.split(",") if part.strip()]
    return tuple(dict.fromkeys(names))


def words_of(values: Iterable[str] | None) -> tuple[str, ...] | None:
    """Read words that were given one by one or with commas between; None where none were given.

    >>> words_of(["NA,?"]), words_of([""]), words_of(None)
    (('NA', '?'), (), None)
    """
    if values is None:
        return None
    return tuple(dict.fromkeys(word.strip() for value in values for word in value.split(",") if word.strip()))
