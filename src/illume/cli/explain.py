"""`illume explain`: explain the rows of a file, or of a folder of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from illume.cli import load, options
from illume.cli.messages import Messages, UsageError, flag
from illume.cli.options import Names, split_columns, split_names
from illume.cli.output import JSON, SUFFIXES, Kind, require_output, write
from illume.cli.read_rows import file_name, require_csv, require_names
from illume.data.number_text import count
from illume.errors import Setting, rows_after

if TYPE_CHECKING:
    from illume import Explainer

Layout = Literal["wide", "long", "records"]
WORKERS = 2


def explain(
    messages: Messages,
    explainer: options.ExplainerFile,
    rows: options.Rows,
    *,
    kind: Annotated[Kind, Option("--kind", "-k", help="Kind of explanation.")] = "attributions",
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="FILE",
            help="A .parquet, .csv, .json or .jsonl file; for folders a folder.",
        ),
    ] = None,
    model: options.Model,
    question: options.Question,
    attributions: options.AttributionOptions,
    rules: options.RuleOptions,
    counterfactuals: options.CounterfactualOptions,
    json: Annotated[bool, Option("--json", help="Print a line of JSON per row instead of CSV.")] = False,
    long: Annotated[bool, Option("--long", help="A line per row and feature (condition, change).")] = False,
    keep: Annotated[Names, Option(metavar="A,B", help="Columns of ROWS to copy to the output.")] = None,
    workers: Annotated[
        int | None,
        Option(min=0, help="Processes that explain Parquet into a folder (2 if ROWS is a folder)."),
    ] = None,
    escape: Annotated[
        bool, Option("--escape/--no-escape", help="CSV: put ' before texts that spreadsheets would run.")
    ] = True,
    unknown: options.UnknownCategories = None,
    missing: options.MissingWords = None,
) -> None:
    """Explain the rows of a file: attributions, rules or counterfactuals.

    Without -o the result goes to stdout, as CSV or, with --json, as JSON lines.

    If ROWS is a folder of Parquet files, -o names a folder: several processes write a file for each part,
    and an interrupted run continues where it stopped.

    `row` is the position of the row in ROWS, from 0; --keep copies columns to join by.

    [b]illume explain loans.illume new.csv -k rules --model loans.joblib --trust-model -o rules.csv[/]

    [b]illume explain homes.illume new.csv -k counterfactuals --desired-range 200000,250000 --model …[/]
    """
    by_kind = {"attributions": attributions, "rules": rules, "counterfactuals": counterfactuals}
    arguments = _arguments(kind, {name: each.given() for name, each in by_kind.items()})
    require_csv(rows, missing)
    if kind == "counterfactuals" and model.model is None:
        raise UsageError(f"counterfactuals are verified on the model; give it with {load.MODEL_OPTION}")
    if rows.is_dir() or workers is not None:
        _require_folder(out, other_layout=json or long)
        tried = load.load_explainer(explainer, messages)
        _ask(tried, kind, question, arguments)
        load.require_model_file(model)
        black_box = load.model_file(model) or load.load_model(model, messages)
        load.note_stand_in(model, messages)
        about = {"model": black_box, "workers": WORKERS if workers is None else workers, "unknown": unknown}
        about |= {"positive_class": question.positive_class}
        _explain_folder(rows, out, explainer, kind, keep=keep, messages=messages, **arguments, **about)
        return
    _require_layout(out, json, long)
    if out is not None:
        require_output(out, SUFFIXES, explainer, rows, load.model_file(model))
    loaded = load.load_explainer(explainer, messages, model, unknown=unknown)
    arguments = _ask(loaded, kind, question, arguments)
    load.note_stand_in(model, messages)
    frame = load.read_rows_for(loaded, rows, missing, keep)
    kept = split_names(keep, list(frame.columns))
    require_names(frame.columns, kept, "--keep")
    nested = json or (out is not None and out.suffix.lower() in JSON)
    layout: Layout = "records" if nested else "long" if long else "wide"
    _explain_frame(
        loaded,
        frame,
        kept,
        out,
        kind=kind,
        layout=layout,
        name=file_name(rows),
        messages=messages,
        escape=escape,
        **arguments,
    )


def _arguments(kind: Kind, given: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the given arguments of a kind; raise if one belongs to other kinds alone."""
    for name in dict.fromkeys(name for each in given.values() for name in each):
        kinds = [other for other, each in given.items() if name in each]
        if kind not in kinds:
            option = flag(Setting(name))
            raise UsageError(f"{option} goes with --kind {' or '.join(kinds)}, not with --kind {kind}")
    return given[kind]


def _ask(
    explainer: Explainer, kind: Kind, question: options.Question, arguments: dict[str, Any]
) -> dict[str, Any]:
    """Ask an explainer the question, and return the arguments that are left; raise if one does not fit.

    For numbers, a threshold is an argument of rules and counterfactuals.
    """
    from illume.explanations.check_options import check_options

    asked = vars(question)
    if explainer.fitted_.outputs.decides:
        arguments = {name: value for name, value in arguments.items() if name != "threshold"}
    elif question.threshold is not None and kind == "attributions":
        raise UsageError("--threshold goes with --kind rules or counterfactuals for models that give numbers")
    else:
        asked = {"positive_class": question.positive_class}
    explainer.set_params(**{name: value for name, value in asked.items() if value is not None})
    check_options(explainer.fitted_.outputs, kind, arguments)
    return arguments


def _require_layout(out: Path | None, json: bool, long: bool) -> None:
    if long and (json or (out is not None and out.suffix in JSON)):
        raise UsageError("--long is for CSV and Parquet; JSON has a record per row")
    if json and out is not None and out.suffix not in JSON:
        raise UsageError(f"--json and -o {out} do not go together; name a .json file")


def _require_folder(out: Path | None, *, other_layout: bool) -> None:
    if other_layout:
        raise UsageError("--json and --long do not go with folders; these hold Parquet, a line per row")
    if out is None or out.suffix:
        raise UsageError("a folder of rows and --workers need a folder to write to; name it with -o FOLDER")


def _explain_frame(
    explainer: Explainer,
    frame: Any,
    keep: tuple[str, ...],
    out: Path | None,
    *,
    kind: Kind,
    layout: Layout,
    name: str,
    messages: Messages,
    escape: bool,
    **arguments: Any,
) -> None:
    """Explain a frame piece by piece; the wide layout has the columns of `explain_partition` and `row`."""
    from tqdm import tqdm

    from illume.distributed.output_columns import OutputFormat
    from illume.distributed.partition import kept_columns
    from illume.results.frames import rename_taken

    columns = rename_taken(kept_columns(frame, keep), ["row"])
    if kind != "counterfactuals":  # these have the column already
        columns = kept_columns(frame.assign(row=range(len(frame))), ["row"]) | columns
    types = {name: column.type for name, column in columns.items()}
    question = {name: arguments[name] for name in ("threshold", "output") if name in arguments}
    table = OutputFormat(explainer, kind, types, **question)
    explain_rows = explainer if kind == "attributions" else getattr(explainer, kind)
    arguments, kept = split_columns(arguments, list(frame.columns)), frame[list(keep)]
    reasons: list[str] = []

    def explain_pieces() -> Iterator[Any]:
        for start in range(0, len(frame), size := table.piece_rows()):
            rows = slice(start, start + size)
            with rows_after(start, name):
                result = explain_rows(frame.iloc[rows], **arguments)
            if layout == "wide":
                yield table.table(result, [column[rows] for column in columns.values()], start).to_pandas()
            elif layout == "long":
                yield _long_table(result, kept)
            else:
                yield _records(result, kept, start)
            reasons.extend(_reasons(result, kind))
            bar.update(len(result))

    disable = True if messages.quiet else None  # None: shown in a terminal
    with tqdm(total=len(frame), desc=f"Explaining ({kind})", unit="row", leave=False, disable=disable) as bar:
        write(explain_pieces(), out, json=layout == "records", escape=escape)
    if reasons:
        messages.note(f"{len(reasons):,} of {len(frame):,} rows have no counterfactual: {reasons[0]}")
    if out is not None:
        messages.info(f"{kind.capitalize()} of {count(len(frame), 'row')} written to {out}")


def _reasons(result: Any, kind: Kind) -> list[str]:
    """Return why rows have no counterfactual."""
    return [str(reason) for reason in result.reasons if reason] if kind == "counterfactuals" else []


def _long_table(result: Any, kept: Any) -> Any:
    """Return a line per row and feature (condition, change), with kept columns after the row's position."""
    from illume.results.frames import rename_taken

    table = result.to_frame("long")
    columns = kept.iloc[table.iloc[:, 0]].to_dict("series")
    for i, (name, column) in enumerate(rename_taken(columns, table.columns).items(), start=1):
        table.insert(i, name, column.to_numpy())
    return table


def _records(result: Any, kept: Any, start: int) -> list[dict[str, Any]]:
    records = []
    for row, each in enumerate(result, start):
        copied = {"kept": kept.iloc[row].to_dict()} if len(kept.columns) else {}
        records.append({"row": row, **copied, **each.to_dict()})
    return records


def _explain_folder(
    rows: Path, out: Any, explainer: Path, kind: Kind, *, keep: Names, messages: Messages, **arguments: Any
) -> None:
    """Explain Parquet files part by part, skipping parts that an earlier run has finished."""
    from pyarrow import parquet as pq

    from illume.data.row_sources import parquet_files
    from illume.distributed import explain_parquet

    columns = pq.read_schema(parquet_files(rows)[0]).names
    arguments = split_columns(arguments, columns) | {"keep": split_names(keep, columns), "trust_model": True}
    verbose = False if messages.quiet else None
    written = explain_parquet(rows, out, explainer, kind, verbose=verbose, **arguments)
    skipped = (
        f", {written.n_skipped} of {written.n_parts} parts by an earlier run" if written.n_skipped else ""
    )
    messages.info(f"{kind.capitalize()} of {count(written.n_rows, 'row')} written to {out}{skipped}")
