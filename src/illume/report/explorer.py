"""The explorer: one HTML page in which rows can be changed, and explained again at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
from illume.report.explorer_flips import flip_data, search_data, search_request
from illume.report.explorer_payload import explorer_payload
from illume.report.page import date_text
from illume.report.payload import Json, row_data
from illume.report.sentences import LARGE_SHARE
from illume.report.squeeze import squeeze_text
from illume.report.words import count, figure, percent
from illume.results.quality import Quality
from illume.results.scenarios import describe_table
from illume.results.text import plain_value

N_COUNTERFACTUALS = 3  # of a row
MAX_COUNTERFACTUAL_ROWS = 250
OFFLINE = (
    "This file holds the values of the rows it shows; send it only to those who may see them. "
    "It loads and sends nothing."
)
LIVE = "Changed rows are sent to the service that this page comes from, and nowhere else."


@dataclass(frozen=True)
class ExplorerRequest:
    """What an explorer shows, and where to write it; see `Explainer.explorer`."""

    path: Any = "explorer.html"
    max_rows: int = 1_000
    max_counterfactual_rows: int = MAX_COUNTERFACTUAL_ROWS
    counterfactuals: bool = True
    title: str | None = None
    date: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)  # of counterfactuals

    def __post_init__(self) -> None:
        """Check what was given, before any work."""
        object.__setattr__(self, "path", require_page(self.path, "explorer"))
        for option in ("max_rows", "max_counterfactual_rows"):
            require_count(option, getattr(self, option))

    def of_rows(self, fitted: Fitted) -> ReportRequest:
        """Return what of the rows is explained; counterfactuals where the model can be asked for them."""
        return ReportRequest(
            "rows.html",
            n_counterfactuals=N_COUNTERFACTUALS,
            max_rows=self.max_rows,
            max_counterfactual_rows=self.max_counterfactual_rows,
            rules=fitted.rule_model is not None,
            counterfactuals=self.counterfactuals
            and fitted.has_model
            and fitted.pool is not None
            and fitted.rule_model is not None,
            options=self.options,
        )


def write_explorer(fitted: Fitted, settings: Mapping[str, Any], frame: Any, request: ExplorerRequest) -> Path:
    """Write an explorer of the rows of a frame, and return its path; see `Explainer.explorer`."""
    date = date_text(request.date)
    data = explorer_data(fitted, settings, frame, request)
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


def explorer_data(fitted: Fitted, settings: Mapping[str, Any], frame: Any, request: ExplorerRequest) -> Json:
    """Return all that the page shows: what it computes with, the rows explained, and words about both.

    If there are more rows than wanted, they are evenly spaced ones.
    """
    search = search_request(fitted, N_COUNTERFACTUALS, request.options)
    rows = fitted.as_frame(frame)
    if not len(rows):
        raise SchemaError("the frame holds no rows; an explorer needs at least one")
    explained = explain_rows(fitted, rows, request.of_rows(fitted), settings["verbose"], "explorer")
    shown = rows.take(explained.positions) if len(explained.positions) < len(rows) else rows
    found = explained.attributions
    engine = explorer_payload(fitted, shown, predictions=found.predictions, rules=explained.rules)
    engine["rows"]["labels"] = None  # the other rows have them
    engine["flips"] = flip_data(fitted, explained, shown)
    told = {name: part for name, part in row_data(explained, fitted.schema).items() if name != "columns"}
    agreement, error = answers_of(fitted.outputs).limits
    builder = fitted.dtypes
    names = fitted.schema.names
    if builder.example is not None:
        builder = replace(builder, example=builder.example.select(names))
    page = {
        "model": card.model_name(settings["model"]).split(" (")[0],
        "agreement": _agreement(fitted.quality),
        "limits": {
            "agreement": agreement,
            "error": error,
            "share": LARGE_SHARE if fitted.shapley else None,
            "classes": _class_agreements(fitted.quality),
        },
        "search": search_data(fitted, search),
        "table": describe_table(replace(builder, names=names)),
    }
    return dict(plain_value({"engine": engine, "rows": told | {"has_model": fitted.has_model}, "page": page}))


def _class_agreements(quality: Quality) -> list[float | None]:
    """Return how often the surrogate decides like the model for each class; None where nothing is known."""
    known = {each.name: each.agreement for each in quality.classes if each.n_rows}
    return [known.get(name) for name in quality.outputs.names] if quality.outputs.decides else []


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
