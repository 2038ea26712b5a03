"""Where the fitted rows lie, and which new rows are unlike them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from illume._typing import BoolArray, FloatArray
from illume.data.encoding import Encoded
from illume.data.sampling import evenly_spaced
from illume.data.threads import in_chunks
from illume.results.trust import Novelty

ANCHORS = 256
AT_ONCE = 1024  # rows, so that their distances fit into the cache of a core
LEVELS = (0.5, 0.9, 0.99, 0.999)  # of the distances
MEASURED_ROWS = 20_000
UNUSUAL, LIMIT = 2, 3  # positions in LEVELS
MARGIN = 1.1  # on the limit, as the quantile of few rows is not exact


@dataclass(frozen=True, eq=False)
class Places:
    """Points that represent the report rows (n, m): themselves, or the centres of 256 clusters of many.

    `distances` are quantiles of the distance of training rows to the nearest point; empty if unknown.
    """

    anchors: FloatArray
    distances: FloatArray

    @classmethod
    def fit(cls, report: FloatArray, training: FloatArray) -> Places:
        """Represent report rows, and measure how far training rows are from them."""
        anchors = report
        if len(report) > ANCHORS:
            kmeans = MiniBatchKMeans(ANCHORS, random_state=0, n_init=1, batch_size=2048)
            anchors = kmeans.fit(report).cluster_centers_
        found = cls(anchors, np.empty(0))
        distances = found.distance(training[evenly_spaced(len(training), MEASURED_ROWS)])
        if not len(distances) or np.isnan(distances).any():
            return found
        return cls(anchors, np.quantile(distances, LEVELS))

    @classmethod
    def unknown(cls, m: int) -> Places:
        """Return no points."""
        return cls(np.empty((0, m)), np.empty(0))

    @property
    def limit(self) -> float:
        """The distance above which a row is far; infinite if unknown."""
        return MARGIN * float(self.distances[LIMIT]) if len(self.distances) else np.inf

    @cached_property
    def _columns(self) -> tuple[FloatArray, FloatArray]:
        """The points as columns, and half the squares of their lengths."""
        anchors = np.ascontiguousarray(self.anchors.T, dtype=np.float32)
        return anchors, 0.5 * np.square(anchors).sum(0)

    def distance(self, X: FloatArray) -> FloatArray:
        """Return the distance (n,) of rows X (n, m) to the nearest point; NaN without any."""
        found = np.full(len(X), np.nan)
        if not len(self.anchors):
            return found
        anchors, half_square = self._columns

        def look_up(rows: slice) -> None:
            mine = X[rows].astype(np.float32, copy=False)
            # Half the squared distance, without the part that all points share.
            part = (half_square - mine @ anchors).min(1)
            found[rows] = np.sqrt(np.maximum(np.einsum("ij,ij->i", mine, mine) + 2 * part, 0.0))

        in_chunks(look_up, len(X), AT_ONCE)
        return found


@dataclass(frozen=True, eq=False)
class NoveltyDetector:
    """Finds rows that are unlike the fitted ones.

    `names` are what the features are called, `missing` says which had missing values while fitting,
    (n_features,).
    """

    names: tuple[str, ...]
    missing: BoolArray
    places: Places

    def __call__(self, encoded: Encoded) -> Novelty:
        """Return the novelty of encoded rows."""
        return self.find(encoded.odd | (encoded.imputed & ~self.missing), self.places.distance(encoded.X))

    def find(self, odd: BoolArray, distance: FloatArray) -> Novelty:
        """Return the novelty of rows with odd values (n, n_features), by their distance (n,)."""
        return Novelty(odd, np.less(self.places.limit, distance), self.names)  # False for NaN
