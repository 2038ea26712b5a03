"""`illume report` and `illume export`: HTML reports and ONNX graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Option

from illume.cli.load import load_explainer, model_option, read_rows_for
from illume.cli.messages import UsageError
from illume.cli.options import (
    Debug,
    ExplainerFile,
    MissingWords,
    Model,
    Quiet,
    Rows,
    TrustModel,
    UnknownCategories,
    start,
)
from illume.cli.output import require_output
from illume.cli.read_rows import file_name, require_csv
from illume.errors import rows_after


def report(
    context: Context,
    explainer: ExplainerFile,
    rows: Rows,
    *,
    out: Annotated[Path, Option("--out", "-o", metavar="FILE.html", help="File to write or replace.")] = Path(
        "report.html"
    ),
    title: Annotated[str | None, Option(help="Title of the report.")] = None,
    model: Model = None,
    unknown: UnknownCategories = None,
    missing: MissingWords = None,
    trust_model: TrustModel = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a self-contained HTML report about the rows of a file.

    [b]illume report loans.illume new.csv --model loans.model.joblib -o report.html[/]
    """
    messages = start(context, quiet, debug)
    if model is None:
        raise UsageError(f"a report shows the model's decisions; give it with {model_option(explainer)}")
    require_csv(rows, missing)
    require_output(out, (".html", ".htm"), explainer, rows, model)
    loaded = load_explainer(explainer, model, messages, trust_model, unknown)
    frame = read_rows_for(loaded, rows, missing)
    messages.info(f"Explaining {len(frame):,} rows for the report …")
    with rows_after(0, file_name(rows)):
        loaded.report(frame, out, title=title)
    messages.info(f"Report written to {out} ({out.stat().st_size / 1e6:.1f} MB); open it in a browser")


def export(
    context: Context,
    explainer: ExplainerFile,
    out: Annotated[Path, Argument(metavar="OUT.onnx", help="File to write or replace.")],
    *,
    encoded: Annotated[bool, Option("--encoded", help="Take encoded inputs instead of raw values.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write attributions as an ONNX graph, for runtimes without Python.

    [b]illume export loans.illume loans.onnx[/]
    """
    from illume import export_onnx

    messages = start(context, quiet, debug)
    require_output(out, (".onnx",), explainer)
    loaded = load_explainer(explainer, None, messages)
    export_onnx(loaded, out, inputs="encoded" if encoded else "raw")
    messages.info(f"Graph written to {out} ({out.stat().st_size / 1e3:.0f} kB)")
