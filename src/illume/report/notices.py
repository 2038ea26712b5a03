"""What a reader must be warned of, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from illume.report import thresholds
from illume.report.explained import Explained
from illume.report.words import count, figure, listed, percent, quoted
from illume.results.attributions import Attributions
from illume.results.quality import Quality, RuleQuality

WARNING, NOTE = "warning", "note"


@dataclass(frozen=True)
class Notice:
    """Something to know: how grave it is, what was found, what to do."""

    kind: str
    found: str
    advice: str


def notices(explained: Explained, quality: Quality, rules: RuleQuality | None) -> tuple[Notice, ...]:
    """Return all warnings first, then notes."""
    found = [*_of_fit(quality), *_of_rows(explained), *_of_rules(rules)]
    return tuple(sorted(found, key=lambda notice: notice.kind != WARNING))


def _of_contributions(quality: Quality) -> Iterator[Notice]:
    found = quality.contributions
    if found is None:
        yield Notice(
            NOTE,
            "Contributions are pulled back from the surrogate; how true they are of the model is not "
            "measured.",
            'Fit with contributions="shapley" to have values of the model itself, with their errors.',
        )
        return
    if found.word == thresholds.UNKNOWN:
        yield Notice(
            WARNING,
            "How true contributions are was not measured: too few rows or queries were left for it.",
            "Fit with more rows or more queries to the model.",
        )
    elif found.word == thresholds.LOW:
        yield Notice(
            WARNING,
            f"Contributions explain little of the model's own Shapley values (R² {figure(found.r2)}, "
            f"{figure(found.low)} to {figure(found.high)}, on {count(found.n_rows, 'row')} kept aside).",
            "Fit with more queries or effort, or let explainer(rows, refine=64) ask the model about each "
            "row.",
        )
    if found.coverage < thresholds.LOW_COVERAGE:
        yield Notice(
            WARNING,
            f"The ± of contributions are too small: 1.96 times as much holds the model's own value in "
            f"{percent(found.coverage)} of cases, and should in 95\N{NO-BREAK SPACE}%.",
            "Take contributions for less sure than they say.",
        )
    if quality.ignored:
        named = listed([quoted(name) for name in quality.ignored])
        yield Notice(
            NOTE,
            f"The model ignores {named}: no answer changed when they did, in all rows that were tried.",
            "Their contributions are exactly 0.",
        )


def _of_fit(quality: Quality) -> Iterator[Notice]:
    report = quality.report
    yield from _of_contributions(quality)
    if report.agreement <= quality.majority < 1:
        yield Notice(
            WARNING,
            f"The surrogate agrees with the model on {percent(report.agreement)} of the rows kept aside, "
            "which is no "
            f"more than always naming the most common decision would ({percent(quality.majority)}).",
            "Do not rely on rules and slopes; fit with more rows of the rarer classes.",
        )
    if report.agreement < thresholds.LOW_AGREEMENT:
        yield Notice(
            WARNING,
            f"On {count(report.n_rows, 'row')} kept aside, the surrogate decides otherwise than the model on "
            f"{percent(1 - report.agreement)}.",
            "Fit with more rows, more queries to the model or more latents; until then, trust single rows by "
            "their own figure only.",
        )
    if report.n_rows < thresholds.FEW_ROWS:
        yield Notice(
            WARNING,
            f"Only {count(report.n_rows, 'row')} were kept aside to measure trust, so every figure of it is "
            "rough.",
            "Fit with more rows, or give report_size a larger share.",
        )
    if report.r2 < thresholds.LOW_R2:
        yield Notice(
            WARNING,
            f"The surrogate explains little of the model's probabilities (R² {figure(report.r2)}).",
            "Read rules and slopes as reasons for the decision, not as how sure the model is.",
        )
    yield from _of_classes(quality)
    if quality.fell_back:
        yield Notice(
            NOTE,
            "All rows share one linear surrogate, because one with a map for every row was no better.",
            "Slopes are then the same for all rows; so are contributions of a feature with the same value, "
            "if they "
            "are the surrogate's.",
        )
    elif quality.encoder != "identity" and report.score < quality.baseline.score:
        yield Notice(
            NOTE,
            f"On the rows kept aside, a single linear model for all rows did no worse (agreement "
            f"{figure(quality.baseline.agreement)} against {figure(report.agreement)}).",
            'The difference was not seen while choosing; consider encoder="identity", which is simpler.',
        )


def _of_classes(quality: Quality) -> Iterator[Notice]:
    low = [c for c in quality.classes if c.n_rows and c.agreement < thresholds.LOW_AGREEMENT]
    if low:
        named = listed([f"{quoted(c.name)} ({percent(c.agreement)} of {c.n_rows:,})" for c in low])
        yield Notice(
            WARNING,
            "On rows of some classes the surrogate often decides otherwise than the model: it agrees on "
            f"{named}.",
            "Read explanations of these decisions with care, and fit with more rows of these classes.",
        )
    unseen = [quoted(c.name) for c in quality.classes if not c.n_rows]
    if unseen:
        yield Notice(
            WARNING,
            f"None of the rows kept aside was decided as {listed(unseen)}, so nothing is known of the trust "
            "there.",
            "Fit with more rows of these classes.",
        )


def _of_rows(explained: Explained) -> Iterator[Notice]:
    attributions, n = explained.attributions, explained.n_shown
    low = int(thresholds.low_trust(attributions).sum())
    shapley = attributions.kind == "shapley"
    far = "their contributions have a typical error of more than half their size, or " if shapley else ""
    if low:
        yield Notice(
            WARNING,
            f"{count(low, 'row')} of {n:,} ({percent(low / n)}) lie where trust is low: {far}around them, "
            "the "
            f"surrogate agrees on less than {percent(thresholds.LOW_AGREEMENT)} of the rows kept aside or is "
            f"off by more than {thresholds.LARGE_ERROR:g} in probability.",
            "They are marked in the table and can be filtered. For these rows, go by counterfactuals, or "
            "ask somebody who knows the case.",
        )
    outside = int(attributions.outside.sum())
    if outside:
        yield Notice(
            WARNING,
            f"{count(outside, 'row')} of {n:,} ({percent(outside / n)}) are outside what the explainer was "
            "fitted on: they have values that no fitted row has, or are far from all of them.",
            "Read their explanations as guesses; explainer.check(rows) says what changed. If there are many, "
            "fit again with such rows.",
        )
    yield from _of_pulled_back(attributions) if attributions.kind == "pullback" else _of_shapley(attributions)


def _of_shapley(attributions: Attributions) -> Iterator[Notice]:
    otherwise = int((~attributions.agreed).sum())
    if otherwise:
        yield Notice(
            NOTE,
            f"For {count(otherwise, 'row')} the surrogate decides otherwise than the model. Contributions "
            "are the "
            "model's all the same; slopes were moved towards those of similar rows where there are such.",
            "Look twice at the rules of these rows.",
        )
    filled = int(attributions.imputed.any(1).sum())
    if filled:
        yield Notice(
            NOTE,
            f"{count(filled, 'row')} have missing numbers. Contributions say what their being missing does.",
            "The surrogate reads them as the mean.",
        )


def _of_pulled_back(attributions: Attributions) -> Iterator[Notice]:
    wrong, refined = int((~attributions.faithful).sum()), int(attributions.refinement.refined.sum())
    if wrong:
        yield Notice(
            WARNING,
            f"{count(wrong, 'row')} could not be made to agree with the model; their explanations speak for "
            "another decision than the model's.",
            "Do not use the explanations of these rows.",
        )
    if refined:
        yield Notice(
            NOTE,
            f"For {count(refined, 'row')} the surrogate first decided otherwise; their explanations were "
            "moved, as little as needed, towards those of similar rows on which both agree.",
            "The rows are marked as refined; their offset shows what this added.",
        )
    filled = int(attributions.imputed.any(1).sum())
    if filled:
        yield Notice(
            NOTE,
            f"{count(filled, 'row')} have missing numbers. They are read as the mean and contribute 0.",
            "If the model takes a missing value for a sign of something, the explanation does not show it.",
        )


def _of_rules(rules: RuleQuality | None) -> Iterator[Notice]:
    if rules is None:
        return
    if not math.isnan(rules.precision) and rules.precision < thresholds.HIGH_AGREEMENT:
        yield Notice(
            WARNING,
            f"Rules hold less often than one would wish: on average for {percent(rules.precision)} of the "
            "rows kept aside that they cover.",
            "Look at the precision of a rule before you rely on it.",
        )
