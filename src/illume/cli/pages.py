"""`illume report` and `explore`: pages about the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from illume.cli import options
from illume.cli.load import MODEL_OPTION, load_explainer, model_file, note_stand_in, read_rows_for
from illume.cli.messages import Messages, UsageError
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
    messages: Messages,
    explainer: options.ExplainerFile,
    rows: options.Rows,
    *,
    out: Page = None,
    title: Annotated[str | None, Option(help="Title of the report.")] = None,
    wishes: options.Wishes,
    target: Annotated[
        str | None, Option(metavar="COLUMN", help="Column of true answers: how right is the model itself?")
    ] = None,
    model: options.Model,
    question: options.Question,
    unknown: options.UnknownCategories = None,
    missing: options.MissingWords = None,
    labels: options.Labels = None,
) -> None:
    """Write a self-contained HTML report about the rows of a file.

    [b]illume report loans.illume new.csv --model loans.joblib --trust-model -o report.html[/]
    """
    if model.model is None:
        raise UsageError(f"a report shows the model's answers; give it with {MODEL_OPTION}")
    require_csv(rows, missing)
    page = _choose_page(out, "report", explainer, rows, model_file(model))
    loaded = load_explainer(explainer, messages, model, question, unknown)
    if labels is not None:
        loaded.set_params(labels=labels)
    frame = read_rows_for(loaded, rows, missing)
    if target is not None:
        require_names(frame.columns, [target], "--target")
    messages.info(f"Explaining {count(len(frame), 'row')} for the report …")
    with rows_after(0, file_name(rows)):
        wanted = options.split_columns(wishes.given(), list(frame.columns))
        y = None if target is None else frame[target]
        loaded.report(frame, page, y=y, title=title, **wanted)
    messages.info(f"Report written to {page} ({page.stat().st_size / 1e6:.1f} MB); open it in a browser")


def explore(
    messages: Messages,
    explainer: options.ExplainerFile,
    rows: options.Rows,
    *,
    out: Page = None,
    title: Annotated[str | None, Option(help="Title of the explorer.")] = None,
    max_rows: Annotated[int, Option(min=1, help="Most rows to show, evenly spaced.")] = 1_000,
    wishes: options.Wishes,
    model: options.Model,
    hold_model: Annotated[
        bool,
        Option("--hold-model/--no-hold-model", help="Whether the page may hold a model that was read."),
    ] = True,
    question: options.Question,
    unknown: options.UnknownCategories = None,
    missing: options.MissingWords = None,
    labels: options.Labels = None,
) -> None:
    """Write an HTML page in which rows of a file can be changed, and are explained anew at once.

    The page holds the model's twin, which answers: of a model that was read, that is the model itself, so
    that who has the page has the model. With --model, there are counterfactuals that it has confirmed;
    `illume serve --explorer` asks it about changed rows, too.

    [b]illume explore loans.illume new.csv --model loans.joblib --trust-model -o explorer.html[/]
    """
    require_csv(rows, missing)
    page = _choose_page(out, "explorer", explainer, rows, model_file(model))
    loaded = load_explainer(explainer, messages, model, question, unknown)
    note_stand_in(model, messages)
    if labels is not None:
        loaded.set_params(labels=labels)
    frame = read_rows_for(loaded, rows, missing)
    messages.info(f"Explaining {count(min(len(frame), max_rows), 'row')} for the explorer …")
    with rows_after(0, file_name(rows)):
        wanted = options.split_columns(wishes.given(), list(frame.columns))
        loaded.explorer(frame, page, title=title, max_rows=max_rows, hold_model=hold_model, **wanted)
    messages.info(f"Explorer written to {page} ({page.stat().st_size / 1e6:.1f} MB); open it in a browser")


def _choose_page(out: Path | None, kind: str, *inputs: Path | None) -> Path:
    """Return where to write a page; by default where no file is."""
    from illume.report.collect import require_page

    page = require_page(None, kind) if out is None else out
    require_output(page, PAGES, *inputs)
    return page
