"""`illume check`: whether explanations still apply to the rows of a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from illume.cli.csv_files import named
from illume.cli.errors import Code
from illume.cli.learning import in_parquet, require_csv
from illume.cli.loading import how_to_give_model, load_explainer, rows_for
from illume.cli.options import (
    Debug,
    ExplainerFile,
    Json,
    MissingWords,
    Model,
    Quiet,
    Rows,
    TrustModel,
    voice_of,
)
from illume.cli.voice import Voice
from illume.cli.writing import answer, as_json
from illume.errors import rows_after

if TYPE_CHECKING:
    from illume.results.check import Check


@dataclass(frozen=True)
class Request:
    """What to compare with what."""

    explainer: Path
    rows: Path
    model: Path | None = None
    trusted: bool = False
    sample: int = 1_000
    missing: list[str] | None = None


def check(request: Request, voice: Voice) -> Check:
    """Compare the rows of a file with those that an explainer was fitted on."""
    require_csv(request.rows, request.missing)
    explainer = load_explainer(request.explainer, request.model, voice, request.trusted)
    if request.model is None:
        how = how_to_give_model(request.explainer)
        voice.note(f"without the model, its agreement with the surrogate is not known; give it with {how}")
    in_place = in_parquet(request.rows)
    rows = request.rows if in_place else rows_for(explainer, request.rows, request.missing)
    if voice.quiet:
        explainer.set_params(verbose=False)
    # In Parquet files, rows may be drawn.
    with rows_after(0, "" if in_place else named(request.rows)):
        found: Check = explainer.check(rows, sample=request.sample)
    return found


def command(
    context: typer.Context,
    explainer: ExplainerFile,
    rows: Rows,
    *,
    model: Model = None,
    sample: Annotated[int, typer.Option(min=0, help="Rows that are put to the model, at most.")] = 1_000,
    json: Json = False,
    missing: MissingWords = None,
    trust_model: TrustModel = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Say whether explanations still apply to the rows of a file, or of a folder of Parquet files.

    The rows are compared with those that the explainer was fitted on: categories, ranges, missing values,
    distributions, distances and, with --model, how often surrogate and model decide alike.

    The exit code is 0 if they look alike, and 3 if something speaks against using explanations of these rows.

    [b]illume check loans.illume new.csv --model loans.model.joblib[/]
    """
    request = Request(explainer, rows, model, trust_model, sample, missing)
    found = check(request, voice_of(context, quiet, debug))
    answer(as_json(found.to_dict(), indent=2) if json else repr(found))
    if not found.ok:
        raise typer.Exit(Code.DRIFTED)
