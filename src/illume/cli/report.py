"""`illume report`: one self-contained HTML file about the rows of a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from illume.cli.csv_files import named
from illume.cli.errors import UsageError
from illume.cli.learning import require_csv
from illume.cli.loading import how_to_give_model, load_explainer, rows_for
from illume.cli.options import (
    Debug,
    ExplainerFile,
    MissingWords,
    Model,
    Quiet,
    Rows,
    TrustModel,
    UnknownCategories,
    voice_of,
)
from illume.cli.voice import Voice
from illume.cli.writing import require_output
from illume.errors import rows_after


@dataclass(frozen=True)
class Request:
    """What to report on, and where to."""

    explainer: Path
    rows: Path
    out: Path
    model: Path | None = None
    trusted: bool = False
    title: str | None = None
    unknown: str | None = None
    missing: list[str] | None = None


def report(request: Request, voice: Voice) -> None:
    """Write a report about the rows; it tells of the model's own decisions, so the model must be there."""
    if request.model is None:
        raise UsageError(
            f"a report tells what the model decides; give it with {how_to_give_model(request.explainer)}"
        )
    require_csv(request.rows, request.missing)
    require_output(request.out, (".html", ".htm"), request.explainer, request.rows, request.model)
    explainer = load_explainer(request.explainer, request.model, voice, request.trusted, request.unknown)
    rows = rows_for(explainer, request.rows, request.missing)
    voice.say(f"Explaining {len(rows):,} rows for the report …")
    with rows_after(0, named(request.rows)):
        explainer.report(rows, request.out, title=request.title)
    size = request.out.stat().st_size / 1e6
    voice.say(f"Report written to {request.out} ({size:.1f} MB); open it in a browser")


def command(
    context: typer.Context,
    explainer: ExplainerFile,
    rows: Rows,
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE.html", help="Where to write; replaced if it exists.")
    ] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="What to call the report.")] = None,
    model: Model = None,
    unknown: UnknownCategories = None,
    missing: MissingWords = None,
    trust_model: TrustModel = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write an HTML report about the rows of a file: one file, no network.

    [b]illume report loans.illume new.csv --model loans.model.joblib -o report.html[/]
    """
    request = Request(explainer, rows, out, model, trust_model, title, unknown, missing)
    report(request, voice_of(context, quiet, debug))
