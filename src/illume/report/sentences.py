"""What a report says in sentences: the summary, warnings and notes, and the thresholds behind them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from illume._typing import BoolArray
from illume.report.answers import answers_of
from illume.report.words import count, enumerate_names, figure, percent, quote
from illume.results.attributions import Attributions
from illume.results.levels import EXACT, FAIR, HIGH, LOW, UNKNOWN
from illume.results.quality import Quality, RuleQuality, SurrogateQuality
from illume.results.text import owner

LOW_RULE_PRECISION, LOW_INTERVAL_COVERAGE = 0.9, 0.87
LOW_COVERAGE = 0.9  # of 95 % intervals
LOW_R2 = 0.5
FEW_ROWS = 50
WARNING, NOTE = "warning", "note"
N_FEATURES = 3

ADVICE = {
    EXACT: "They have no errors; what they cannot say is listed under known limits.",
    HIGH: "Contributions show what moves the model's answers; the ± of a contribution is its standard error.",
    FAIR: "Contributions are mostly, not always, right: look at a row's trust figures before you rely on it.",
    UNKNOWN: "Do not rely on contributions before this is measured: fit with more rows or queries.",
    LOW: "Do not rely on single explanations without a second look: prefer counterfactuals, which are "
    "checked on the model itself, and rows whose own trust figures are good.",
}


WITHOUT = (
    " The model itself was not at hand when this report was made: its answers here are its twin's, "
    "and there are no counterfactuals, which are checked on the model."
)


class Notice(NamedTuple):
    """A warning or a note: what was found, and what to do about it."""

    kind: str
    found: str
    advice: str


def low_trust(attributions: Attributions) -> BoolArray:
    """Return for which rows trust is low: by errors, or as another decision is explained, (n,)."""
    if attributions.kind == "shapley":
        return np.isin(attributions.trust.level, (LOW, UNKNOWN))
    return ~attributions.faithful


def summary(
    model: str, attributions: Attributions, n_given: int, quality: Quality, has_model: bool = True
) -> tuple[tuple[str, str], ...]:
    """Return paragraphs with their headings: what was explained, what matters most, how far to trust it."""
    answers = answers_of(attributions.outputs)
    kind = attributions.kind
    trust = f"{accuracy(quality, kind)} {ADVICE[trust_word(quality, kind)]} {_agreement(quality)}".strip()
    return (
        ("What this is", f"{_scope(model, attributions, n_given)}{'' if has_model else WITHOUT}"),
        (f"What the model {answers.verb}", answers.summary(attributions)),
        ("What matters most", _features(attributions)),
        ("How far to trust it", trust),
    )


def _scope(model: str, attributions: Attributions, n_given: int) -> str:
    answers = answers_of(attributions.outputs)
    rows, features = count(len(attributions), "row"), count(len(attributions.feature_names), "feature")
    text = f"This report explains how {model} {answers.verb}, on {rows} of {features}."
    if len(attributions) < n_given:
        text += f" They were taken, evenly spaced, from the {count(n_given, 'row')} given."
    if attributions.kind != "shapley":
        return (
            f"{text} A simpler model, the surrogate, was trained to answer like it, and this report "
            "shows how that weighs the features."
        )
    logarithms = attributions.outputs.scale_name.startswith("logarithm")
    sums = "their logarithms" if logarithms else "them"
    exact = bool(len(attributions)) and (attributions.trust.contribution_error == 0).all()
    what = "are the exact Shapley values" if exact else "are estimates of Shapley values"
    return f"{text} Contributions {what} of {owner(attributions)} {answers.score}, and add up to {sums}."


def _features(attributions: Attributions) -> str:
    strength, noun = attributions.strength, answers_of(attributions.outputs).noun
    order = np.argsort(-strength, kind="stable")[:N_FEATURES]
    order = order[strength[order] > 0]
    if not len(order):
        return f"No feature moved any {noun}."
    names = enumerate_names([quote(attributions.feature_labels[j]) for j in order])
    share = percent(float(strength[order].sum() / strength.sum()))
    subject = "it makes" if len(order) == 1 else "together they make"
    return f"{noun.capitalize()}s were moved most by {names}: {subject} up {share} of all contributions."


def trust_word(quality: Quality, kind: str) -> str:
    """Return how far contributions of a kind can be trusted, in a word."""
    return UNKNOWN if kind == "pullback" else quality.word


def accuracy(quality: Quality, kind: str) -> str:
    """Return how accurate contributions are, in a sentence."""
    found = quality.contributions
    if kind == "pullback":
        return "Contributions are those of the surrogate; how true they are of the model is not measured."
    if quality.exact:
        return (
            "Contributions are exact: the model was read, and what was read gives its own answers to fitted "
            "and to mixed rows."
        )
    if found is None or found.word == UNKNOWN:
        return "The accuracy of contributions was not measured: too few rows or queries were left for it."
    return (
        f"On {count(found.n_rows, 'held-out row')}, contributions explain {percent(max(found.r2, 0.0))} of "
        f"the variance of the model's own Shapley values (R² {figure(found.r2)}, 95 % interval "
        f"{figure(found.low)} to {figure(found.high)}); the typical error of a contribution is "
        f"{quality.outputs.format_typical_error(found.error)} in {quality.outputs.error_unit}."
    )


def _agreement(quality: Quality) -> str:
    report = quality.report
    if quality.exact or quality.contributions is None:
        return ""
    if not report.n_rows:
        return "No rows but copies of training rows were held out to measure the network that learned it."
    found = answers_of(quality.outputs).twin_figures(quality)
    return f"On {count(report.n_rows, 'held-out row')}, the network that learned the model {found}"


def find_notices(
    attributions: Attributions, quality: Quality, rules: RuleQuality | None, has_model: bool = True
) -> tuple[Notice, ...]:
    """Return all warnings, then all notes."""
    without = "Load the explainer with its model, illume.load(path, model), and write the report again."
    found = [
        *([] if has_model else [Notice(WARNING, WITHOUT.strip(), without)]),
        *_contribution_notices(quality, attributions.kind),
        *_twin_notices(quality),
        *_class_notices(quality),
        *(() if quality.surrogate is None else _surrogate_notices(quality.surrogate, quality)),
        *_row_notices(attributions, quality),
        *(_pullback_notices(attributions) if attributions.kind == "pullback" else ()),
        *_rule_notices(rules),
    ]
    return tuple(sorted(found, key=lambda notice: notice.kind != WARNING))


def _contribution_notices(quality: Quality, kind: str) -> Iterator[Notice]:
    measured = quality.contributions
    if quality.ignored:
        names = enumerate_names([quote(quality.dictionary.label(name)) for name in quality.ignored])
        found = f"The model ignores {names}: in all rows tried, changing them never changed its answer."
        yield Notice(NOTE, found, "Their contributions are exactly 0.")
    if kind == "pullback":
        advice = 'Fit with contributions="shapley" to get values of the model itself, with their errors.'
        yield Notice(NOTE, accuracy(quality, kind), advice)
        return
    if quality.exact or measured is None:
        return
    if measured.word == UNKNOWN:
        yield Notice(WARNING, accuracy(quality, kind), "Fit with more rows or more queries to the model.")
    elif measured.word == LOW:
        found = (
            f"Contributions explain little of the model's own Shapley values (R² {figure(measured.r2)}, "
            f"{figure(measured.low)} to {figure(measured.high)}, on {measured.n_rows:,} held-out rows)."
        )
        advice = "Fit with more queries or effort, or refine each row: explainer(rows, refine=64)."
        yield Notice(WARNING, found, advice)
    if measured.coverage < LOW_COVERAGE:
        found = (
            "The standard errors (±) of contributions are too small: their 95\N{NO-BREAK SPACE}% intervals "
            f"hold the model's own value in only {percent(measured.coverage)} of cases."
        )
        yield Notice(WARNING, found, "Treat contributions as less certain than stated.")


def _twin_notices(quality: Quality) -> Iterator[Notice]:
    report, answers = quality.report, answers_of(quality.outputs)
    if quality.exact or quality.contributions is None:
        return
    if report.agreement <= quality.majority < 1:
        found = (
            f"The network agrees with the model on {percent(report.agreement)} of the held-out rows, no "
            f"more than always predicting the most common decision would ({percent(quality.majority)})."
        )
        yield Notice(WARNING, found, "Fit with more rows of the rarer classes, or with more effort.")
    if answers.is_low(report.agreement):
        rows, share = count(report.n_rows, "held-out row"), percent(1 - report.agreement)
        found = f"On {rows}, the network that learned the model disagrees with it on {share}."
        advice = "Fit with more rows or queries; until then, go by the trust figures of single rows."
        yield Notice(WARNING, found, advice)
    if report.n_rows < FEW_ROWS:
        rows = count(report.n_rows, "held-out row")
        found = f"Trust was measured on only {rows}, so its figures are rough."
        yield Notice(WARNING, found, "Fit with more rows, or with a larger report_size.")


def _surrogate_notices(found: SurrogateQuality, quality: Quality) -> Iterator[Notice]:
    if answers_of(quality.outputs).is_low(found.agreement) or found.r2 < LOW_R2:
        agrees = f"agrees with the model on {percent(found.agreement)} of the held-out rows"
        known = (
            f"{agrees} (R² {figure(found.r2)})" if quality.outputs.decides else f"has R² {figure(found.r2)}"
        )
        text = f"The surrogate, behind rules, {known}."
        yield Notice(
            WARNING, text, "Look at the precision of a rule before you rely on it; slopes are rough."
        )


def _class_notices(quality: Quality) -> Iterator[Notice]:
    if quality.exact:
        return
    low = [
        f"{quote(c.name)} ({percent(c.agreement)} of {c.n_rows:,})"
        for c in quality.classes
        if c.n_rows and answers_of(quality.outputs).is_low(c.agreement)
    ]
    if low:
        found = f"The network often disagrees on some classes: it agrees on {enumerate_names(low)}."
        advice = "Read explanations of these decisions with care, and fit with more rows of these classes."
        yield Notice(WARNING, found, advice)
    unseen = [quote(c.name) for c in quality.classes if not c.n_rows]
    if unseen:
        found = f"No held-out row was decided as {enumerate_names(unseen)}, so trust there is not known."
        yield Notice(WARNING, found, "Fit with more rows of these classes.")


def _row_notices(attributions: Attributions, quality: Quality) -> Iterator[Notice]:
    low, n, n_outside = low_trust(attributions), len(attributions), attributions.outside.sum()
    n_low, needed = int(low.sum()), quality.queries_for_errors
    if n_low and attributions.kind == "shapley":
        what = "their contributions have a typical error of more than half their size"
        if np.isnan(attributions.trust.contribution_error).all():
            what = "the errors of their contributions are not known"
        found = f"{count(n_low, 'row')} of {n:,} ({percent(n_low / n)}) have low trust: {what}."
        advice = "They are marked in the table and can be filtered. For these rows, use counterfactuals."
        if needed and quality.contributions and n_low >= 0.5 * n:  # of the fit, not of single rows
            rows = count(quality.contributions.n_rows, "held-out row")
            advice = (
                f"Errors of contributions were learned from queries about only {rows}, and are wide for "
                f"that: fit with queries={needed:_} or more (now {quality.n_queries:_}), and fewer rows will "
                "be marked."
            )
        yield Notice(WARNING, found, advice)
    if n_outside:
        found = (
            f"{count(n_outside, 'row')} of {n:,} ({percent(n_outside / n)}) are outside what the explainer "
            "was fitted on: they have values that no fitted row has, or are far from all fitted rows."
        )
        advice = "explainer.check(rows) says what changed. If there are many, fit again with such rows."
        if quality.exact:
            meaning = "Contributions hold there, too, but the model may never have seen such rows"
            yield Notice(NOTE, found, f"{meaning}; {advice}")
        else:
            yield Notice(WARNING, found, f"Read their explanations as guesses; {advice}")


def _pullback_notices(attributions: Attributions) -> Iterator[Notice]:
    n_wrong, n_refined = (~attributions.faithful).sum(), attributions.refinement.refined.sum()
    n_missing = attributions.imputed.any(1).sum()
    if n_wrong:
        found = (
            f"{count(n_wrong, 'row')} could not be made to agree with the model; their explanations are for "
            "another decision than the model's."
        )
        yield Notice(WARNING, found, "Do not use the explanations of these rows.")
    if n_refined:
        found = (
            f"For {count(n_refined, 'row')} the surrogate first disagreed; their explanations were moved, as "
            "little as needed, towards those of similar rows on which both agree."
        )
        yield Notice(NOTE, found, "The rows are marked as refined; their offset shows what this added.")
    if n_missing:
        found = f"{count(n_missing, 'row')} have missing numbers. They are read as the mean and contribute 0."
        advice = "If a missing value itself influences the model, the explanation does not show it."
        yield Notice(NOTE, found, advice)


def _rule_notices(rules: RuleQuality | None) -> Iterator[Notice]:
    # intervals are meant to hold nine tenths, no more, so that a little less is no fault
    least = LOW_RULE_PRECISION if rules is None or math.isnan(rules.width) else LOW_INTERVAL_COVERAGE
    if rules is not None and rules.precision < least:
        share = percent(rules.precision)
        found = f"Rules hold less often than wanted: on average for {share} of the held-out rows they cover."
        yield Notice(WARNING, found, "Look at the precision of a rule before you rely on it.")
