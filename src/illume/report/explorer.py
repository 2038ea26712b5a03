"""The explorer: one HTML page in which rows can be changed, and explained again at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from illume.data import archive
from illume.data.require import require_int
from illume.errors import SchemaError
from illume.explanations.fitted import Fitted
from illume.report import card
from illume.report.answers import answers_of
from illume.report.assemble import STYLES, fill_page, safe_json
from illume.report.collect import ReportRequest, explain_rows
from illume.report.explorer_flips import flip_data, search_data, search_request
from illume.report.explorer_payload import explorer_payload
from illume.report.explorer_twin import for_page, holds
from illume.report.page import date_text
from illume.report.payload import Json, row_data
from illume.report.squeeze import squeeze_text
from illume.report.words import count, figure, percent
from illume.results.levels import FAIR_SHARE
from illume.results.quality import Quality
from illume.results.scenarios import describe_table
from illume.results.text import plain_value

if TYPE_CHECKING:
    from illume import Explainer

N_COUNTERFACTUALS = 3  # of a row
MAX_COUNTERFACTUAL_ROWS = 1_000
OFFLINE = "This file holds {what}; send it only to those who may {verb} {them}. It loads and sends nothing."
ROWS = "the values of the rows it shows"
MODEL = f"the model itself, background rows as far as the model tells them apart, and {ROWS}"
LIVE = "Changed rows are sent to the service that this page comes from, and nowhere else."


@dataclass(frozen=True)
class ExplorerRequest:
    """Which parts of an explorer to show; see `Explainer.explorer`."""

    max_rows: int = 1_000
    max_counterfactual_rows: int = MAX_COUNTERFACTUAL_ROWS
    counterfactuals: bool = True
    title: str | None = None
    date: Any = None
    hold_model: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)  # of counterfactuals

    def __post_init__(self) -> None:
        """Check what was given, before any work."""
        for option in ("max_rows", "max_counterfactual_rows"):
            require_int(option, getattr(self, option))

    def of_rows(self, fitted: Fitted) -> ReportRequest:
        """Return what of the rows is explained; counterfactuals where the model can be asked for them."""
        rules = fitted.rules.ready and not fitted.monotony
        return ReportRequest(
            n_counterfactuals=N_COUNTERFACTUALS,
            max_rows=self.max_rows,
            max_counterfactual_rows=self.max_counterfactual_rows,
            rules=rules,
            counterfactuals=self.counterfactuals and fitted.has_model and fitted.pool is not None and rules,
            options=self.options,
        )


def write_explorer(
    fitted: Fitted, settings: Mapping[str, Any], frame: Any, request: ExplorerRequest, path: Path
) -> Path:
    """Write an explorer of the rows of a frame, and return its path; see `Explainer.explorer`."""
    date = date_text(request.date)
    data = explorer_data(fitted, settings, frame, request)
    archive.write(path, fill_explorer(data, date, request.title))
    return path


def live_explorer(
    explainer: Explainer, frame: Any, service: Mapping[str, Any], *, max_rows: int, options: Mapping[str, Any]
) -> bytes:
    """Return an explorer whose changed rows are answered by the service that it comes from.

    `service` holds its limits: `max_rows` of a request, and `seconds` until it is answered.
    """
    fitted = explainer._fit_for_pages()
    request = ExplorerRequest(max_rows=max_rows, options=options)
    data = explorer_data(fitted, explainer.get_params(deep=False), frame, request)
    data["page"]["service"] = {"model": fitted.has_model, **service}
    return fill_explorer(data, date_text(None), live=True)


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
        privacy=escape(_privacy(data["engine"]["twin"]["exact"], live)),
    )
    return page.encode("utf-8", "xmlcharrefreplace")


def explorer_data(fitted: Fitted, settings: Mapping[str, Any], frame: Any, request: ExplorerRequest) -> Json:
    """Return all that the page shows: what it computes with, the rows explained, and words about both.

    If there are more rows than wanted, they are evenly spaced ones.
    """
    search = search_request(fitted, N_COUNTERFACTUALS, request.options)
    fitted, n_background = for_page(fitted, request.hold_model)
    rows = fitted.as_frame(frame)
    if not len(rows):
        raise SchemaError("the frame holds no rows; an explorer needs at least one")
    explained = explain_rows(fitted, rows, request.of_rows(fitted), settings["verbose"], "explorer")
    engine = explorer_payload(fitted, explained.asked, explained.rules)
    engine["rows"]["labels"] = None  # the other rows have them
    engine["flips"] = flip_data(fitted, explained)
    told = {name: part for name, part in row_data(explained, fitted.schema).items() if name != "columns"}
    builder = fitted.dtypes
    names = fitted.schema.names
    if builder.example is not None:
        builder = replace(builder, example=builder.example.select(names))
    page = {
        "model": card.model_name(settings["model"]).split(" (")[0],
        "twin": _banner(fitted),
        "background": _background(fitted.quality, n_background),
        "limits": {
            "agreement": answers_of(fitted.outputs).least_agreement,
            "share": FAIR_SHARE,
            "classes": _class_agreements(fitted.quality),
            "told": _told(fitted.quality),
        },
        "search": search_data(fitted, search),
        "table": describe_table(replace(builder, names=names)),
    }
    return dict(plain_value({"engine": engine, "rows": told | {"has_model": fitted.has_model}, "page": page}))


def _class_agreements(quality: Quality) -> list[float | None]:
    """Return how often a learned twin decides like the model for each class; None where nothing is known."""
    known = {each.name: each.agreement for each in quality.classes if each.n_rows and not quality.exact}
    return [known.get(name) for name in quality.outputs.names] if quality.outputs.decides else []


def _banner(fitted: Fitted) -> str:
    """Say in one line what answers in the page."""
    held, quality = holds(fitted.twin), fitted.quality
    if held:
        return f"These are the model's own answers: the page holds its {held}."
    rows = "changed rows" if fitted.has_model else "all rows"
    report = quality.report
    if not report.n_rows:
        return f"A network that learned the model answers for {rows}; how well was not measured."
    if quality.outputs.decides:
        share = f"on {percent(report.agreement)} of {count(report.n_rows, 'held-out row')}"
        return f"A network that agrees with the model {share} answers for {rows}."
    found = f"R² {figure(quality.r2)} on {count(report.n_rows, 'held-out row')}"
    return f"A network that follows the model's numbers ({found}) answers for {rows}."


def _told(quality: Quality) -> str:
    """Say how far a learned twin's answers are off."""
    if quality.exact or not quality.report.n_rows:
        return "" if quality.exact else "How far the network is off was not measured."
    error = quality.outputs.format_answer_error(quality.error)
    return f"The network's answers are off by {error} on average."


def _background(quality: Quality, n_rows: int) -> str:
    """Say what contributions compare with."""
    if n_rows == quality.n_background:
        return f", compared with {count(n_rows, 'background row')}"
    return f", compared with {n_rows:,} of {count(quality.n_background, 'background row')}, evenly spaced"


def _privacy(exact: bool, live: bool) -> str:
    what, verb, them = (MODEL, "have", "all of it") if exact else (ROWS, "see", "them")
    return f"{LIVE} The page holds {what}." if live else OFFLINE.format(what=what, verb=verb, them=them)
