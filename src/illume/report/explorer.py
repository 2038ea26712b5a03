"""The explorer: one HTML page in which rows can be changed, and explained again at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from illume.data import archive
from illume.errors import SchemaError
from illume.explanations.fitted import Fitted
from illume.report import card
from illume.report.answers import answers_of
from illume.report.assemble import STYLES, fill_page, safe_json
from illume.report.collect import ReportRequest, explain_rows, require_count, require_page
from illume.report.explorer_payload import explorer_payload
from illume.report.page import date_text
from illume.report.payload import Json, row_data
from illume.report.sentences import LARGE_SHARE
from illume.report.squeeze import squeeze_text
from illume.report.words import count, figure, percent
from illume.results.quality import Quality
from illume.results.scenarios import describe_table
from illume.results.text import plain_value

OFFLINE = (
    "This file holds the values of the rows it shows; send it only to those who may see them. "
    "It loads and sends nothing."
)
LIVE = "Changed rows are sent to the service that this page comes from, and nowhere else."


@dataclass(frozen=True)
class ExplorerRequest:
    """Where to write an explorer, and how many rows to show; see `Explainer.explorer`."""

    path: Any
    max_rows: int = 1_000
    title: str | None = None
    date: Any = None

    def __post_init__(self) -> None:
        """Check what was given, before any work."""
        object.__setattr__(self, "path", require_page(self.path, "explorer"))
        require_count("max_rows", self.max_rows)


def write_explorer(fitted: Fitted, settings: Mapping[str, Any], frame: Any, request: ExplorerRequest) -> Path:
    """Write an explorer of the rows of a frame, and return its path; see `Explainer.explorer`."""
    date = date_text(request.date)
    data = explorer_data(fitted, settings, frame, request.max_rows)
    path: Path = request.path
    archive.write(path, fill_explorer(data, date, request.title))
    return path


def fill_explorer(data: Json, date: str, title: str | None = None, *, live: bool = False) -> bytes:
    """Return the page; with a `live` model it asks the service that it comes from."""
    rows, version = count(data["rows"]["n"], "row"), import_module("illume").__version__
    page = fill_page(
        "explorer.html",
        "explorer_served" if live else "explorer_main",
        squeeze_text(safe_json(data)),
        (*STYLES, "explorer.css"),
        connect=live,
        title=escape(f"Explorer of {data['page']['model']}" if title is None else str(title)),
        about=escape(f"{date} · {rows} · made with illume {version}"),
        privacy=escape(LIVE if live else OFFLINE),
    )
    return page.encode("utf-8", "xmlcharrefreplace")


def explorer_data(fitted: Fitted, settings: Mapping[str, Any], frame: Any, max_rows: int) -> Json:
    """Return all that the page shows: what it computes with, the rows explained, and words about both.

    If there are more than `max_rows`, they are evenly spaced ones.
    """
    rows = fitted.as_frame(frame)
    if not len(rows):
        raise SchemaError("the frame holds no rows; an explorer needs at least one")
    wanted = ReportRequest(
        "rows.html", max_rows=max_rows, rules=fitted.rule_model is not None, counterfactuals=False
    )
    explained = explain_rows(fitted, rows, wanted, settings["verbose"])
    shown = rows.take(explained.positions) if len(explained.positions) < len(rows) else rows
    found = explained.attributions
    engine = explorer_payload(fitted, shown, predictions=found.predictions, rules=explained.rules)
    engine["rows"]["labels"] = None  # the other rows have them
    told = {name: part for name, part in row_data(explained, fitted.schema).items() if name != "columns"}
    agreement, error = answers_of(fitted.outputs).limits
    builder = fitted.dtypes
    names = fitted.schema.names
    if builder.example is not None:
        builder = replace(builder, example=builder.example.select(names))
    page = {
        "model": card.model_name(settings["model"]).split(" (")[0],
        "agreement": _agreement(fitted.quality),
        "limits": {"agreement": agreement, "error": error, "share": LARGE_SHARE if fitted.shapley else None},
        "table": describe_table(replace(builder, names=names)),
    }
    return dict(plain_value({"engine": engine, "rows": told | {"has_model": fitted.has_model}, "page": page}))


def _agreement(quality: Quality) -> str:
    """Say how well the surrogate imitates the model, in a sentence."""
    report = quality.report
    if not report.n_rows:
        return "How well it does so was not measured."
    answers, rows = answers_of(quality.outputs), count(report.n_rows, "held-out row")
    if quality.outputs.decides:
        return f"On {rows} it {answers.agreement} on {percent(report.agreement)}."
    error = quality.outputs.format_answer_error(quality.error)
    return f"On {rows} its R² is {figure(quality.r2)}, and its mean error {error}."
