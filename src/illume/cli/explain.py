"""`illume explain`: explain the rows of a file, or of a folder of Parquet files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Context, Option

from illume.cli import load, options
from illume.cli.messages import CommandError, Messages, UsageError
from illume.cli.options import Names, parse_directions, parse_range, split_columns, split_names
from illume.cli.output import JSON, SUFFIXES, Kind, require_output, write
from illume.cli.read_rows import file_name, require_csv, require_names
from illume.data.number_text import count
from illume.errors import rows_after

if TYPE_CHECKING:
    from illume import Explainer

Layout = Literal["wide", "long", "records"]
WORKERS = 2
OPTION_WORDS = re.compile(
    r"\b(\w+_\w+|((?<=^)|(?<=use )|(?<=and )|(?<=or )|(?<= a ))(precision|interval|threshold|output))\b"
)
FLAGS = {"n": "-n", "desired_class": "--desired", "features_to_vary": "--vary"}


def explain(
    context: Context,
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
    model: options.Model = None,
    json: Annotated[bool, Option("--json", help="Print a line of JSON per row instead of CSV.")] = False,
    long: Annotated[bool, Option("--long", help="A line per row and feature (condition, change).")] = False,
    keep: Annotated[Names, Option(metavar="A,B", help="Columns of ROWS to copy to the output.")] = None,
    n: Annotated[int | None, Option("-n", min=1, help="Counterfactuals per row (3 by default).")] = None,
    desired: options.Desired = None,
    vary: options.Vary = None,
    immutable: options.Immutable = None,
    direction: options.Direction = None,
    max_changes: Annotated[int | None, Option(min=1, help="Counterfactuals: most columns to change.")] = None,
    precision: Annotated[
        float | None, Option(min=0.0, max=1.0, help="Rules: desired precision (0.95 by default).")
    ] = None,
    max_conditions: Annotated[int | None, Option(min=1, help="Rules: most conditions.")] = None,
    interval: Annotated[
        float | None,
        Option(min=0.5, max=1.0, help="Rules on numbers: share that their interval holds (0.9 by default)."),
    ] = None,
    desired_range: options.DesiredRange = None,
    desired_change: Annotated[
        float | None, Option(help="Counterfactuals: by how much the number should rise, or fall.")
    ] = None,
    threshold: Annotated[
        float | None,
        Option(
            help="Two classes: probability of the positive one to decide for it. Numbers: rules for a side "
            "of it; counterfactuals that cross it."
        ),
    ] = None,
    output: Annotated[
        str | None, Option(metavar="NAME", help="Rules and counterfactuals: which of several numbers.")
    ] = None,
    refine: Annotated[int | None, Option(min=1, help="Attributions: more model queries per row.")] = None,
    workers: Annotated[
        int | None,
        Option(min=0, help="Processes that explain Parquet into a folder (2 if ROWS is a folder)."),
    ] = None,
    positive_class: options.PositiveClass = None,
    escape: Annotated[
        bool, Option("--escape/--no-escape", help="CSV: put ' before texts that spreadsheets would run.")
    ] = True,
    unknown: options.UnknownCategories = None,
    missing: options.MissingWords = None,
    trust_model: options.TrustModel = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Explain the rows of a file: attributions, rules or counterfactuals.

    Without -o the result goes to stdout, as CSV or, with --json, as JSON lines.

    If ROWS is a folder of Parquet files, -o names a folder: several processes write a file for each part,
    and an interrupted run continues where it stopped.

    `row` is the position of the row in ROWS, from 0; --keep copies columns to join by.

    [b]illume explain loans.illume new.csv -k rules --model loans.model.joblib --trust-model -o rules.csv[/]

    [b]illume explain homes.illume new.csv -k counterfactuals --desired-range 200000,250000 --model …[/]
    """
    messages = options.start(context, quiet, debug)
    changes = {"desired_class": desired, "features_to_vary": vary or None, "immutable": immutable or None}
    limits = {"direction": parse_directions(direction), "max_changes": max_changes}
    numbers = {"desired_range": parse_range(desired_range), "desired_change": desired_change}
    question = {"threshold": threshold, "output": output}
    arguments = _arguments(
        kind,
        attributions={"refine": refine, "threshold": threshold},
        rules={"precision": precision, "max_conditions": max_conditions, "interval": interval, **question},
        counterfactuals={"n": n, **changes, **limits, **numbers, **question},
    )
    require_csv(rows, missing)
    if kind == "counterfactuals" and model is None:
        option = load.model_option(explainer)
        raise UsageError(f"counterfactuals are verified on the model; give it with {option}")
    if rows.is_dir() or workers is not None:
        _require_folder(out, explainer, model, other_layout=json or long)
        tried = load.load_explainer(explainer, None, messages)
        _check_arguments(tried, kind, _ask(tried, kind, positive_class, arguments))
        arguments |= {} if positive_class is None else {"positive_class": positive_class}
        if model is not None:
            load.require_trust(model, trust_model)
        arguments |= {"model": model, "workers": WORKERS if workers is None else workers, "unknown": unknown}
        load.note_stand_in(explainer, model, messages)
        _explain_folder(rows, out, explainer, kind, keep=keep, messages=messages, **arguments)
        return
    _require_layout(out, json, long)
    if out is not None:
        require_output(out, SUFFIXES, explainer, rows, model)
    loaded = load.load_explainer(explainer, model, messages, trust_model, unknown)
    arguments = _ask(loaded, kind, positive_class, arguments)
    _check_arguments(loaded, kind, arguments)
    load.note_stand_in(explainer, model, messages)
    frame = load.read_rows_for(loaded, rows, missing)
    kept = split_names(keep, list(frame.columns))
    require_names(frame.columns, kept, "--keep")
    nested = json or (out is not None and out.suffix.lower() in JSON)
    layout: Layout = "records" if nested else "long" if long else "wide"
    about: dict[str, Any] = {"kind": kind, "layout": layout, "name": file_name(rows), "messages": messages}
    about["escape"] = escape
    _explain_frame(loaded, frame, kept, out, **about, **arguments)


def _arguments(kind: Kind, **by_kind: dict[str, Any]) -> dict[str, Any]:
    """Return the given arguments of a kind; raise if one belongs to another kind."""
    given = [(name, other) for other, each in by_kind.items() for name in each if each[name] is not None]
    for name, _ in given:
        if name not in by_kind[kind]:
            kinds = " or ".join(other for other, each in by_kind.items() if name in each)
            raise UsageError(f"{_flag(name)} goes with --kind {kinds}, not with --kind {kind}")
    return {name: by_kind[kind][name] for name, _ in given}


def _ask(
    explainer: Explainer, kind: Kind, positive_class: str | None, arguments: dict[str, Any]
) -> dict[str, Any]:
    """Set the positive class and, of classes, the threshold; return the other arguments."""
    threshold, others = arguments.get("threshold"), arguments
    if explainer.fitted_.outputs.decides:
        others = {name: value for name, value in arguments.items() if name != "threshold"}
    elif threshold is not None and kind == "attributions":
        raise UsageError("--threshold goes with --kind rules or counterfactuals for models that give numbers")
    load.ask(explainer, positive_class, threshold if others is not arguments else None)
    return others


def _flag(name: str) -> str:
    return FLAGS.get(name, f"--{name.replace('_', '-')}")


def _check_arguments(explainer: Explainer, kind: Kind, arguments: dict[str, Any]) -> None:
    """Raise if options do not go with what the explained model answers, before rows are read."""
    from illume.explanations.check_options import check_options

    try:
        check_options(explainer.fitted_.outputs, kind, arguments)
    except ValueError as error:
        text = str(error).replace("=[low, high]", " LOW,HIGH")
        raise UsageError(OPTION_WORDS.sub(lambda name: _flag(name.group()), text)) from None


def _require_layout(out: Path | None, json: bool, long: bool) -> None:
    if long and (json or (out is not None and out.suffix in JSON)):
        raise UsageError("--long is for CSV and Parquet; JSON has a record per row")
    if json and out is not None and out.suffix not in JSON:
        raise UsageError(f"--json and -o {out} do not go together; name a .json file")


def _require_folder(out: Path | None, explainer: Path, model: Path | None, *, other_layout: bool) -> None:
    if other_layout:
        raise UsageError("--json and --long do not go with folders; these hold Parquet, a line per row")
    if out is None or out.suffix:
        raise UsageError("a folder of rows and --workers need a folder to write to; name it with -o FOLDER")
    load.require_file(explainer)
    if model is not None and not model.is_file():
        raise CommandError(f"the model {model} does not exist")


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
