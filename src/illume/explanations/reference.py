"""What the fitted rows look like: knots of numbers, shares of categories, usual distances."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from illume._typing import FloatArray
from illume.data.frames import Frame
from illume.data.sampling import evenly_spaced
from illume.data.schema import Feature, Other, Schema, labels
from illume.explanations.trust_map import TrustMap

KNOTS = 21
LEVELS = (0.5, 0.9, 0.99, 0.999)  # of the distances
MEASURED_ROWS = 20_000
UNUSUAL, LIMIT = 2, 3  # positions in LEVELS
MARGIN = 1.1  # a row must be so many times farther, for among few rows the last of them is no limit


@dataclass(frozen=True, eq=False)
class Reference:
    """Figures of the rows given to `fit`, to hold new rows against.

    Parameters
    ----------
    n_rows
        How many rows they are of; 0 where nothing is known of the features.
    knots
        Quantiles of the numbers that are not missing, (n_features, 21), NaN for categories.
    below, at_most
        Which share of the numbers is below each knot, and at most the knot, (n_features, 21).
    missing
        Which share of the rows lacks the feature, (n_features,).
    shares
        Which share of the rows has each category, all features' one after the other, in the schema's order.
    distances
        Quantiles of the distance of training rows to the nearest anchor of the trust map; empty where
        they are not known.
    """

    n_rows: int
    knots: FloatArray
    below: FloatArray
    at_most: FloatArray
    missing: FloatArray
    shares: FloatArray
    distances: FloatArray

    @classmethod
    def fit(cls, schema: Schema, frame: Frame) -> Reference:
        """Take the figures of a frame's rows; distances come later."""
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
        return cls(len(frame), knots, below, at_most, missing, np.array(shares), np.empty(0))

    @classmethod
    def unknown(cls, schema: Schema) -> Reference:
        """Return figures that say nothing."""
        knots = np.full((len(schema), KNOTS), np.nan)
        n_shares = sum(len(feature.categories) for feature in schema.features if not feature.numeric)
        return cls(0, knots, knots, knots, np.full(len(schema), np.nan), np.zeros(n_shares), np.empty(0))

    def with_distances(self, trust_map: TrustMap, X: FloatArray) -> Reference:
        """Add what distance to the nearest anchor is usual among training rows X."""
        distances = trust_map(X[evenly_spaced(len(X), MEASURED_ROWS)]).distance
        if not len(distances) or np.isnan(distances).any():
            return self
        return replace(self, distances=np.quantile(distances, LEVELS))

    @property
    def limit(self) -> float:
        """The distance from which on a row is far; infinite where that is not known."""
        return MARGIN * float(self.distances[LIMIT]) if len(self.distances) else np.inf


def cumulative(there: FloatArray, knots: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return which share of sorted numbers is below each knot, and at most the knot.

    >>> cumulative(np.array([1.0, 2.0, 2.0, 4.0]), np.array([2.0, 3.0]))
    (array([0.25, 0.75]), array([0.75, 0.75]))
    """
    n = max(len(there), 1)
    return np.searchsorted(there, knots, "left") / n, np.searchsorted(there, knots, "right") / n


def category_counts(feature: Feature, frame: Frame) -> Counter[object]:
    """Return how often each value occurs; those that share a category are counted together."""
    counts: Counter[object] = Counter(labels(frame, feature))
    if feature.open:
        rare = [value for value in counts if value is not None and value not in feature.categories]
        counts[Other.OTHER] = sum(counts.pop(value) for value in rare)
    return counts
