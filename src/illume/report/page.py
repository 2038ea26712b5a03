"""The HTML page: text that needs no script, and the data and script of charts and tables."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from illume.data import archive
from illume.data.schema import Schema
from illume.errors import BlackBoxError, SchemaError
from illume.explanations.fitted import Fitted
from illume.metrics.fidelity import Fidelity
from illume.report import card
from illume.report.answers import Answers, answers_of
from illume.report.assemble import fill_page, safe_json
from illume.report.collect import ReportRequest, explain_rows
from illume.report.markup import Markup, tag
from illume.report.payload import payload
from illume.report.performance import describe_model
from illume.report.rule_table import rule_set_section
from illume.report.sentences import (
    WARNING,
    Notice,
    accuracy,
    find_notices,
    low_trust,
    summary,
    trust_word,
)
from illume.report.truth import read_labels
from illume.report.words import count, figure, percent, quote
from illume.results.attributions import Attributions
from illume.results.dictionary import DataDictionary
from illume.results.levels import EXACT, LOW, UNKNOWN
from illume.results.quality import ClassQuality, Quality
from illume.results.text import owner

ILLUME = "a library that explains what models of tables answer"


def write_report(
    fitted: Fitted, settings: Mapping[str, Any], frame: Any, request: ReportRequest, path: Path
) -> Path:
    """Write a report about the rows of a frame, and return its path; see `Explainer.report`."""
    rows, model = fitted.as_frame(frame), card.model_name(settings["model"])
    if not len(rows):
        raise SchemaError("the frame holds no rows; a report needs at least one")
    usual = f"How {model.split(' (')[0]} {answers_of(fitted.outputs).verb}"
    title = usual if request.title is None else str(request.title)
    date = date_text(request.date)
    if not fitted.has_model:  # counterfactuals are checked on the model
        request = replace(request, counterfactuals=False)
    labels = None
    if request.y is not None:
        if not fitted.has_model:
            raise BlackBoxError(
                "labels are compared with the model's answers; load the explainer with its model"
            )
        labels = read_labels(fitted.outputs, request.y, len(rows), settings["model"])
    explained = explain_rows(fitted, rows, request, settings["verbose"])
    rules = fitted.rule_quality if request.rules else None
    rule_set = rule_set_section(fitted) if request.rules else None
    facts = {
        "Data": card.data_facts(model, fitted.schema, explained, fitted.quality),
        "Quality": card.quality_facts(fitted.quality, rules),
        "Settings": card.setting_facts(settings),
        "Made with": card.version_facts(date),
    }
    attributions, quality, answers = explained.attributions, fitted.quality, answers_of(fitted.outputs)
    paragraphs = summary(model, attributions, explained.n_given, quality, fitted.has_model)
    page = fill_page(
        "page.html",
        "main",
        safe_json(payload(explained, fitted.schema, fitted.has_model, labels)),
        title=escape(title),
        about=escape(f"{date} · made with illume {import_module('illume').__version__}, {ILLUME}"),
        tiles=_tiles(attributions, quality),
        scope=escape(paragraphs[0][1]),
        summary=_summary(paragraphs[1:], trust_word(quality, attributions.kind)),
        notices=_notices(find_notices(attributions, quality, rules, fitted.has_model)),
        model="" if labels is None else _model(describe_model(attributions, labels[explained.positions])),
        model_link="" if labels is None else tag("a", "The model", href="#model"),
        rule_set=rule_set or "",
        rule_link=tag("a", "Rules", href="#rule-set") if rule_set else "",
        quality=_quality_table(quality),
        accuracy=escape(accuracy(quality, attributions.kind)),
        output=escape(f"{owner(attributions)} {answers.scale()}"),
        support=escape(answers.support),
        output_noun=answers.output_noun,
        noun=answers.noun,
        rows=count(len(attributions), "row"),
        facts=_facts(facts),
        features=_features(fitted.schema, fitted.dictionary),
        n_features=f"{len(fitted.schema)}",
        limits="".join(tag("li", limit) for limit in card.limits(attributions.kind, labels is not None)),
    )
    archive.write(path, page.encode("utf-8", "xmlcharrefreplace"))
    return path


def date_text(date: dt.date | str | None) -> str:
    """Return a date, or now; date and time are given in UTC, and a text is kept as it is.

    >>> date_text(dt.datetime(2026, 1, 31, 12, 30, tzinfo=dt.timezone(dt.timedelta(hours=1))))
    '2026-01-31 11:30 UTC'
    """
    date = dt.datetime.now(dt.UTC) if date is None else date
    if isinstance(date, dt.datetime):
        known = date if date.tzinfo is not None else date.replace(tzinfo=dt.UTC)
        return f"{known.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC"
    if isinstance(date, (dt.date, str)):
        return str(date)
    raise TypeError(f"date must be a date, a datetime or a string, found {type(date).__name__}")


def _tiles(attributions: Attributions, quality: Quality) -> str:
    """Return the few numbers at the top."""
    found = quality.contributions
    n, n_low = len(attributions), int(low_trust(attributions).sum())
    accuracy, what, interval = "–", "R² of contributions", "not measured"
    if quality.exact and attributions.kind == "shapley":
        accuracy, what, interval = EXACT, "contributions", "computed from the model itself"
    if found is not None and found.word != UNKNOWN:
        rows = count(found.n_rows, "held-out row")
        accuracy, interval = figure(found.r2), f"{figure(found.low)} to {figure(found.high)}, on {rows}"
    tiles = (
        (accuracy, what, interval),
        *([answers_of(quality.outputs).tile(quality)] if found is not None else []),
        (f"{n:,}", "rows explained", f"{len(attributions.feature_names)} features each"),
        (f"{n_low:,}", "rows of low trust", f"{percent(n_low / n)}: large errors of contributions"),
    )
    return "".join(
        tag("li", tag("b", number), tag("span", what), tag("small", note)) for number, what, note in tiles
    )


def _summary(paragraphs: Sequence[tuple[str, str]], level: str) -> str:
    badge = tag("p", f"Trust in contributions: {level}", class_=f"badge {level}")
    blocks = [tag("div", tag("h3", head), tag("p", text)) for head, text in paragraphs]
    return badge + tag("div", *blocks, class_="columns")


def _model(content: Markup) -> Markup:
    head = tag("h2", "How right is the model itself?", id="model-head")
    return tag("section", head, content, id="model", aria_labelledby="model-head")


def _notices(found: Sequence[Notice]) -> str:
    if not found:
        return tag("p", "No warnings: all figures are good.", class_="quiet")
    items = [
        tag(
            "li",
            tag("strong", "Warning" if notice.kind == WARNING else "Note", class_="kind"),
            tag("p", notice.found),
            tag("p", notice.advice, class_="advice"),
            class_=notice.kind,
        )
        for notice in found
    ]
    return tag("ul", *items, class_="notices")


def _quality_table(quality: Quality) -> str:
    """Return how close the answers of a learned twin, and the surrogate's, are to the model's; or nothing."""
    surrogate, learned = quality.surrogate, not quality.exact and quality.contributions is not None
    if surrogate is None and not learned:
        return ""
    answers = answers_of(quality.outputs)
    rows = [*_twin_rows(quality, answers)] if learned else []
    if surrogate is not None:
        name, found = "The surrogate, a simpler model that rules come from", surrogate.report
        rows.append(_quality_row(answers, name, found, other=True))
    first, second = answers.measures
    names = ("", first, "", second, "Rows")
    head = tag("tr", *(tag("th", name, scope="col") if name else tag("td", "") for name in names))
    caption = tag("caption", "How close answers are to the model's")
    table = tag("table", caption, tag("thead", head), tag("tbody", *rows), class_="plain quality")
    return tag("p", answers.measured, class_="lead") + tag(
        "div", table, class_="wide", tabindex="0", role="region", aria_label=first
    )


def _twin_rows(quality: Quality, answers: Answers) -> Iterator[Markup]:
    """Yield the figures of the network that learned the model, of each class or number, and of a constant."""
    report = quality.report
    low, high = report.interval
    note = f"95 % interval {figure(low)} to {figure(high)}" if answers.decided else ""
    yield _quality_row(answers, "The network that learned the model", report, note=note)
    for each in quality.classes if len(quality.classes) > 1 else ():
        known = replace(each, r2=math.nan) if quality.outputs.shares_r2 else each
        yield _quality_row(answers, f"{answers.decided}{quote(each.name)}", known)
    if answers.decided:
        constant = Fidelity(quality.majority, math.nan, report.n_rows)
        yield _quality_row(answers, "For comparison: always the most common decision", constant, other=True)


def _quality_row(
    answers: Answers, name: str, found: Fidelity | ClassQuality, note: str = "", other: bool = False
) -> Markup:
    """Return a line of the table of quality, with a bar as long as its main figure."""
    share, second = answers.closeness(found)
    low = answers.is_low(found.agreement) and not other
    width = 0.0 if math.isnan(share) else 100 * min(max(share, 0.0), 1.0)
    whole = tag("rect", class_="whole", width="100", height="8")
    part = tag("rect", class_="part", width=f"{width:.2f}", height="8")
    look = {"viewBox": "0 0 100 8", "preserveAspectRatio": "none", "aria_hidden": "true"}
    return tag(
        "tr",
        tag("th", name, *[tag("small", note)] * bool(note), scope="row"),
        tag("td", figure(share), *[tag("small", "low")] * bool(low and found.n_rows), class_="number"),
        tag("td", tag("svg", whole, part, **look), class_="share"),
        tag("td", second, class_="number"),
        tag("td", f"{found.n_rows:,}", class_="number"),
        **({"class_": LOW} if low else {"class_": "other"} if other else {}),
    )


def _facts(groups: Mapping[str, card.Facts]) -> str:
    lists = []
    for name, facts in groups.items():
        items = [tag("div", tag("dt", term), tag("dd", fact)) for term, fact in facts]
        lists.append(tag("div", tag("h3", name), tag("dl", *items), class_="group"))
    return "".join(lists)


def _features(schema: Schema, known: DataDictionary) -> str:
    return "".join(
        tag(
            "tr",
            tag("th", known.label(f.name), *_column_name(f.name, known), scope="row"),
            tag("td", f.kind.value),
            tag("td", card.feature_range(f, known)),
        )
        for f in schema.features
    )


def _column_name(name: str, known: DataDictionary) -> list[Markup]:
    return [] if known.label(name) == name else [tag("small", f" {name}")]
