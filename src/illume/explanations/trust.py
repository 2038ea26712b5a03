"""How far to trust one explanation: how the surrogate did on the report rows around it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.neighbors import NearestNeighbors

from illume._chunks import CHUNK_ROWS, row_chunks
from illume._typing import FloatArray
from illume.results.trust import Trust

NEIGHBOURS = 25
ANCHORS = 256


@dataclass(frozen=True, eq=False)
class TrustMap:
    """Figures at anchor points, each measured on the report rows nearest to it.

    A row reads the figures of its nearest anchor. With up to 256 report rows every one of them is an
    anchor; with more, 256 cluster centres of them are, so that looking a row up costs the same
    whatever the number of report rows.
    """

    anchors: FloatArray
    agreement: FloatArray
    error: FloatArray
    n_rows: int

    @classmethod
    def fit(cls, X: FloatArray, P: FloatArray, Q: FloatArray) -> TrustMap:
        """Measure the surrogate's Q against the black box's P (n, c) around anchors of X (n, m)."""
        anchors = X
        if len(X) > ANCHORS:
            kmeans = MiniBatchKMeans(ANCHORS, random_state=0, n_init=1, batch_size=2048)
            anchors = kmeans.fit(X).cluster_centers_
        n_rows = min(NEIGHBOURS, len(X))
        agreed = (P.argmax(1) == Q.argmax(1)).astype(np.float64)
        error = 0.5 * np.abs(P - Q).sum(1)
        if not n_rows:
            return cls(anchors, agreed, error, 0)
        near = NearestNeighbors(n_neighbors=n_rows).fit(X).kneighbors(anchors, return_distance=False)
        return cls(anchors, agreed[near].mean(1), error[near].mean(1), n_rows)

    def __call__(self, X: FloatArray) -> Trust:
        """Look up every row; without report rows nothing is known and all figures are NaN."""
        count = np.full(len(X), self.n_rows)
        if not self.n_rows:
            unknown = np.full(len(X), np.nan)
            return Trust(unknown, unknown, count)
        nearest = np.empty(len(X), dtype=np.intp)
        anchors = np.ascontiguousarray(self.anchors.T, dtype=np.float32)
        half_square = 0.5 * np.square(anchors).sum(0)
        closeness = np.empty((CHUNK_ROWS, len(half_square)), dtype=np.float32)
        for rows in row_chunks(len(X)):
            part = np.matmul(X[rows].astype(np.float32), anchors, out=closeness[: rows.stop - rows.start])
            part -= half_square
            nearest[rows] = part.argmax(1)
        return Trust(self.agreement[nearest], self.error[nearest], count)
