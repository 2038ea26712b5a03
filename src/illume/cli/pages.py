"""`illume report` and `explore`: pages about the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Context, Option

from illume.cli import options
from illume.cli.load import ask, load_explainer, model_option, note_stand_in, read_rows_for
from illume.cli.messages import UsageError
from illume.cli.output import require_output
from illume.cli.read_rows import file_name, require_csv, require_names
from illume.data.number_text import count
from illume.errors import rows_after

PAGES = (".html", ".htm")
Page = Annotated[
    Path | None,
    Option(
        "--out",
        "-o",
        metavar="FILE.html",
        help="File to write or replace; by default report.html or explorer.html, or report-2.html ….",
    ),
]


def report(
    context: Context,
    explainer: options.ExplainerFile,
    rows: options.Rows,
    *,
    out: Page = None,
    title: Annotated[str | None, Option(help="Title of the report.")] = None,
    desired: options.Desired = None,
    desired_range: options.DesiredRange = None,
    vary: options.Vary = None,
    immutable: options.Immutable = None,
    direction: options.Direction = None,
    target: Annotated[
        str | None, Option(metavar="COLUMN", help="Column of true answers: how right is the model itself?")
    ] = None,
    model: options.Model = None,
    positive_class: options.PositiveClass = None,
    threshold: options.Threshold = None,
    unknown: options.UnknownCategories = None,
    missing: options.MissingWords = None,
    labels: options.Labels = None,
    trust_model: options.TrustModel = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write a self-contained HTML report about the rows of a file.

    [b]illume report loans.illume new.csv --model loans.model.joblib --trust-model -o report.html[/]
    """
    messages = options.start(context, quiet, debug)
    if model is None:
        raise UsageError(f"a report shows the model's answers; give it with {model_option(explainer)}")
    require_csv(rows, missing)
    page = _choose_page(out, "report", explainer, rows, model)
    loaded = ask(load_explainer(explainer, model, messages, trust_model, unknown), positive_class, threshold)
    if labels is not None:
        loaded.set_params(labels=labels)
    frame = read_rows_for(loaded, rows, missing)
    if target is not None:
        require_names(frame.columns, [target], "--target")
    given = options.search_options(desired, desired_range, vary, immutable, direction)
    messages.info(f"Explaining {count(len(frame), 'row')} for the report …")
    with rows_after(0, file_name(rows)):
        wanted: dict[str, Any] = options.split_columns(given, list(frame.columns))
        y = None if target is None else frame[target]
        loaded.report(frame, page, y=y, title=title, **wanted)
    messages.info(f"Report written to {page} ({page.stat().st_size / 1e6:.1f} MB); open it in a browser")


def explore(
    context: Context,
    explainer: options.ExplainerFile,
    rows: options.Rows,
    *,
    out: Page = None,
    title: Annotated[str | None, Option(help="Title of the explorer.")] = None,
    max_rows: Annotated[int, Option(min=1, help="Most rows to show, evenly spaced.")] = 1_000,
    desired: options.Desired = None,
    desired_range: options.DesiredRange = None,
    vary: options.Vary = None,
    immutable: options.Immutable = None,
    direction: options.Direction = None,
    model: options.Model = None,
    hold_model: Annotated[
        bool,
        Option("--hold-model/--no-hold-model", help="Whether the page may hold a model that was read."),
    ] = True,
    positive_class: options.PositiveClass = None,
    threshold: options.Threshold = None,
    unknown: options.UnknownCategories = None,
    missing: options.MissingWords = None,
    labels: options.Labels = None,
    trust_model: options.TrustModel = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write an HTML page in which rows of a file can be changed, and are explained anew at once.

    The page holds the model's twin, which answers: of a model that was read, that is the model itself, so
    that who has the page has the model. With --model, there are counterfactuals that it has confirmed;
    `illume serve --explorer` asks it about changed rows, too.

    [b]illume explore loans.illume new.csv --model loans.model.joblib --trust-model -o explorer.html[/]
    """
    messages = options.start(context, quiet, debug)
    require_csv(rows, missing)
    page = _choose_page(out, "explorer", explainer, rows, model)
    loaded = ask(load_explainer(explainer, model, messages, trust_model, unknown), positive_class, threshold)
    note_stand_in(explainer, model, messages)
    if labels is not None:
        loaded.set_params(labels=labels)
    frame = read_rows_for(loaded, rows, missing)
    given = options.search_options(desired, desired_range, vary, immutable, direction)
    messages.info(f"Explaining {count(min(len(frame), max_rows), 'row')} for the explorer …")
    with rows_after(0, file_name(rows)):
        wanted: dict[str, Any] = options.split_columns(given, list(frame.columns))
        loaded.explorer(frame, page, title=title, max_rows=max_rows, hold_model=hold_model, **wanted)
    messages.info(f"Explorer written to {page} ({page.stat().st_size / 1e6:.1f} MB); open it in a browser")


def _choose_page(out: Path | None, kind: str, *inputs: Path | None) -> Path:
    """Return where to write a page; by default where no file is."""
    from illume.report.collect import require_page

    page = require_page(None, kind) if out is None else out
    require_output(page, PAGES, *inputs)
    return page
