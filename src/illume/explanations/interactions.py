"""From a frame's rows to the interactions of their features."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from illume.errors import LeftOutError
from illume.explanations.attributions import attribute
from illume.explanations.fitted import Fitted
from illume.results.interactions import Interactions
from illume.shapley.interaction_values import interaction_values


def explain_interactions(fitted: Fitted, X: Any, max_features: int, n_samples: int) -> Interactions:
    """Return pairwise interaction values of the features with the largest contributions."""
    for name, value, least in (("max_features", max_features, 2), ("n_samples", n_samples, 1)):
        if isinstance(value, bool) or not (isinstance(value, Integral) and int(value) >= least):
            raise ValueError(f"{name} must be an integer, {least} or more, found {value!r}")
    frame, model = fitted.as_frame(X), fitted.shapley
    if model is None:
        raise ValueError("only Shapley values have interactions; fit with contributions='shapley'")
    if fitted.background is None:
        raise LeftOutError(
            "interactions compare rows with background rows, and the explainer was saved with rows='none'; "
            "save it with rows to have them"
        )
    attributions = attribute(fitted, frame)
    rows, background = (
        model.coding.codes(encoded.X, encoded.imputed)
        for encoded in (
            fitted.encoding.transform(each.select(fitted.schema.names))
            for each in (frame, fitted.background.frame)
        )
    )
    coded = model.coding.features
    order = np.argsort(-attributions.strength[coded], kind="stable")[:max_features]
    found = interaction_values(model.network, rows, background, order, n_samples)
    values = found / 2
    mine = attributions.values[:, coded[order]]
    mine = mine[..., None] if mine.ndim == 2 else mine
    diagonal = np.arange(len(order))
    values[:, diagonal, diagonal] = mine - values.sum(2)
    names = tuple(attributions.feature_names[j] for j in coded[order])
    flat = values[..., 0] if attributions.values.ndim == 2 else values
    return Interactions(flat, names, attributions.labels, attributions.origin)
