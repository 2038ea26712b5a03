"""Local trust: how well the surrogate does on the report rows around a row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.neighbors import NearestNeighbors

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.encoding import Encoded
from illume.data.outputs import Outputs
from illume.data.threads import in_chunks
from illume.results.trust import Novelty, Trust

NEIGHBOURS = 25
ANCHORS = 256
AT_ONCE = 1024  # rows, so that their distances fit into the cache of a core


@dataclass(frozen=True, eq=False)
class TrustMap:
    """The fidelity of the surrogate by region, measured on report rows.

    With few report rows (up to 256) a row reads the figures of its 25 nearest ones. With more, the
    figures are measured beforehand on the 25 nearest report rows of each of 256 cluster centres, and a row
    reads those of its nearest centre, so that a lookup takes the same time for any number of report rows.

    Parameters
    ----------
    anchors
        Points in the input space, (a, m): the report rows themselves or the cluster centres.
    agreement, error
        The figures at the anchors, (a,).
    n_rows
        Number of report rows behind each row's figures.
    n_nearest
        Number of nearest anchors whose figures are averaged.
    near
        The report rows behind the figures of each cluster centre, as positions, (a, n_rows); None where the
        anchors are the report rows.
    """

    anchors: FloatArray
    agreement: FloatArray
    error: FloatArray
    n_rows: int
    n_nearest: int
    near: IntArray | None = None

    @classmethod
    def fit(cls, X: FloatArray, P: FloatArray, Q: FloatArray, outputs: Outputs) -> TrustMap:
        """Measure the surrogate's Q against the black box's P (n, c) on rows X (n, m)."""
        n_rows, empty = min(NEIGHBOURS, len(X)), np.empty(0)
        if len(X) <= ANCHORS:
            return cls(X, empty, empty, n_rows, n_nearest=n_rows).measure(P, Q, outputs)
        kmeans = MiniBatchKMeans(ANCHORS, random_state=0, n_init=1, batch_size=2048).fit(X)
        centres = kmeans.cluster_centers_
        near = NearestNeighbors(n_neighbors=n_rows).fit(X).kneighbors(centres, return_distance=False)
        return cls(centres, empty, empty, n_rows, n_nearest=1, near=near).measure(P, Q, outputs)

    def measure(self, P: FloatArray, Q: FloatArray, outputs: Outputs) -> TrustMap:
        """Return the same with figures of other answers, or of other decisions on them, (n, c) each."""
        agreed, error = outputs.alike(P, Q).astype(np.float64), outputs.error(P, Q)
        if self.near is not None:
            agreed, error = agreed[self.near].mean(1), error[self.near].mean(1)
        return replace(self, agreement=agreed, error=error)

    def __call__(self, X: FloatArray) -> Trust:
        """Return the figures of rows X (n, m); without report rows, all are NaN."""
        result = Trust.unknown(len(X), self.n_rows)
        if not self.n_rows:
            return result
        in_chunks(lambda rows: self._look_up(X[rows], result, rows), len(X), AT_ONCE)
        return result

    @cached_property
    def _anchors(self) -> tuple[FloatArray, FloatArray]:
        """The anchors as columns, and half the squares of their lengths."""
        anchors = np.ascontiguousarray(self.anchors.T, dtype=np.float32)
        return anchors, 0.5 * np.square(anchors).sum(0)

    def _look_up(self, X: FloatArray, result: Trust, rows: slice) -> None:
        """Fill in the figures of some rows."""
        anchors, half_square = self._anchors
        mine = X.astype(np.float32, copy=False)
        # Half the squared distance, without the part that all anchors share.
        part = half_square - mine @ anchors
        square = np.einsum("ij,ij->i", mine, mine) + 2 * part.min(1)
        result.distance[rows] = np.sqrt(np.maximum(square, 0.0))
        result.agreement[rows], result.error[rows] = self._figures(part)

    def _figures(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return agreement and error, (n,) each, at the nearest anchors by the distances to all (n, a)."""
        if self.n_nearest == 1:
            nearest = distance.argmin(1)
            return self.agreement[nearest], self.error[nearest]
        nearest = np.argpartition(distance, self.n_nearest - 1, axis=1)[:, : self.n_nearest]
        return self.agreement[nearest].mean(1), self.error[nearest].mean(1)


@dataclass(frozen=True, eq=False)
class NoveltyDetector:
    """Finds rows that are unlike the fitted ones.

    Parameters
    ----------
    names, missing
        What the features are called, and which of them had missing values while fitting, (n_features,).
    trust_map
        Its anchors represent the fitted rows.
    limit
        A row is far if its distance to the nearest anchor is above this.
    """

    names: tuple[str, ...]
    missing: BoolArray
    trust_map: TrustMap
    limit: float

    def __call__(self, encoded: Encoded, distance: FloatArray | None = None) -> Novelty:
        """Return the novelty of encoded rows; `distance` is that to the nearest anchor, if known."""
        if distance is None:
            distance = self.trust_map(encoded.X).distance
        return self.find(encoded.odd | (encoded.imputed & ~self.missing), distance)

    def find(self, odd: BoolArray, distance: FloatArray) -> Novelty:
        """Return the novelty of rows with odd values (n, n_features), by their distance (n,)."""
        return Novelty(odd, np.less(self.limit, distance), self.names)  # False for NaN
