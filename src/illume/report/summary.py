"""The report in a few plain sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume.report import thresholds
from illume.report.explained import Explained
from illume.report.words import count, listed, percent, quoted
from illume.results.quality import Quality

NAMED_FEATURES = 3
NAMED_CLASSES = 6

ADVICE = {
    thresholds.HIGH: "The explanations can be read as a good account of how the model decides.",
    thresholds.FAIR: "The explanations give the right picture mostly, not always: look at the trust figure "
    "of a row before you rely on it.",
    thresholds.UNCERTAIN: "That looks well, but so few rows cannot tell it from a poor figure: go by the "
    "trust figure of each row, and measure on more rows before you rely on the whole.",
    thresholds.LOW: "Do not rely on single explanations without a second look: prefer counterfactuals, "
    "which are checked on the model itself, and rows whose own trust figure is high.",
}


@dataclass(frozen=True)
class Summary:
    """Paragraphs, each with its heading, and the trust in the whole: `high`, `fair`, `uncertain` or `low`."""

    paragraphs: tuple[tuple[str, str], ...]
    level: str


def summary(model: str, explained: Explained, quality: Quality) -> Summary:
    """Say what was explained, what matters most and how far to trust it."""
    level = thresholds.level(quality.agreement, quality.report.interval[0])
    paragraphs = (
        ("What this is", _what(model, explained)),
        ("What the model decides", _decisions(explained)),
        ("What matters most", _features(explained)),
        ("How far to trust it", f"{_trust(quality)} {ADVICE[level]}"),
    )
    return Summary(paragraphs, level)


def _what(model: str, explained: Explained) -> str:
    attributions = explained.attributions
    features = count(len(attributions.feature_names), "feature")
    text = f"This report explains how {model} decides, on {count(explained.n_shown, 'row')} of {features}."
    if explained.n_shown < explained.n_given:
        text += f" They were taken, evenly spaced, from the {count(explained.n_given, 'row')} given."
    return (
        f"{text} The model is treated as a black box: only its answers were used. A simpler stand-in, the "
        "surrogate, has learned to answer like it, and what you see is how the surrogate weighs the features."
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
        return "No feature moved any decision of the surrogate."
    order = np.argsort(-strength, kind="stable")[:NAMED_FEATURES]
    order = order[strength[order] > 0]
    names = [quoted(explained.attributions.feature_names[j]) for j in order]
    share = percent(float(strength[order].sum()) / total)
    moved = f"Decisions were moved most by {listed(names)}"
    if len(names) == 1:
        return f"{moved}: it makes up {share} of all contributions."
    return f"{moved}: together they make up {share} of all contributions."


def _trust(quality: Quality) -> str:
    fidelity = quality.report
    if not fidelity.n_rows:
        return "No rows were kept aside to measure it."
    low, high = fidelity.interval
    return (
        f"On {count(fidelity.n_rows, 'row')} kept aside for this, the surrogate decides like the model on "
        f"{percent(fidelity.agreement)} (with so many rows, the true share is likely between {percent(low)} "
        f"and {percent(high)})."
    )
