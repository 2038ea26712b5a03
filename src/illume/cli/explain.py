"""`illume explain`: explanations of the rows of a file, to a file or to stdout."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from illume.cli.csv_files import named
from illume.cli.errors import UsageError
from illume.cli.folders import explain_folder
from illume.cli.laying_out import Kind, Layout, laid_out, lines
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
    listed,
    voice_of,
)
from illume.cli.reading import require
from illume.cli.sinks import SUFFIXES, opened
from illume.cli.voice import Voice
from illume.cli.writing import require_output
from illume.errors import rows_after

PIECE = {Kind.ATTRIBUTIONS: 8_192, Kind.RULES: 2_048, Kind.COUNTERFACTUALS: 256}
OWNERS = {
    "n": Kind.COUNTERFACTUALS,
    "desired_class": Kind.COUNTERFACTUALS,
    "features_to_vary": Kind.COUNTERFACTUALS,
    "max_changes": Kind.COUNTERFACTUALS,
    "precision": Kind.RULES,
    "max_conditions": Kind.RULES,
    "refine": Kind.ATTRIBUTIONS,
}
FLAGS = {"n": "-n", "desired_class": "--desired", "features_to_vary": "--vary"}


@dataclass(frozen=True)
class Request:
    """What to explain, how, and where to."""

    explainer: Path
    rows: Path
    kind: Kind = Kind.ATTRIBUTIONS
    out: Path | None = None
    model: Path | None = None
    trusted: bool = False
    json: bool = False
    long: bool = False
    keep: tuple[str, ...] = ()
    workers: int | None = None
    unknown: str | None = None
    missing: list[str] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def in_folders(self) -> bool:
        """Whether explanations go to a folder, by several processes."""
        return self.workers is not None or self.rows.is_dir()

    def check(self) -> None:
        """Refuse, before any work is done, what cannot work."""
        require_csv(self.rows, self.missing)
        for name in self.options:
            if OWNERS[name] is not self.kind:
                flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
                raise UsageError(f"{flag} goes with --kind {OWNERS[name]}, not with --kind {self.kind}")
        if self.kind is Kind.COUNTERFACTUALS and self.model is None:
            how = how_to_give_model(self.explainer)
            raise UsageError(f"counterfactuals are checked on the model; give it with {how}")
        if self.in_folders:
            return
        nested = self.json or (self.out is not None and self.out.suffix.startswith(".json"))
        if self.long and nested:
            raise UsageError("--long is for CSV and Parquet; JSON has a record per row")
        if self.out is not None:
            require_output(self.out, SUFFIXES, self.explainer, self.rows, self.model)
            if self.json and self.out.suffix not in (".json", ".jsonl"):
                raise UsageError(f"--json and -o {self.out} do not go together; name a .json file")


def explain(request: Request, voice: Voice) -> None:
    """Explain the rows piece by piece and write each piece."""
    request.check()
    if request.in_folders:
        explain_folder(request, voice)
        return
    explainer = load_explainer(request.explainer, request.model, voice, request.trusted, request.unknown)
    if request.model is None:
        how = how_to_give_model(request.explainer)
        voice.note(f"without the model, its decisions are guessed by the surrogate; give it with {how}")
    rows = rows_for(explainer, request.rows, request.missing)
    keep = listed(request.keep, list(rows.columns))
    require(rows, keep, "--keep")
    layout = Layout(request.kind, request.long, rows[list(keep)], explainer.schema_)
    options = dict(request.options)
    if "features_to_vary" in options:
        options["features_to_vary"] = list(listed(options["features_to_vary"], list(rows.columns)))
    without = _Missed()
    pieces = explainer.stream(rows, PIECE[request.kind], request.kind.value, **options)
    with (
        voice.progress(f"Explaining ({request.kind})", len(rows)) as done,
        opened(request.out, request.json) as sink,
        rows_after(0, named(request.rows)),
    ):
        for piece in pieces:
            sink.add(lines(piece, layout) if sink.nested else laid_out(piece, layout))
            without.count(piece)
            done(len(piece))
    without.tell(voice, len(rows))
    if request.out is not None:
        voice.say(f"{request.kind.capitalize()} of {len(rows):,} rows written to {request.out}")


@dataclass
class _Missed:
    """Rows without a counterfactual, and the first reason."""

    n_rows: int = 0
    reason: str = ""

    def count(self, piece: Any) -> None:
        reasons = [str(reason) for reason in getattr(piece, "reasons", ()) if reason]
        self.n_rows += len(reasons)
        self.reason = self.reason or next(iter(reasons), "")

    def tell(self, voice: Voice, n_rows: int) -> None:
        if self.n_rows:
            voice.note(f"{self.n_rows:,} of {n_rows:,} rows have no counterfactual: {self.reason}")


def command(
    context: typer.Context,
    explainer: ExplainerFile,
    rows: Rows,
    *,
    kind: Annotated[Kind, typer.Option("--kind", "-k", help="What to explain by.")] = Kind.ATTRIBUTIONS,
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
        bool, typer.Option("--json", help="To stdout as JSON, a line per row, instead of CSV.")
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
        typer.Option(metavar="CLASS", help="Counterfactuals: the class to reach; by default any other."),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Counterfactuals: the only columns that may change."),
    ] = None,
    max_changes: Annotated[
        int | None, typer.Option(min=1, help="Counterfactuals: columns that change at most.")
    ] = None,
    precision: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Rules: wanted precision (0.95 by default).")
    ] = None,
    max_conditions: Annotated[int | None, typer.Option(min=1, help="Rules: conditions at most.")] = None,
    refine: Annotated[
        int | None, typer.Option(min=1, help="Attributions: more questions to the model for each row.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=0, help="Parquet to a folder by so many processes (2 where ROWS is a folder)."),
    ] = None,
    unknown: UnknownCategories = None,
    missing: MissingWords = None,
    trust_model: TrustModel = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Explain the rows of a file: attributions, rules or counterfactuals.

    Without -o the answer goes to stdout, as CSV or, with --json, as JSON lines.

    Where ROWS is a folder of Parquet files, -o names a folder: several processes write a file for each part,
    and a run that was stopped goes on where it was.

    `row` is the position of the row in ROWS, from 0; --keep copies columns by which to join.

    [b]illume explain loans.illume new.csv --kind rules --model loans.model.joblib -o rules.csv[/]
    """
    voice = voice_of(context, quiet, debug)
    options = {
        "n": n,
        "desired_class": desired,
        "features_to_vary": vary or None,
        "max_changes": max_changes,
        "precision": precision,
        "max_conditions": max_conditions,
        "refine": refine,
    }
    request = Request(
        explainer=explainer,
        rows=rows,
        kind=kind,
        out=out,
        model=model,
        trusted=trust_model,
        json=json,
        long=long,
        keep=tuple(keep or ()),
        workers=workers,
        unknown=unknown,
        missing=missing,
        options={name: value for name, value in options.items() if value is not None},
    )
    explain(request, voice)
