"""The report in a few sentences."""

from __future__ import annotations

import math

import numpy as np

from illume.report.notices import UNCERTAIN, trust_level
from illume.report.words import count, enumerate_names, figure, percent, quote
from illume.results.attributions import Attributions
from illume.results.quality import FAIR, HIGH, LOW, UNKNOWN, Quality
from illume.results.text import owner

N_FEATURES = 3
N_CLASSES = 6

ADVICE = {
    HIGH: "Contributions show what moves the model's answers; the ± of a contribution is its standard error.",
    FAIR: "Contributions are mostly, not always, right: look at a row's trust figures before you rely on it.",
    UNKNOWN: "Do not rely on contributions before this is measured: fit with more rows or queries.",
    UNCERTAIN: "That looks good, but the figure is uncertain with so few rows: go by each row's trust "
    "figures, and measure on more rows before you rely on the whole.",
    LOW: "Do not rely on single explanations without a second look: prefer counterfactuals, which are "
    "checked on the model itself, and rows whose own trust figures are good.",
}


def summary(
    model: str, attributions: Attributions, n_given: int, quality: Quality
) -> tuple[tuple[str, str], ...]:
    """Return paragraphs with their headings: what was explained, what matters most, how far to trust it."""
    trust = f"{_accuracy(quality)} {ADVICE[trust_level(quality)]} {_agreement(quality)}"
    return (
        ("What this is", _scope(model, attributions, n_given)),
        ("What the model decides", _decisions(attributions)),
        ("What matters most", _features(attributions)),
        ("How far to trust it", trust),
    )


def _scope(model: str, attributions: Attributions, n_given: int) -> str:
    rows, features = count(len(attributions), "row"), count(len(attributions.feature_names), "feature")
    text = f"This report explains how {model} decides, on {rows} of {features}."
    if len(attributions) < n_given:
        text += f" They were taken, evenly spaced, from the {count(n_given, 'row')} given."
    text += " The model is treated as a black box: only its answers were used."
    if attributions.kind == "shapley":
        return (
            f"{text} Contributions are estimates of Shapley values of {owner(attributions)} log-odds, and "
            "add up to them. Rules and the map of rows come from a simpler model, the surrogate, which was "
            "trained to answer like it."
        )
    return (
        f"{text} A simpler model, the surrogate, was trained to answer like it, and this report shows how "
        "the surrogate weighs the features."
    )


def _decisions(attributions: Attributions) -> str:
    counts = np.bincount(attributions.decisions, minlength=len(attributions.class_names))
    order = np.argsort(-counts, kind="stable")
    shown = [
        f"{quote(attributions.class_names[c])} for {counts[c]:,} ({percent(counts[c] / len(attributions))})"
        for c in order[:N_CLASSES]
    ]
    if len(counts) > N_CLASSES:
        shown.append(f"{count(len(counts) - N_CLASSES, 'other class')} for the rest")
    return f"Of these rows, the model decided {enumerate_names(shown)}."


def _features(attributions: Attributions) -> str:
    strength = attributions.strength
    order = np.argsort(-strength, kind="stable")[:N_FEATURES]
    order = order[strength[order] > 0]
    if not len(order):
        return "No feature moved any decision."
    names = enumerate_names([quote(attributions.feature_names[j]) for j in order])
    share = percent(float(strength[order].sum() / strength.sum()))
    subject = "it makes" if len(order) == 1 else "together they make"
    return f"Decisions were moved most by {names}: {subject} up {share} of all contributions."


def _accuracy(quality: Quality) -> str:
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
        f"{figure(found.low)} to {figure(found.high)}); a contribution is typically off by "
        f"{figure(found.error)} in log-odds."
    )


def _agreement(quality: Quality) -> str:
    report, worst = quality.report, quality.worst
    if not report.n_rows:
        return "No rows were held out to measure the surrogate."
    low, high = report.interval
    text = (
        f"On {count(report.n_rows, 'held-out row')}, the surrogate decides like the model on "
        f"{percent(report.agreement)} (95 % interval {percent(low)} to {percent(high)})"
    )
    if math.isfinite(quality.majority):
        text += f"; always predicting the most common decision would agree on {percent(quality.majority)}"
    if worst is not None and len(quality.classes) > 1:
        rows = count(worst.n_rows, "row")
        text += f". Its lowest agreement is on {quote(worst.name)}: {percent(worst.agreement)} of {rows}"
    return f"{text}."
