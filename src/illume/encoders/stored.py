"""The trained weights of an encoder as plain arrays, and an encoder from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from illume._typing import FloatArray
from illume.encoders.linear import LinearEncoder
from illume.encoders.low_rank import WIDTH, low_rank_shapes
from illume.encoders.meta import MetaEncoder
from illume.encoders.networks import hidden_widths
from illume.encoders.objective import Objective
from illume.encoders.trained import Head, TrainedEncoder

MOST = 2**20  # more latents, or wider layers, than any encoder has

Shape = tuple[int, ...]


def weights_of(encoder: TrainedEncoder) -> dict[str, FloatArray]:
    """Return the weights of a fitted encoder by name."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in encoder.maps_.state_dict().items()}


def shapes_of(
    encoder: MetaEncoder | LinearEncoder, n_inputs: int, rank: int | None = None
) -> dict[str, Shape]:
    """Return the names and shapes that the weights of an encoder of n_inputs must have.

    `rank` is that of maps of low rank, None where they are whole.

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
        return low_rank_shapes(m, k, max(width, WIDTH), rank)
    first, second = hidden_widths(m, k, width)
    sizes = {0: (first, m), 2: (second, first), 4: (k * m, second)}
    shapes: dict[str, Shape] = {}
    for i, shape in sizes.items():
        shapes |= {f"layers.{i}.weight": shape, f"layers.{i}.bias": shape[:1]}
    return shapes


def restored(
    encoder: Any, n_inputs: int, weights: Mapping[str, FloatArray], alpha: int, head: Head | None
) -> Any:
    """Make an unfitted encoder the fitted one whose weights these are; they must have the right shapes."""
    objective = encoder.objective or Objective()
    if isinstance(encoder, MetaEncoder):
        encoder.rank_ = len(weights["basis"]) if "basis" in weights else None
        maps = encoder._network_of_rank(encoder.rank_, n_inputs, objective, torch.Generator())
    else:
        maps = encoder._network(n_inputs, objective, torch.Generator())
    maps.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in weights.items()})
    encoder.maps_, encoder.alpha_, encoder.head_ = maps.eval(), alpha, head
    encoder.n_features_in_ = n_inputs
    if isinstance(encoder, MetaEncoder):
        encoder._make_ready()
    return encoder
