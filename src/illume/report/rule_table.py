"""The rule set as a section of a report: few rules for most rows, and what holds else."""

from __future__ import annotations

from illume.errors import LeftOutError
from illume.explanations.fitted import Fitted
from illume.explanations.rule_summary import RuleSetRequest, summarize_rules
from illume.report.answers import answers_of
from illume.report.markup import Markup, tag
from illume.report.words import count, figure, percent
from illume.results.rule_set import MEASURED, RuleSet


def rule_set_section(fitted: Fitted) -> Markup | None:
    """Return the section, or None if the explainer holds no rows to choose rules on."""
    wanted, *_ = answers_of(fitted.outputs).requests(1, {})
    try:
        found = summarize_rules(fitted, RuleSetRequest(output=wanted.output))
    except LeftOutError:
        return None
    right = "answer like the model" if found.rules.interval is None else "hold its number"
    first = (
        "" if len(fitted.outputs) == 1 or fitted.outputs.decides else f", of {fitted.outputs.names[0]} only"
    )
    lead = (
        f"{count(len(found), 'rule')}{first}, found with the surrogate, cover "
        f"{percent(found.coverage)} of {count(found.n_rows, 'held-out row')}; with the last line for all "
        f"others they {right} for {percent(found.agreement)}. Each rule holds by itself; where several cover "
        f"a row, the first one counts. {found.explanation.capitalize()}."
    )
    if found.n_unmeasured:
        lead += f" {count(found.n_unmeasured, 'further rule')} left out: no held-out row tells its precision."
    head = tag("h2", "Rules for most rows", id="rule-set-head")
    content = (head, tag("p", lead, class_="lead"), *_warning(found), _table(found))
    return tag("section", *content, id="rule-set", aria_labelledby="rule-set-head")


def _warning(found: RuleSet) -> list[Markup]:
    if not found.warning:
        return []
    kind, text = tag("strong", "Warning", class_="kind"), found.warning[:1].upper() + found.warning[1:]
    return [tag("ul", tag("li", kind, tag("p", f"{text}."), class_="warning"), class_="notices")]


def _table(found: RuleSet) -> Markup:
    rows = []
    texts = [*(rule.premise for rule in found), "else"]
    below_wanted = [*found.below.tolist(), False]
    for rule, conditions, below in zip([*found, found.otherwise], texts, below_wanted, strict=True):
        low = tag("small", "below the wanted precision") if below else Markup("")
        precision = figure(rule.precision) if rule.n_covered >= MEASURED else "–"
        numbers = (percent(rule.coverage), precision, f"{rule.n_covered:,}")
        rows.append(
            tag(
                "tr",
                tag("th", conditions, low, scope="row"),
                tag("td", rule.decision),
                *(tag("td", number, class_="number") for number in numbers),
            )
        )
    names = {"Rule": "", "Answer": "", "Support": "number", "Precision": "number", "Rows": "number"}
    head = tag(
        "thead", tag("tr", *(tag("th", name, scope="col", class_=kind) for name, kind in names.items()))
    )
    table = tag("table", head, tag("tbody", *rows), class_="plain rule-set")
    return tag("div", table, class_="wide", tabindex="0", role="region", aria_label="Rules for most rows")
