"""From a frame's rows to the interactions of their features."""

from __future__ import annotations

import numpy as np

from illume.data.encoding import Encoded
from illume.results.attributions import Attributions
from illume.results.interactions import Interactions
from illume.shapley.codes import Codes
from illume.shapley.interaction_values import interaction_values
from illume.shapley.shapley_model import ShapleyModel


def interactions(
    model: ShapleyModel,
    encoded: Encoded,
    background: Codes,
    attributions: Attributions,
    *,
    max_features: int,
    n_samples: int,
) -> Interactions:
    """Return pairwise interaction values of the features with the largest contributions."""
    coded = model.coding.features
    order = np.argsort(-attributions.strength[coded], kind="stable")[:max_features]
    rows = model.coding.codes(encoded.X, encoded.imputed)
    found = interaction_values(
        model.network, rows, background, order, n_samples=n_samples, rng=np.random.default_rng(0)
    )
    values = found / 2
    mine = attributions.values[:, coded[order]]
    mine = mine[..., None] if mine.ndim == 2 else mine
    diagonal = np.arange(len(order))
    values[:, diagonal, diagonal] = mine - values.sum(2)
    names = tuple(attributions.feature_names[j] for j in coded[order])
    flat = values[..., 0] if attributions.values.ndim == 2 else values
    return Interactions(flat, names, attributions.labels, attributions.origin)
