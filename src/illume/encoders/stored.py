"""The trained weights of an encoder as plain arrays, and an encoder from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.encoders.base import Head
from illume.encoders.linear import LinearEncoder
from illume.encoders.low_rank import WIDTH, low_rank_shapes
from illume.encoders.meta import MetaEncoder
from illume.encoders.options import Objective, hidden_widths
from illume.encoders.soft_bins import SoftBins
from illume.encoders.trained import TrainedEncoder

MOST = 2**20  # more latents, or wider layers, than any encoder has

Shape = tuple[int, ...]


def weights_of(encoder: TrainedEncoder) -> dict[str, FloatArray]:
    """Return the weights of a fitted encoder by name."""
    return dict(encoder.weights_)


def shapes_of(
    encoder: MetaEncoder | LinearEncoder, n_inputs: int, rank: int | None = None, n_bins: int = 0
) -> dict[str, Shape]:
    """Return the names and shapes that the weights of an encoder of n_inputs must have.

    `rank` is that of maps of low rank, None where they are whole; `n_bins` is the number of all bins.

    >>> shapes_of(LinearEncoder(2), 3)
    {'map': (2, 3)}
    """
    k, m = encoder.n_latents, n_inputs
    if not 1 <= k <= MOST:
        raise ValueError(f"n_latents is {k}")
    if rank is not None and not (isinstance(encoder, MetaEncoder) and 1 <= rank <= m):
        raise ValueError(f"the rank is {rank}")
    if isinstance(encoder, LinearEncoder):
        return {"map": (k, m)}
    width = (encoder.objective or Objective()).width
    if not width <= MOST:
        raise ValueError(f"the width is {width}")
    if rank is not None:
        return low_rank_shapes(m, k, max(width, WIDTH), rank, n_bins)
    first, second = hidden_widths(m, k, width)
    sizes = {0: (first, m + n_bins), 2: (second, first), 4: (k * m, second)}
    shapes: dict[str, Shape] = {}
    for i, shape in sizes.items():
        shapes |= {f"layers.{i}.weight": shape, f"layers.{i}.bias": shape[:1]}
    return shapes


def restored(
    encoder: Any,
    n_inputs: int,
    weights: Mapping[str, FloatArray],
    alpha: int,
    head: Head | None,
    *,
    bins: SoftBins | None = None,
) -> Any:
    """Make an unfitted encoder the fitted one whose weights these are; they must have the right shapes."""
    mine = {name: np.array(array, dtype=np.float32) for name, array in weights.items()}
    encoder.n_features_in_ = n_inputs
    return encoder._set(mine, n_inputs, alpha, head, bins or SoftBins.none())
