"""From a frame's rows to their latents and maps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from illume._typing import FloatArray
from illume.assembly.answers import answered, labels_of, values_of
from illume.assembly.stand_in import stands_in
from illume.data.encoding import Encoding
from illume.data.frames import Frame
from illume.data.threads import RowChunks
from illume.encoders.identity import IdentityEncoder
from illume.encoders.linear import LinearEncoder
from illume.fit.pairs import Pair
from illume.results.latents import Latents, Plane

PLANE_ROWS = 20_000  # training rows that the plane is laid through


@dataclass(frozen=True, eq=False)
class LatentAssembly:
    """All that is needed to show where rows stand; `fitted` are the latents of training rows, (N, k)."""

    encoding: Encoding
    pair: Pair
    class_names: tuple[str, ...]
    fitted: FloatArray

    def latents(self, frame: Frame, black_box: Callable[[Frame], FloatArray], maps: bool) -> Latents:
        """Return the latents of a frame's rows; maps are kept only where asked for."""
        encoded, P = answered(self.encoding, frame, black_box)
        X, surrogate = encoded.X, self.pair.surrogate
        Z = np.empty((len(X), self.pair.n_latents))
        chunks = RowChunks(len(X))
        for rows in chunks:
            with chunks:
                Z[rows] = self.pair.encoder.pull_back(X[rows], surrogate.coef_).Z
        labels = labels_of(self.encoding, self.class_names)
        same = isinstance(self.pair.encoder, IdentityEncoder)
        return Latents(
            Z=Z,
            X=X,
            maps=self._maps(X) if maps else None,
            coefficients=surrogate.coef_,
            intercept=surrogate.intercept_,
            data=values_of(self.encoding, frame),
            probabilities=P,
            surrogate_probabilities=surrogate.probabilities(Z),
            names=labels.inputs if same else tuple(f"z{r + 1}" for r in range(Z.shape[1])),
            view=Plane.of(self._plane_rows(Z)),
            labels=labels,
            origin=frame.origin,
            stand_in=stands_in(black_box),
        )

    def _maps(self, X: FloatArray) -> FloatArray:
        """Return the maps of rows (n, k, m): one matrix, seen n times, where all rows share it."""
        encoder, shape = self.pair.encoder, (len(X), self.pair.n_latents, X.shape[1])
        if isinstance(encoder, (IdentityEncoder, LinearEncoder)):
            return np.broadcast_to(encoder.encode(np.zeros((1, X.shape[1]))).W, shape)
        W = np.empty(shape)
        chunks = RowChunks(len(X))
        for rows in chunks:
            with chunks:
                W[rows] = encoder.encode(X[rows]).W
        return W

    def _plane_rows(self, Z: FloatArray) -> FloatArray:
        return self.fitted[:: 1 + len(self.fitted) // PLANE_ROWS] if len(self.fitted) else Z
