"""What a report says in sentences: the summary, warnings and notes, and the thresholds behind them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from illume._typing import IntArray
from illume.report.answers import answers_of
from illume.report.words import count, enumerate_names, figure, percent, quote
from illume.results.attributions import Attributions
from illume.results.quality import FAIR, HIGH, LOW, UNKNOWN, Quality, RuleQuality
from illume.results.text import owner
from illume.results.trust import typical_errors

LOW_RULE_PRECISION, LOW_INTERVAL_COVERAGE = 0.9, 0.87
LARGE_SHARE = 0.5  # typical error of a row's contributions, as a share of their size
LOW_COVERAGE = 0.9  # of 95 % intervals
LOW_R2 = 0.5
FEW_ROWS = 50
UNCERTAIN = "uncertain"
WARNING, NOTE = "warning", "note"
N_FEATURES = 3

ADVICE = {
    HIGH: "Contributions show what moves the model's answers; the ± of a contribution is its standard error.",
    FAIR: "Contributions are mostly, not always, right: look at a row's trust figures before you rely on it.",
    UNKNOWN: "Do not rely on contributions before this is measured: fit with more rows or queries.",
    UNCERTAIN: "That looks good, but the figure is uncertain with so few rows: go by each row's trust "
    "figures, and measure on more rows before you rely on the whole.",
    LOW: "Do not rely on single explanations without a second look: prefer counterfactuals, which are "
    "checked on the model itself, and rows whose own trust figures are good.",
}


WITHOUT = (
    " The model itself was not at hand when this report was made: its answers here are the surrogate's, "
    "and there are no counterfactuals, which are checked on the model."
)


class Notice(NamedTuple):
    """A warning or a note: what was found, and what to do about it."""

    kind: str
    found: str
    advice: str


def trust_level(quality: Quality) -> str:
    """Return how far contributions can be trusted, in a word.

    It follows from their R² on held-out rows. For kind `pullback` that is not measured, and the agreement of
    decisions allows at most "fair".
    """
    if quality.contributions is not None:
        return quality.contributions.word
    if not quality.report.n_rows:
        return UNKNOWN
    is_low = answers_of(quality.outputs).is_low
    if is_low(quality.agreement) or quality.agreement <= quality.majority:
        return LOW
    return UNCERTAIN if is_low(quality.report.interval[0]) else FAIR


def low_trust(attributions: Attributions) -> IntArray:
    """Return what trust is low in: 1 contributions, 2 the surrogate around there, 3 both, 0 nothing, (n,)."""
    trust = attributions.trust
    surrogate = answers_of(attributions.outputs).accurate(attributions)
    if attributions.kind == "shapley":
        accurate = trust.contribution_error <= LARGE_SHARE * typical_errors(attributions.values)
    else:
        accurate = attributions.faithful
    return np.where(accurate, 0, 1) + np.where(surrogate, 0, 2)


def summary(
    model: str, attributions: Attributions, n_given: int, quality: Quality, has_model: bool = True
) -> tuple[tuple[str, str], ...]:
    """Return paragraphs with their headings: what was explained, what matters most, how far to trust it."""
    answers = answers_of(attributions.outputs)
    trust = f"{accuracy(quality)} {ADVICE[trust_level(quality)]} {_agreement(quality)}"
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
    text += " The model is treated as a black box: only its answers were used."
    if attributions.kind == "shapley":
        logarithms = attributions.outputs.scale_name.startswith("logarithm")
        sums = "their logarithms" if logarithms else "them"
        return (
            f"{text} Contributions are estimates of Shapley values of {owner(attributions)} {answers.score}, "
            f"and add up to {sums}. Rules and the map of rows come from a simpler model, the surrogate, "
            "which was trained to answer like it."
        )
    return (
        f"{text} A simpler model, the surrogate, was trained to answer like it, and this report shows how "
        "the surrogate weighs the features."
    )


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


def accuracy(quality: Quality) -> str:
    """Return how accurate contributions are, in a sentence."""
    found = quality.contributions
    if found is None:
        return (
            "Contributions are those of the surrogate; their accuracy for the model was not measured, so "
            "trust is fair at most."
        )
    if found.word == UNKNOWN:
        return "The accuracy of contributions was not measured: too few rows or queries were left for it."
    return (
        f"On {count(found.n_rows, 'held-out row')}, contributions explain {percent(max(found.r2, 0.0))} of "
        f"the variance of the model's own Shapley values (R² {figure(found.r2)}, 95 % interval "
        f"{figure(found.low)} to {figure(found.high)}); the typical error of a contribution is "
        f"{quality.outputs.format_typical_error(found.error)} in {quality.outputs.error_unit}."
    )


def _agreement(quality: Quality) -> str:
    report, worst = quality.report, quality.worst
    if not report.n_rows:
        return "No rows were held out to measure the surrogate."
    low, high = report.interval
    answers = answers_of(quality.outputs)
    text = (
        f"On {count(report.n_rows, 'held-out row')}, the surrogate {answers.agreement} on "
        f"{percent(report.agreement)} (95 % interval {percent(low)} to {percent(high)})"
    )
    if math.isfinite(quality.majority):
        text += f"; always predicting the most common decision would agree on {percent(quality.majority)}"
    if worst is not None and len(quality.classes) > 1:
        rows = count(worst.n_rows, "row")
        text += f". Its lowest agreement is on {quote(worst.name)}: {percent(worst.agreement)} of {rows}"
    return f"{text}.{answers.fit_figures(quality)}"


def find_notices(
    attributions: Attributions, quality: Quality, rules: RuleQuality | None, has_model: bool = True
) -> tuple[Notice, ...]:
    """Return all warnings, then all notes."""
    without = "Load the explainer with its model, illume.load(path, model), and write the report again."
    by_kind = _shapley_notices if attributions.kind == "shapley" else _pullback_notices
    found = [
        *([] if has_model else [Notice(WARNING, WITHOUT.strip(), without)]),
        *_contribution_notices(quality),
        *_surrogate_notices(quality),
        *_class_notices(quality),
        *_row_notices(attributions, quality),
        *by_kind(attributions),
        *_rule_notices(rules),
    ]
    return tuple(sorted(found, key=lambda notice: notice.kind != WARNING))


def _contribution_notices(quality: Quality) -> Iterator[Notice]:
    measured = quality.contributions
    if measured is None:
        advice = 'Fit with contributions="shapley" to get values of the model itself, with their errors.'
        yield Notice(NOTE, accuracy(quality), advice)
        return
    if measured.word == UNKNOWN:
        yield Notice(WARNING, accuracy(quality), "Fit with more rows or more queries to the model.")
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
    if quality.ignored:
        names = enumerate_names([quote(quality.dictionary.label(name)) for name in quality.ignored])
        found = f"The model ignores {names}: in all rows tried, changing them never changed its answer."
        yield Notice(NOTE, found, "Their contributions are exactly 0.")


def _surrogate_notices(quality: Quality) -> Iterator[Notice]:
    report, baseline, answers = quality.report, quality.baseline, answers_of(quality.outputs)
    if report.agreement <= quality.majority < 1:
        found = (
            f"The surrogate agrees with the model on {percent(report.agreement)} of the held-out rows, no "
            f"more than always predicting the most common decision would ({percent(quality.majority)})."
        )
        advice = "Do not rely on rules and slopes; fit with more rows of the rarer classes."
        yield Notice(WARNING, found, advice)
    if answers.is_low(report.agreement):
        share = percent(1 - report.agreement)
        found = (
            f"On {count(report.n_rows, 'held-out row')}, the surrogate disagrees with the model on {share}."
        )
        advice = "Fit with more rows or queries; until then, go by the trust figures of single rows."
        yield Notice(WARNING, found, advice)
    if report.n_rows < FEW_ROWS:
        rows = count(report.n_rows, "held-out row")
        found = f"Trust was measured on only {rows}, so its figures are rough."
        yield Notice(WARNING, found, "Fit with more rows, or with a larger report_size.")
    if report.r2 < LOW_R2:
        found = f"The surrogate explains little of the model's {answers.variance} (R² {figure(report.r2)})."
        advice = "Do not take rules and slopes for reasons of the model's own numbers."
        yield Notice(WARNING, found, advice)
    if quality.fell_back:
        found = "All rows share one linear surrogate, because one with a map for every row was no better."
        yield Notice(NOTE, found, "Slopes are the same for all rows.")
    elif quality.encoder != "identity" and report.score < baseline.score:
        figures = f"agreement {figure(baseline.agreement)} against {figure(report.agreement)}"
        found = f"On the held-out rows, a single linear model for all rows did no worse ({figures})."
        advice = (
            'Validation rows did not show this; consider the simpler SurrogateOptions(encoder="identity").'
        )
        yield Notice(NOTE, found, advice)


def _class_notices(quality: Quality) -> Iterator[Notice]:
    low = [
        f"{quote(c.name)} ({percent(c.agreement)} of {c.n_rows:,})"
        for c in quality.classes
        if c.n_rows and answers_of(quality.outputs).is_low(c.agreement)
    ]
    if low:
        found = f"The surrogate often disagrees on some classes: it agrees on {enumerate_names(low)}."
        advice = "Read explanations of these decisions with care, and fit with more rows of these classes."
        yield Notice(WARNING, found, advice)
    unseen = [quote(c.name) for c in quality.classes if not c.n_rows]
    if unseen:
        found = f"No held-out row was decided as {enumerate_names(unseen)}, so trust there is not known."
        yield Notice(WARNING, found, "Fit with more rows of these classes.")


def _row_notices(attributions: Attributions, quality: Quality) -> Iterator[Notice]:
    low, n, n_outside = low_trust(attributions), len(attributions), attributions.outside.sum()
    n_low, needed = int(np.sum(low > 0)), quality.queries_for_errors
    if n_low:
        errors = "their contributions have a typical error of more than half their size, or "
        if np.isnan(attributions.trust.contribution_error).all():
            errors = "the errors of their contributions are not known, or "
        found = (
            f"{count(n_low, 'row')} of {n:,} ({percent(n_low / n)}) have low trust: "
            f"{errors if attributions.kind == 'shapley' else ''}"
            f"{answers_of(attributions.outputs).inaccurate}."
        )
        advice = "They are marked in the table and can be filtered. For these rows, use counterfactuals."
        if needed and quality.contributions and np.mean(low % 2) >= 0.5:  # of the fit, not of single rows
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
        advice = (
            "Read their explanations as guesses; explainer.check(rows) says what changed. If there are many, "
            "fit again with such rows."
        )
        yield Notice(WARNING, found, advice)


def _shapley_notices(attributions: Attributions) -> Iterator[Notice]:
    n_different, n_missing = (~attributions.agreed).sum(), attributions.imputed.any(1).sum()
    if n_different:
        moved = "were moved towards those of similar rows, if there are any"
        slopes = "are the surrogate's own" if attributions.refinement.exact else moved
        found = (
            f"For {count(n_different, 'row')} the surrogate disagrees with the model. Contributions are "
            f"still the model's; slopes {slopes}."
        )
        yield Notice(NOTE, found, "Check the rules of these rows.")
    if n_missing:
        found = f"{count(n_missing, 'row')} have missing numbers. Contributions show the effect of this."
        yield Notice(NOTE, found, "The surrogate reads them as the mean.")


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
