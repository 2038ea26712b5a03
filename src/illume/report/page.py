"""The HTML page: text that needs no script, and the data and script of charts and tables."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from illume.data import archive
from illume.errors import SchemaError
from illume.explanations.fitted import Fitted
from illume.report import card
from illume.report.collect import Explained, ReportRequest, explain_rows
from illume.report.payload import payload
from illume.report.sentences import (
    LOW_AGREEMENT,
    WARNING,
    accuracy,
    find_notices,
    low_trust,
    summary,
    trust_level,
)
from illume.report.words import count, figure, percent, quote
from illume.results.quality import LOW, UNKNOWN, Quality, RuleQuality
from illume.results.text import owner

SCRIPTS = ("text", "data", "charts", "map", "table", "row", "main")


@dataclass(frozen=True, eq=False)
class Report:
    """Everything that a page shows."""

    title: str
    date: str
    model: str
    fitted: Fitted
    settings: Mapping[str, Any]
    explained: Explained

    @property
    def rule_quality(self) -> RuleQuality | None:
        """Quality of the rules, if they are shown."""
        return None if self.explained.rules is None else self.fitted.rule_quality


def write_report(fitted: Fitted, settings: Mapping[str, Any], frame: Any, request: ReportRequest) -> Path:
    """Write a report about the rows of a frame, and return its path; see `Explainer.report`."""
    rows, date, model = fitted.as_frame(frame), date_text(request.date), card.model_name(settings["model"])
    if not len(rows):
        raise SchemaError("the frame holds no rows; a report needs at least one")
    title = f"How {model.split(' (')[0]} decides" if request.title is None else str(request.title)
    explained = explain_rows(fitted, rows, request, settings["verbose"])
    page = render(Report(title, date, model, fitted, settings, explained))
    archive.write(request.path, page.encode("utf-8", "xmlcharrefreplace"))
    return request.path


def date_text(date: Any) -> str:
    """Return a date, or now, in UTC; a text is kept as it is.

    >>> date_text(dt.datetime(2026, 1, 31, 12, 30, tzinfo=dt.timezone(dt.timedelta(hours=1))))
    '2026-01-31 11:30 UTC'
    >>> date_text(dt.date(2026, 1, 31)), date_text("today")
    ('2026-01-31', 'today')
    """
    if date is None:
        date = dt.datetime.now(dt.UTC)
    if isinstance(date, dt.datetime):
        known = date if date.tzinfo is not None else date.replace(tzinfo=dt.UTC)
        return f"{known.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC"
    if isinstance(date, (dt.date, str)):
        return str(date)
    raise TypeError(f"date must be a date, a datetime or a string, found {type(date).__name__}")


def render(report: Report) -> str:
    """Return the whole page; it loads nothing from elsewhere."""
    style, script = _static("style.css"), "\n".join(_static(f"{name}.js") for name in SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}}})();\n'
    attributions, quality = report.explained.attributions, report.fitted.quality
    return Template(_static("page.html")).substitute(
        policy=f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'",
        style=style,
        script=script,
        data=_json(payload(report.explained, report.fitted.schema)),
        title=_text(report.title),
        about=_text(f"{report.date} · illume {import_module('illume').__version__}"),
        tiles=_tiles(report),
        summary=_summary(report),
        notices=_notices(report),
        quality=_quality_table(quality),
        lead=tag("p", tag("b", accuracy(quality)), class_="lead"),
        output=_text(f"{owner(attributions)} {_output(attributions.class_names)}"),
        map_note=_text(_map_note(report.explained)),
        rows=_text(count(len(attributions), "row")),
        card=_card(report),
    )


def _static(name: str) -> str:
    return (files("illume.report") / "static" / name).read_text(encoding="utf-8")


def _hash(inline: str) -> str:
    """Return the name of an inline script or style in a Content-Security-Policy."""
    digest = hashlib.sha256(inline.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _json(data: Any) -> str:
    """Return JSON that cannot end the element it is in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


class Markup(str):
    """HTML; any other text is escaped by `tag`."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: str) -> Markup:
    """Return an element; `class_` is the attribute class, `aria_label` is aria-label.

    >>> tag("p", "a < b ", tag("b", "c"), class_="note")
    '<p class="note">a &lt; b <b>c</b></p>'
    """
    inside = "".join(_text(child) for child in children)
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items()
    )
    return Markup(f"<{name}{given}>{inside}</{name}>")


def _text(child: str) -> Markup:
    return child if isinstance(child, Markup) else Markup(escape(child))


def _tiles(report: Report) -> Markup:
    """Return the few numbers at the top."""
    attributions, quality = report.explained.attributions, report.fitted.quality
    found = quality.contributions
    n, n_low = len(attributions), int(low_trust(attributions).sum())
    accuracy, interval = "–", "not measured"
    if found is not None and found.word != UNKNOWN:
        rows = count(found.n_rows, "held-out row")
        accuracy, interval = figure(found.r2), f"{figure(found.low)} to {figure(found.high)}, on {rows}"
    low, high = quality.report.interval
    agreement = f"{percent(low)} to {percent(high)}, on held-out rows"
    if not math.isnan(quality.majority):
        agreement += f"; always the most common decision: {percent(quality.majority)}"
    tiles = (
        (accuracy, "R² of contributions", interval),
        (percent(quality.agreement), "agreement of surrogate and model", agreement),
        (f"{n:,}", "rows explained", f"{len(attributions.feature_names)} features each"),
        (f"{n_low:,}", "rows of low trust", f"{percent(n_low / n)} of the rows"),
    )
    items = [
        tag("li", tag("b", number), tag("span", what), tag("small", note)) for number, what, note in tiles
    ]
    return Markup("".join(items))


def _summary(report: Report) -> Markup:
    level = trust_level(report.fitted.quality)
    badge = tag("p", f"Trust in contributions: {level}", class_=f"badge {level}")
    paragraphs = summary(
        report.model, report.explained.attributions, report.explained.n_given, report.fitted.quality
    )
    blocks = [tag("div", tag("h3", head), tag("p", text)) for head, text in paragraphs]
    return Markup(badge + tag("div", *blocks, class_="columns"))


def _notices(report: Report) -> Markup:
    found = find_notices(report.explained.attributions, report.fitted.quality, report.rule_quality)
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


def _quality_table(quality: Quality) -> Markup:
    report, baseline = quality.report, quality.baseline
    low, high = report.interval
    interval = f"95 % interval {figure(low)} to {figure(high)}"
    most, linear = (
        f"For comparison: {name}" for name in ("always the most common decision", "one linear model")
    )
    rows = [
        _quality_row("All held-out rows", report.agreement, report.r2, report.n_rows, note=interval),
        *(_quality_row(f"decided {quote(c.name)}", c.agreement, c.r2, c.n_rows) for c in quality.classes),
        _quality_row(most, quality.majority, math.nan, report.n_rows, other=True),
        _quality_row(linear, baseline.agreement, baseline.r2, baseline.n_rows, other=True),
    ]
    agreement, r2, rows_head = (tag("th", name, scope="col") for name in ("Agreement", "R²", "Rows"))
    head = tag("tr", tag("td"), agreement, tag("td", class_="share"), r2, rows_head)
    caption = tag("caption", "How often, and how closely, the surrogate answers like the model")
    return tag("table", caption, tag("thead", head), tag("tbody", *rows), class_="plain quality")


def _quality_row(
    name: str, agreement: float, r2: float, n_rows: int, *, note: str = "", other: bool = False
) -> Markup:
    low = not agreement >= LOW_AGREEMENT and not other
    width = 0.0 if math.isnan(agreement) else 100 * min(max(agreement, 0.0), 1.0)
    whole = tag("rect", class_="whole", width="100", height="8")
    part = tag("rect", class_="part", width=f"{width:.2f}", height="8")
    look = {"viewBox": "0 0 100 8", "preserveAspectRatio": "none", "aria_hidden": "true"}
    return tag(
        "tr",
        tag("th", name, *[tag("small", note)] * bool(note), scope="row"),
        tag("td", figure(agreement), *[tag("small", "low")] * bool(low and n_rows), class_="number"),
        tag("td", tag("svg", whole, part, **look), class_="share"),
        tag("td", figure(r2), class_="number"),
        tag("td", f"{n_rows:,}", class_="number"),
        **({"class_": LOW} if low else {"class_": "other"} if other else {}),
    )


def _output(classes: tuple[str, ...]) -> str:
    if len(classes) == 2:
        return f"log-odds of {quote(classes[1])} against {quote(classes[0])}"
    return f"log-odds of each class against the mean of all {len(classes)} classes"


def _map_note(explained: Explained) -> str:
    Z = explained.latents.Z
    variance = float(np.var(Z, axis=0).sum())
    if Z.shape[1] <= 2 or not variance:
        return "The two axes are the surrogate's two latents."
    share = float(np.var(explained.latents.plane, axis=0).sum()) / variance
    note = "The two axes are the principal components of the surrogate's latents and show "
    note += f"{percent(share)} of their variance"
    return f"{note}: rows that look close here may still be far apart." if share < 0.5 else f"{note}."


def _card(report: Report) -> Markup:
    groups = {
        "Data": card.data_facts(report.model, report.fitted.schema, report.explained, report.fitted.quality),
        "Quality": card.quality_facts(report.fitted.quality, report.rule_quality),
        "Settings": card.setting_facts(report.settings),
        "Made with": card.version_facts(report.date),
    }
    lists = []
    for name, facts in groups.items():
        items = [tag("div", tag("dt", term), tag("dd", fact)) for term, fact in facts]
        lists.append(tag("div", tag("h3", name), tag("dl", *items), class_="group"))
    head = tag("tr", *(tag("th", name, scope="col") for name in ("Feature", "Kind", "Range or values")))
    rows = [
        tag("tr", tag("th", f.name, scope="row"), tag("td", f.kind.value), tag("td", card.feature_range(f)))
        for f in report.fitted.schema.features
    ]
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="plain")
    wide = tag("div", table, class_="wide", tabindex="0", role="region", aria_label="Features")
    features = tag("details", tag("summary", f"The {len(rows)} features in the fitted rows"), wide)
    limits = [tag("li", limit) for limit in card.limits(report.explained.attributions.kind)]
    known = tag("div", tag("h3", "Known limits"), tag("ul", *limits))
    return Markup(tag("div", *lists, class_="groups") + features + known)
