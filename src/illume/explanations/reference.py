"""Distributions of the fitted rows: quantiles of numbers, shares of categories."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from illume._typing import FloatArray
from illume.data.frames import Frame
from illume.data.schema import Feature, Other, Schema, labels

KNOTS = 21


@dataclass(frozen=True, eq=False)
class Reference:
    """Distributions of the rows given to `fit`, to compare new rows with.

    Parameters
    ----------
    n_rows
        Number of these rows; 0 if nothing is known about them.
    knots
        Quantiles of the numbers that are not missing, (n_features, 21), NaN for categories.
    below, at_most
        Share of the numbers below each knot, and at most equal to it, (n_features, 21).
    missing
        Share of rows in which the feature is missing, (n_features,).
    shares
        Share of rows with each category, feature after feature, in the schema's order.
    """

    n_rows: int
    knots: FloatArray
    below: FloatArray
    at_most: FloatArray
    missing: FloatArray
    shares: FloatArray

    @classmethod
    def fit(cls, schema: Schema, frame: Frame) -> Reference:
        """Measure a frame's rows."""
        knots, missing = np.full((len(schema), KNOTS), np.nan), np.zeros(len(schema))
        below, at_most, shares = knots.copy(), knots.copy(), []
        for j, feature in enumerate(schema.features):
            if feature.numeric:
                numbers = frame.numbers(feature.name)
                there = np.sort(numbers[~np.isnan(numbers)])
                missing[j] = 1 - len(there) / len(numbers)
                if len(there):
                    knots[j] = there[np.round(np.linspace(0, len(there) - 1, KNOTS)).astype(np.intp)]
                    below[j], at_most[j] = cumulative(there, knots[j])
            else:
                counts = category_counts(feature, frame)
                missing[j] = counts[None] / len(frame)
                shares += [counts[category] / len(frame) for category in feature.categories]
        return cls(len(frame), knots, below, at_most, missing, np.array(shares))

    @classmethod
    def unknown(cls, schema: Schema) -> Reference:
        """Return a reference without any information."""
        knots = np.full((len(schema), KNOTS), np.nan)
        n_shares = sum(len(feature.categories) for feature in schema.features if not feature.numeric)
        return cls(0, knots, knots, knots, np.full(len(schema), np.nan), np.zeros(n_shares))


def cumulative(there: FloatArray, knots: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the share of sorted numbers below each knot, and at most equal to it.

    >>> cumulative(np.array([1.0, 2.0, 2.0, 4.0]), np.array([2.0, 3.0]))
    (array([0.25, 0.75]), array([0.75, 0.75]))
    """
    n = max(len(there), 1)
    return np.searchsorted(there, knots, "left") / n, np.searchsorted(there, knots, "right") / n


def category_counts(feature: Feature, frame: Frame) -> Counter[object]:
    """Return how often each value occurs; values of the category "(other)" are counted together."""
    counts: Counter[object] = Counter(labels(frame, feature.name))
    if feature.open:
        rare = [value for value in counts if value is not None and value not in feature.categories]
        counts[Other.OTHER] = sum(counts.pop(value) for value in rare)
    return counts
