"""`illume explain` for folders: Parquet files in, a folder of Parquet files out, with several processes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from illume.cli.errors import CommandError, UsageError
from illume.cli.models import warn_of_code
from illume.cli.options import listed
from illume.cli.voice import Voice

if TYPE_CHECKING:
    from illume.cli.explain import Request


def explain_folder(request: Request, voice: Voice) -> None:
    """Explain Parquet files part by part; what an earlier run has done is not done again."""
    out = _checked(request)
    from pyarrow import parquet as pq

    from illume.data.row_sources import parquet_files
    from illume.distributed import explain_parquet

    _tell_of_model(request, voice)
    columns = pq.read_schema(parquet_files(request.rows)[0]).names
    options: dict[str, Any] = dict(request.options)
    if request.unknown is not None:
        options["unknown"] = str(request.unknown)
    if "features_to_vary" in options:
        options["features_to_vary"] = list(listed(options["features_to_vary"], columns))
    written = explain_parquet(
        request.rows,
        out,
        request.explainer,
        request.kind.value,
        model=request.model,
        trust_model=True,
        keep=listed(request.keep, columns),
        workers=request.workers,
        verbose=False if voice.quiet else None,
        **options,
    )
    before = (
        f", {written.n_skipped} of {written.n_parts} parts by an earlier run" if written.n_skipped else ""
    )
    voice.say(f"{request.kind.capitalize()} of {written.n_rows:,} rows written to {out}{before}")


def _checked(request: Request) -> Path:
    if request.json or request.long:
        raise UsageError("--json and --long do not go with folders; these hold Parquet, a line per row")
    if request.out is None or request.out.suffix:
        raise UsageError("a folder of rows and --workers need a folder to write to; name it with -o FOLDER")
    if not request.explainer.is_file():
        raise CommandError(f"the explainer {request.explainer} does not exist; `illume fit` makes one")
    if request.model is not None and not request.model.is_file():
        raise CommandError(f"the model {request.model} does not exist")
    return request.out


def _tell_of_model(request: Request, voice: Voice) -> None:
    from illume.cli.loading import how_to_give_model

    if request.model is None:
        how = how_to_give_model(request.explainer)
        voice.note(f"without the model, its decisions are guessed by the surrogate; give it with {how}")
    elif not request.trusted:
        warn_of_code(request.model, voice)
