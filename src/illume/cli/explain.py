"""`illume explain`: explain the rows of a file, or of a folder of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from illume.cli.load import (
    load_explainer,
    model_option,
    note_stand_in,
    read_rows_for,
    require_file,
    warn_of_code,
)
from illume.cli.messages import CommandError, Messages, UsageError
from illume.cli.options import (
    Debug,
    ExplainerFile,
    MissingWords,
    Model,
    Quiet,
    Rows,
    TrustModel,
    UnknownCategories,
    split_names,
    start,
)
from illume.cli.output import SUFFIXES, Kind, Layout, require_output, write
from illume.cli.read_rows import file_name, require_csv, require_names
from illume.errors import rows_after

if TYPE_CHECKING:
    from illume import Explainer

PIECE_ROWS = {Kind.ATTRIBUTIONS: 8_192, Kind.RULES: 2_048, Kind.COUNTERFACTUALS: 256}
KINDS = {  # the kind that each option belongs to
    "n": Kind.COUNTERFACTUALS,
    "desired_class": Kind.COUNTERFACTUALS,
    "features_to_vary": Kind.COUNTERFACTUALS,
    "max_changes": Kind.COUNTERFACTUALS,
    "precision": Kind.RULES,
    "max_conditions": Kind.RULES,
    "refine": Kind.ATTRIBUTIONS,
}
FLAGS = {"n": "-n", "desired_class": "--desired", "features_to_vary": "--vary"}


def explain(
    context: typer.Context,
    explainer: ExplainerFile,
    rows: Rows,
    *,
    kind: Annotated[Kind, typer.Option("--kind", "-k", help="Kind of explanation.")] = Kind.ATTRIBUTIONS,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="A .parquet, .csv, .json or .jsonl file, replaced if it exists; a folder for folders.",
        ),
    ] = None,
    model: Model = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON per row instead of CSV.")
    ] = False,
    long: Annotated[
        bool,
        typer.Option("--long", help="A line per row and feature (condition, change) instead of one per row."),
    ] = False,
    keep: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="Columns of ROWS to copy to the output.")
    ] = None,
    n: Annotated[
        int | None, typer.Option("-n", min=1, help="Counterfactuals per row (3 by default).")
    ] = None,
    desired: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="Counterfactuals: the class to reach; any other by default."),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Counterfactuals: the only columns that may change."),
    ] = None,
    max_changes: Annotated[
        int | None, typer.Option(min=1, help="Counterfactuals: most columns that may change.")
    ] = None,
    precision: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Rules: desired precision (0.95 by default).")
    ] = None,
    max_conditions: Annotated[int | None, typer.Option(min=1, help="Rules: most conditions.")] = None,
    refine: Annotated[
        int | None, typer.Option(min=1, help="Attributions: additional model queries for each row.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=0, help="Processes that explain Parquet into a folder (2 if ROWS is a folder)."),
    ] = None,
    unknown: UnknownCategories = None,
    missing: MissingWords = None,
    trust_model: TrustModel = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Explain the rows of a file: attributions, rules or counterfactuals.

    Without -o the result goes to stdout, as CSV or, with --json, as JSON lines.

    If ROWS is a folder of Parquet files, -o names a folder: several processes write a file for each part,
    and an interrupted run continues where it stopped.

    `row` is the position of the row in ROWS, from 0; --keep copies columns to join by.

    [b]illume explain loans.illume new.csv --kind rules --model loans.model.joblib -o rules.csv[/]
    """
    messages = start(context, quiet, debug)
    options = _kind_options(
        kind,
        n=n,
        desired_class=desired,
        features_to_vary=vary or None,
        max_changes=max_changes,
        precision=precision,
        max_conditions=max_conditions,
        refine=refine,
    )
    require_csv(rows, missing)
    if kind is Kind.COUNTERFACTUALS and model is None:
        raise UsageError(f"counterfactuals are verified on the model; give it with {model_option(explainer)}")
    if rows.is_dir() or workers is not None:
        folder = _require_folder(out, json or long)
        require_file(explainer)
        _announce_model(explainer, model, trust_model, messages)
        if unknown is not None:
            options["unknown"] = str(unknown)
        settings: dict[str, Any] = {"keep": tuple(keep or ()), "workers": workers, "model": model}
        _explain_folder(rows, folder, explainer, kind, messages=messages, **settings, **options)
        return
    _require_layout(out, json, long)
    if out is not None:
        require_output(out, SUFFIXES, explainer, rows, model)
    loaded = load_explainer(explainer, model, messages, trust_model, unknown)
    if model is None:
        note_stand_in(explainer, messages)
    frame = read_rows_for(loaded, rows, missing)
    kept = split_names(keep or (), list(frame.columns))
    require_names(frame.columns, kept, "--keep")
    layout = Layout(kind, long, frame[list(kept)], loaded.schema_)
    with rows_after(0, file_name(rows)):
        _explain_frame(loaded, frame, layout, out, json=json, messages=messages, **options)


def _explain_frame(
    explainer: Explainer,
    frame: Any,
    layout: Layout,
    out: Path | None,
    *,
    json: bool,
    messages: Messages,
    **options: Any,
) -> None:
    kind = layout.kind
    options = _split_vary(options, list(frame.columns))
    nested = json or (out is not None and out.suffix.lower() in (".json", ".jsonl"))
    reasons: list[str] = []

    def lay_out() -> Iterator[Any]:
        for piece in explainer.stream(frame, PIECE_ROWS[kind], kind.value, **options):
            yield layout.records(piece) if nested else layout.frame(piece)
            reasons.extend(str(reason) for reason in getattr(piece, "reasons", ()) if reason)
            advance(len(piece))

    with messages.progress(f"Explaining ({kind})", len(frame)) as advance:
        write(lay_out(), out, json)
    if reasons:
        messages.note(f"{len(reasons):,} of {len(frame):,} rows have no counterfactual: {reasons[0]}")
    if out is not None:
        messages.info(f"{kind.capitalize()} of {len(frame):,} rows written to {out}")


def _kind_options(kind: Kind, **options: Any) -> dict[str, Any]:
    """Return the given options; raise if one belongs to another kind."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if KINDS[name] is not kind:
            flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
            raise UsageError(f"{flag} goes with --kind {KINDS[name]}, not with --kind {kind}")
    return given


def _split_vary(options: dict[str, Any], columns: list[str]) -> dict[str, Any]:
    if "features_to_vary" not in options:
        return options
    return options | {"features_to_vary": list(split_names(options["features_to_vary"], columns))}


def _require_layout(out: Path | None, json: bool, long: bool) -> None:
    if long and (json or (out is not None and out.suffix.startswith(".json"))):
        raise UsageError("--long is for CSV and Parquet; JSON has a record per row")
    if json and out is not None and out.suffix not in (".json", ".jsonl"):
        raise UsageError(f"--json and -o {out} do not go together; name a .json file")


def _require_folder(out: Path | None, other_layout: bool) -> Path:
    if other_layout:
        raise UsageError("--json and --long do not go with folders; these hold Parquet, a line per row")
    if out is None or out.suffix:
        raise UsageError("a folder of rows and --workers need a folder to write to; name it with -o FOLDER")
    return out


def _announce_model(explainer: Path, model: Path | None, trusted: bool, messages: Messages) -> None:
    if model is None:
        note_stand_in(explainer, messages)
    elif not model.is_file():
        raise CommandError(f"the model {model} does not exist")
    elif not trusted:
        warn_of_code(model, messages)


def _explain_folder(
    rows: Path,
    out: Path,
    explainer: Path,
    kind: Kind,
    *,
    keep: tuple[str, ...],
    messages: Messages,
    **options: Any,
) -> None:
    """Explain Parquet files part by part, skipping parts that an earlier run has finished."""
    from pyarrow import parquet as pq

    from illume.data.row_sources import parquet_files
    from illume.distributed import explain_parquet

    columns = pq.read_schema(parquet_files(rows)[0]).names
    written = explain_parquet(
        rows,
        out,
        explainer,
        kind.value,
        trust_model=True,
        keep=split_names(keep, columns),
        verbose=False if messages.quiet else None,
        **_split_vary(options, columns),
    )
    skipped = (
        f", {written.n_skipped} of {written.n_parts} parts by an earlier run" if written.n_skipped else ""
    )
    messages.info(f"{kind.capitalize()} of {written.n_rows:,} rows written to {out}{skipped}")
