"""From a frame's rows to their latents."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume._chunks import row_chunks
from illume.assembly.answers import answered
from illume.assembly.parts import attribution_assembly
from illume.data.frames import Frame
from illume.results.latents import Latents


def latents(explainer: Any, frame: Frame, maps: bool) -> Latents:
    """Return the latents of the rows of a frame, with their maps if asked for."""
    encoded, P = answered(explainer.encoding_, frame, explainer.black_box_)
    encoder, surrogate = explainer.pair_.encoder, explainer.pair_.surrogate
    Z = encoder.transform(encoded.X)
    W = [encoder.encode(encoded.X[rows]).W for rows in row_chunks(len(Z))] if maps else None
    return Latents(
        Z=Z,
        X=encoded.X,
        maps=None if W is None else np.concatenate(W),
        coefficients=surrogate.coef_,
        intercept=surrogate.intercept_,
        probabilities=P,
        surrogate_probabilities=surrogate.probabilities(Z),
        labels=attribution_assembly(explainer)._labels(),
        origin=frame.origin,
    )
