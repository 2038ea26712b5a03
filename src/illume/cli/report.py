"""`illume report`: one self-contained HTML file about the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from illume.cli.loading import load_explainer, rows_for
from illume.cli.options import Debug, ExplainerFile, Model, Quiet, Rows, TrustModel, voice_of
from illume.cli.voice import Voice
from illume.cli.writing import replaced, require_output


def report(
    explainer: Path, rows: Path, out: Path, voice: Voice, *, model: Path | None = None, trusted: bool = False
) -> None:
    """Write a report about the rows."""
    require_output(out, (".html", ".htm"), explainer, rows, model)
    fitted = load_explainer(explainer, model, voice, trusted)
    frame = rows_for(fitted, rows)
    voice.say(f"Explaining {len(frame):,} rows for the report …")
    with replaced(out) as temporary:
        fitted.report(frame, temporary)
    size = out.stat().st_size / 1e6
    voice.say(f"Report of {len(frame):,} rows written to {out} ({size:.1f} MB); open it in a browser")


def command(
    context: typer.Context,
    explainer: ExplainerFile,
    rows: Rows,
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE.html", help="Where to write; replaced if it exists.")
    ] = Path("report.html"),
    model: Model = None,
    trust_model: TrustModel = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write an HTML report about the rows of a file: one file, no network.

    [b]illume report loans.illume new.csv --model loans.model.joblib -o report.html[/]
    """
    voice = voice_of(context, quiet, debug)
    report(explainer, rows, out, voice, model=model, trusted=trust_model)
