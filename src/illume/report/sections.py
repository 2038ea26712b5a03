"""The parts of a page that are text: they stand in the file itself and need no script."""

from __future__ import annotations

import math

from illume.report.card import Card, Group
from illume.report.content import Content, Figures, QualityLine
from illume.report.markup import Markup, joined, tag
from illume.report.notices import WARNING, Notice
from illume.report.thresholds import LOW, LOW_AGREEMENT, UNKNOWN
from illume.report.words import count, figure, percent


def tiles(content: Content) -> Markup:
    """Return the few numbers at the top."""
    figures = content.figures
    low, high = figures.interval
    n = max(figures.n_rows, 1)
    whole = f"{percent(low)} to {percent(high)}, on rows kept aside"
    if not math.isnan(figures.majority):
        whole += f"; always the most common decision: {percent(figures.majority)}"
    shown = (
        _truth(figures),
        (percent(figures.agreement), "agreement of surrogate and model", whole),
        (f"{figures.n_rows:,}", "rows explained", f"{figures.n_features} features each"),
        (f"{figures.n_low:,}", "rows of low trust", f"{percent(figures.n_low / n)} of the rows"),
    )
    return joined(
        tag("li", tag("b", number), tag("span", what), tag("small", note)) for number, what, note in shown
    )


def _truth(figures: Figures) -> tuple[str, str, str]:
    found = figures.contributions
    if found is None or found.word == UNKNOWN:
        return "–", "R² of contributions", "not measured"
    interval = f"{figure(found.low)} to {figure(found.high)}, on {count(found.n_rows, 'row')} kept aside"
    return figure(found.r2), "R² of contributions", interval


def lead(content: Content) -> Markup:
    """Return how to read the figures of quality."""
    found = content.figures.contributions
    said = "How true contributions are of the model was not measured."
    if found is not None and found.word != UNKNOWN:
        said = (
            "Contributions were compared with the model's own Shapley values, for which it was asked "
            f"{found.n_asked:,} times: their R² is {figure(found.r2)} (95 % interval {figure(found.low)} to "
            f"{figure(found.high)}), and they are typically off by {figure(found.error)} in log-odds."
        )
    return tag("p", tag("b", said), class_="lead")


def summary(content: Content) -> Markup:
    """Return the summary's paragraphs."""
    level = content.summary.level
    badge = tag("p", f"Trust in contributions: {level}", class_=f"badge {level}")
    blocks = [tag("div", tag("h3", head), tag("p", text)) for head, text in content.summary.paragraphs]
    return joined([badge, tag("div", *blocks, class_="columns")])


def notices(content: Content) -> Markup:
    """Return warnings and notes, or the news that there are none."""
    if not content.notices:
        return tag("p", "Nothing to warn of: all figures are where they should be.", class_="quiet")
    return tag("ul", *map(_notice, content.notices), class_="notices")


def _notice(notice: Notice) -> Markup:
    grave = notice.kind == WARNING
    head = tag("strong", "Warning" if grave else "Note", class_="kind")
    return tag(
        "li", head, tag("p", notice.found), tag("p", notice.advice, class_="advice"), class_=notice.kind
    )


def quality(content: Content) -> Markup:
    """Return the table of agreement."""
    agreement, r2, rows_head = (tag("th", name, scope="col") for name in ("Agreement", "R²", "Rows"))
    head = tag("tr", tag("td"), agreement, tag("td", class_="share"), r2, rows_head)
    rows = [_quality_row(line) for line in content.quality]
    caption = tag("caption", "How often, and how closely, the surrogate answers like the model")
    return tag("table", caption, tag("thead", head), tag("tbody", *rows), class_="plain quality")


def _quality_row(line: QualityLine) -> Markup:
    poor = not line.agreement >= LOW_AGREEMENT and not line.other
    marks = {"class_": LOW} if poor else {"class_": "other"} if line.other else {}
    name = tag("th", line.name, *([tag("small", line.note)] if line.note else []), scope="row")
    return tag(
        "tr",
        name,
        tag(
            "td",
            figure(line.agreement),
            *([tag("small", "low")] if poor and line.n_rows else []),
            class_="number",
        ),
        tag("td", _bar(line.agreement), class_="share"),
        tag("td", figure(line.r2), class_="number"),
        tag("td", f"{line.n_rows:,}", class_="number"),
        **marks,
    )


def _bar(share: float) -> Markup:
    width = 0.0 if math.isnan(share) else 100 * min(max(share, 0.0), 1.0)
    whole = tag("rect", class_="whole", width="100", height="8")
    part = tag("rect", class_="part", width=f"{width:.2f}", height="8")
    return tag("svg", whole, part, viewBox="0 0 100 8", preserveAspectRatio="none", aria_hidden="true")


def card(content: Content) -> Markup:
    """Return the model card."""
    described: Card = content.card
    groups = tag("div", *map(_group, described.groups), class_="groups")
    head = tag("tr", *(tag("th", name, scope="col") for name in ("Feature", "Kind", "Range or values")))
    rows = [
        tag("tr", tag("th", line.name, scope="row"), tag("td", line.kind), tag("td", line.range))
        for line in described.features
    ]
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="plain")
    wide = tag("div", table, class_="wide", tabindex="0", role="region", aria_label="Features")
    features = tag("details", tag("summary", f"The {len(rows)} features, as the explainer knows them"), wide)
    limits = tag("div", tag("h3", "Known limits"), tag("ul", *(tag("li", said) for said in described.limits)))
    return joined([groups, features, limits])


def _group(group: Group) -> Markup:
    facts = [tag("div", tag("dt", name), tag("dd", value)) for name, value in group.facts]
    return tag("div", tag("h3", group.name), tag("dl", *facts), class_="group")
