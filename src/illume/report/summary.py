"""The report in a few plain sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from illume.report import thresholds
from illume.report.explained import Explained
from illume.report.words import count, figure, listed, percent, quoted
from illume.results.quality import Quality
from illume.results.text import owner

NAMED_FEATURES = 3
NAMED_CLASSES = 6

ADVICE = {
    thresholds.HIGH: "Contributions can be read as what moves the model's answers; the ± of a "
    "contribution is its standard error.",
    thresholds.FAIR: "Contributions give the right picture mostly, not always: look at the trust figures "
    "of a row before you rely on it.",
    thresholds.UNKNOWN: "Do not rely on contributions before that is measured: fit with more rows or "
    "queries.",
    thresholds.UNCERTAIN: "That looks well, but so few rows cannot tell it from a poor figure: go by the "
    "trust figure of each row, and measure on more rows before you rely on the whole.",
    thresholds.LOW: "Do not rely on single explanations without a second look: prefer counterfactuals, "
    "which are checked on the model itself, and rows whose own trust figures are good.",
}


@dataclass(frozen=True)
class Summary:
    """Paragraphs, each with its heading, and the trust in the whole.

    That is `high`, `fair`, `uncertain`, `low` or `unknown`.
    """

    paragraphs: tuple[tuple[str, str], ...]
    level: str


def summary(model: str, explained: Explained, quality: Quality) -> Summary:
    """Say what was explained, what matters most and how far to trust it."""
    level = thresholds.trust_level(quality)
    paragraphs = (
        ("What this is", _what(model, explained)),
        ("What the model decides", _decisions(explained)),
        ("What matters most", _features(explained)),
        ("How far to trust it", f"{_contributions(quality)} {ADVICE[level]} {_agreement(quality)}"),
    )
    return Summary(paragraphs, level)


def _what(model: str, explained: Explained) -> str:
    attributions = explained.attributions
    features = count(len(attributions.feature_names), "feature")
    text = f"This report explains how {model} decides, on {count(explained.n_shown, 'row')} of {features}."
    if explained.n_shown < explained.n_given:
        text += f" They were taken, evenly spaced, from the {count(explained.n_given, 'row')} given."
    text += " The model is treated as a black box: only its answers were used."
    if attributions.kind == "shapley":
        return (
            f"{text} Contributions are estimates of Shapley values of {owner(attributions)} log-odds, to "
            "which "
            "they add up. Rules and the map of rows come from a simpler stand-in, the surrogate, which has "
            "learned to answer like it."
        )
    return (
        f"{text} A simpler stand-in, the surrogate, has learned to answer like it, and what you see is how "
        "the "
        "surrogate weighs the features."
    )


def _decisions(explained: Explained) -> str:
    attributions = explained.attributions
    counts = np.bincount(attributions.decisions, minlength=len(attributions.class_names))
    order = np.argsort(-counts, kind="stable")
    shown = [
        f"{quoted(attributions.class_names[c])} for {counts[c]:,} ({percent(counts[c] / len(attributions))})"
        for c in order[:NAMED_CLASSES]
    ]
    others = len(counts) - len(shown)
    if others:
        shown.append(f"{count(others, 'other class')} for the rest")
    return f"Of these rows, the model decided {listed(shown)}."


def _features(explained: Explained) -> str:
    strength = explained.attributions.strength
    total = float(strength.sum())
    if not total:
        return "No feature moved any decision."
    order = np.argsort(-strength, kind="stable")[:NAMED_FEATURES]
    order = order[strength[order] > 0]
    names = [quoted(explained.attributions.feature_names[j]) for j in order]
    share = percent(float(strength[order].sum()) / total)
    moved = f"Decisions were moved most by {listed(names)}"
    if len(names) == 1:
        return f"{moved}: it makes up {share} of all contributions."
    return f"{moved}: together they make up {share} of all contributions."


def _contributions(quality: Quality) -> str:
    found = quality.contributions
    if found is None:
        return (
            "Contributions are those of the surrogate; how true they are of the model was not measured, so "
            "trust "
            "is fair at most."
        )
    if found.word == thresholds.UNKNOWN:
        return "How true contributions are was not measured, for too few rows or queries were left for it."
    return (
        f"On {count(found.n_rows, 'row')} kept aside for this, contributions explain "
        f"{percent(max(found.r2, 0.0))} of "
        f"the variance of the model's own Shapley values (R² {figure(found.r2)}, likely between "
        f"{figure(found.low)} "
        f"and {figure(found.high)}); a contribution is typically off by {figure(found.error)} in log-odds."
    )


def _agreement(quality: Quality) -> str:
    fidelity, worst = quality.report, quality.worst
    if not fidelity.n_rows:
        return "No rows were kept aside to measure the surrogate."
    low, high = fidelity.interval
    text = (
        f"On {count(fidelity.n_rows, 'row')} kept aside for this, the surrogate decides like the model on "
        f"{percent(fidelity.agreement)} (with so many rows, the true share is likely between {percent(low)} "
        f"and {percent(high)})"
    )
    if math.isfinite(quality.majority):
        text += f"; always naming the most common decision would on {percent(quality.majority)}"
    if worst is not None and len(quality.classes) > 1:
        rows = count(worst.n_rows, "row")
        text += f". It does worst on {quoted(worst.name)}: {percent(worst.agreement)} of {rows}"
    return f"{text}."
