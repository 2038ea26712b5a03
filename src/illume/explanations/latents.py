"""From a frame's rows to their latents and maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.threads import row_chunks
from illume.encoders.base import IdentityEncoder
from illume.encoders.estimators import LinearEncoder
from illume.explanations.fitted import Fitted, Pair
from illume.results.latents import Latents, Plane

PLANE_ROWS = 20_000  # training rows that the plane is laid through


def explain_latents(fitted: Fitted, X: Any, maps: bool = False) -> Latents:
    """Return the latents of the user's rows; maps only where asked for."""
    frame = fitted.as_frame(X)
    encoded, P = fitted.encode_and_ask(frame)
    X, pair = encoded.X, fitted.pair
    Z = np.empty((len(X), pair.n_latents))
    for rows in row_chunks(len(X)):
        Z[rows] = pair.encoder.pull_back(X[rows], pair.surrogate.coef_).Z
    labels = fitted.labels
    same = isinstance(pair.encoder, IdentityEncoder)
    return Latents(
        Z=Z,
        X=X,
        maps=_maps(pair, X) if maps else None,
        coefficients=labels.outputs.turn(pair.surrogate.coef_),
        intercept=labels.outputs.turn(pair.surrogate.intercept_),
        data=fitted.row_values(frame),
        predictions=P,
        surrogate_predictions=pair.surrogate.answers(Z),
        names=labels.inputs if same else tuple(f"z{r + 1}" for r in range(Z.shape[1])),
        view=Plane.fit(_plane_rows(fitted.neighbours.Z, Z)),
        labels=labels,
        origin=frame.origin,
        stand_in=not fitted.has_model,
    )


def _maps(pair: Pair, X: FloatArray) -> FloatArray:
    """Return the maps of rows (n, k, m): a broadcast view of one matrix where all rows share it."""
    shape = (len(X), pair.n_latents, X.shape[1])
    if isinstance(pair.encoder, (IdentityEncoder, LinearEncoder)):
        return np.broadcast_to(pair.encoder.encode(np.zeros((1, X.shape[1]))).W, shape)
    W = np.empty(shape)
    for rows in row_chunks(len(X)):
        W[rows] = pair.encoder.encode(X[rows]).W
    return W


def _plane_rows(training: FloatArray, Z: FloatArray) -> FloatArray:
    return training[:: 1 + len(training) // PLANE_ROWS] if len(training) else Z
