"""Fitted encoders from stored weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.encoders.base import Head
from illume.encoders.linear import LinearEncoder
from illume.encoders.meta import MetaEncoder, map_widths
from illume.encoders.options import Objective
from illume.encoders.soft_bins import SoftBins

MAX_SIZE = 2**20  # of latents and widths: a larger one is a damaged file

Shape = tuple[int, ...]


def weight_shapes(
    encoder: MetaEncoder | LinearEncoder, n_inputs: int, rank: int | None = None, n_bins: int = 0
) -> dict[str, Shape]:
    """Return the names and shapes of an encoder's weights.

    `rank` is that of low-rank maps, None for whole ones; `n_bins` counts the bins of all inputs.

    >>> weight_shapes(LinearEncoder(2), 3)
    {'base': (2, 3)}
    """
    k, m = encoder.n_latents, n_inputs
    if not 1 <= k <= MAX_SIZE:
        raise ValueError(f"n_latents is {k}")
    if rank is not None and not (isinstance(encoder, MetaEncoder) and 1 <= rank <= m):
        raise ValueError(f"the rank is {rank}")
    if isinstance(encoder, LinearEncoder):
        return {"base": (k, m)}
    width = (encoder.objective or Objective()).width
    if not width <= MAX_SIZE:
        raise ValueError(f"the width is {width}")
    first, second = map_widths(m, k, width, rank)
    shapes: dict[str, Shape] = {} if rank is None else {"base": (k, m), "basis": (rank, m)}
    for i, shape in ((0, (first, m + n_bins)), (2, (second, first)), (4, (k * (rank or m), second))):
        shapes |= {f"layers.{i}.weight": shape, f"layers.{i}.bias": shape[:1]}
    return shapes


def restore_encoder(
    encoder: Any,
    n_inputs: int,
    weights: Mapping[str, FloatArray],
    alpha: int,
    head: Head | None,
    *,
    bins: SoftBins | None = None,
) -> Any:
    """Turn an unfitted encoder into the fitted one with these weights, which must have the right shapes."""
    encoder.n_features_in_ = n_inputs
    own = {name: np.array(array, dtype=np.float32) for name, array in weights.items()}
    return encoder.set_weights(own, alpha, head, bins or SoftBins.none())
