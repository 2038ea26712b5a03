"""One feature of new rows against what is known of the fitted ones."""

from __future__ import annotations

import math

import numpy as np

from illume._typing import FloatArray
from illume.data.encoding import Encoding
from illume.data.frames import Frame
from illume.data.schema import Feature
from illume.explanations.reference import Reference, category_counts, cumulative
from illume.results.check import FeatureCheck

EFFECT = 0.1  # a smaller shift is no matter, however sure
KNOWN_NAMES = 10


def check_features(encoding: Encoding, frame: Frame, reference: Reference) -> tuple[FeatureCheck, ...]:
    """Compare every feature of a frame's rows."""
    found, start = [], 0
    for j, feature in enumerate(encoding.schema.features):
        if feature.numeric:
            numbers = encoding.numbers(frame, feature)
            found.append(_number(feature, numbers, reference, j))
        else:
            stop = start + len(feature.categories)
            found.append(_category(feature, frame, reference, j, reference.shares[start:stop]))
            start = stop
    return tuple(found)


def _number(feature: Feature, numbers: FloatArray, reference: Reference, j: int) -> FeatureCheck:
    there = np.sort(numbers[~np.isnan(numbers)])
    n = max(len(numbers), 1)
    outside = (there < feature.low) | (there > feature.high) | math.isnan(feature.low)
    shift = threshold = math.nan
    knots = reference.knots[j]
    if len(there) and reference.n_rows and not np.isnan(knots).any():
        below, at_most = cumulative(there, knots)
        apart = np.abs(below - reference.below[j]), np.abs(at_most - reference.at_most[j])
        shift = float(max(each.max() for each in apart))
        seen = max(reference.n_rows * (1 - reference.missing[j]), 1)
        threshold = EFFECT + 1.63 * math.sqrt(1 / len(there) + 1 / seen)
    return FeatureCheck(
        name=feature.name,
        kind=feature.kind.value,
        unseen=(),
        unseen_share=0.0,
        outside_share=float(outside.sum() / n),
        beyond=_beyond(feature, there),
        missing_share=1 - len(there) / n if len(numbers) else 0.0,
        fitted_missing_share=float(reference.missing[j]),
        shift=shift,
        threshold=threshold,
    )


def _beyond(feature: Feature, there: FloatArray) -> float:
    """Return how far the farthest number is outside of the range, in widths of that range."""
    if not len(there) or not math.isfinite(feature.low) or not math.isfinite(feature.high):
        return 0.0
    # Halves, for the difference of two numbers may be too large for a number.
    excess = max(feature.low / 2 - there[0] / 2, there[-1] / 2 - feature.high / 2, 0.0)
    width = feature.high / 2 - feature.low / 2
    if not excess:
        return 0.0
    return math.inf if width == 0 or excess > 1e300 * width else float(excess / width)


def _category(
    feature: Feature, frame: Frame, reference: Reference, j: int, shares: FloatArray
) -> FeatureCheck:
    counts, n = category_counts(feature, frame), max(len(frame), 1)
    missing = counts[None] / n
    here = np.array([counts[category] / n for category in feature.categories])
    unseen = {
        value: count
        for value, count in counts.items()
        if count and value is not None and value not in feature.categories
    }
    shift = threshold = math.nan
    if len(frame) and reference.n_rows:
        elsewhere = max(1 - float(here.sum()), 0.0)  # of no category that was known
        shift = (float(np.abs(here - shares).sum()) + elsewhere) / 2
        chance = math.sqrt(1 / n + 1 / reference.n_rows)
        threshold = EFFECT + (0.5 * math.sqrt(max(len(here) - 1, 0)) + 1.5) * chance
    return FeatureCheck(
        name=feature.name,
        kind=feature.kind.value,
        unseen=tuple(str(value) for value in sorted(unseen, key=lambda value: (-unseen[value], str(value))))[
            :KNOWN_NAMES
        ],
        unseen_share=sum(unseen.values()) / n,
        outside_share=0.0,
        beyond=0.0,
        missing_share=missing,
        fitted_missing_share=float(reference.missing[j]),
        shift=shift,
        threshold=threshold,
    )
