"""The networks of an explainer as plain values for JSON: surrogate, Shapley values and trust."""

from __future__ import annotations

import numpy as np

from illume.encoders.forward import HEIGHT, LARGEST
from illume.errors import ExportError
from illume.explanations.fitted import Fitted
from illume.explanations.forward_pass import ForwardPass
from illume.report.payload import Json, pack, pack_codes
from illume.report.squeeze import squeeze, squeeze_rounded
from illume.results.text import plain_value
from illume.shapley.network_arrays import arrays_of
from illume.shapley.shapley_model import ShapleyModel
from illume.surrogates.base import WeightedSurrogate

# Matrices were rounded in fit, and are kept exactly. Those of explainers from before that are rounded here:
# what is computed with them is off by a few millionths of a row's largest number, as it is by single
# precision. Bins are at most an eighth, so that their weights count less; tables are added as they are.
WEIGHT_BITS, BIN_BITS = 19, 17
NETWORK_BITS = {"nodes": 22, "first": WEIGHT_BITS, "last": WEIGHT_BITS}


def surrogate_weights(fitted: Fitted) -> Json:
    """Return the encoder and the weights on its latents; where all rows share one map, the slopes alone."""
    if not isinstance(fitted.pair.surrogate, WeightedSurrogate):
        kind = type(fitted.pair.surrogate).__name__
        raise ExportError(f"a {kind} cannot be shown in an explorer; expected a surrogate of illume")
    parts = ForwardPass.from_fitted(fitted)
    forward, (k, m) = parts.forward, parts.shape
    found = {"intercept": pack(parts.intercept, "f8"), "n_latents": k, "n_inputs": m, "layers": []}
    if forward.constant:
        slopes = forward.pull_back(np.zeros((1, m)), parts.coef, None, parts.alpha)[0][0]
        return found | {"slopes": pack(slopes, "f8")}
    first, *others = (parts.weights[f"layers.{i}.weight"] for i in (0, 2, 4))
    weights = [squeeze(first[:, :m]), *(squeeze_rounded(each, WEIGHT_BITS) for each in others)]
    layers = [
        {"weight": weight, "bias": squeeze(bias), "n": len(bias)}
        for weight, (_, bias) in zip(weights, forward.layers, strict=True)
    ]
    rank = None if forward.basis is None else len(forward.basis)
    return found | {
        "layers": layers,
        "coef": pack(parts.coef, "f8"),
        "alpha": parts.alpha,
        "farthest": LARGEST,
        "height": HEIGHT,
        "bins": {
            "column": pack_codes(parts.bins.column, max(m, 1)),
            "low": pack(parts.bins.low, "f4"),
            "steepness": pack(parts.bins.steepness, "f4"),
            "weight": squeeze_rounded(first[:, m:], BIN_BITS),
        },
        "rank": rank,
        "base": None if rank is None else squeeze(parts.weights["base"]),
        "basis": None if rank is None else squeeze(parts.weights["basis"]),
    }


def shapley_weights(model: ShapleyModel) -> Json:
    """Return the network of Shapley values, and the model of its errors."""
    coding, errors = model.coding, model.errors
    networks = {
        name: squeeze_rounded(array, NETWORK_BITS[name]) if name in NETWORK_BITS else squeeze(array)
        for name, array in arrays_of(model.values).items()
    }
    return networks | {
        "features": coding.features.tolist(),
        "widths": coding.widths.tolist(),
        "knots": pack(coding.knots, "f4"),
        "n_outputs": model.values.table.n_main,
        "n_embedding": model.values.table.nodes.shape[1] - model.values.table.n_main,
        "base": pack(model.base, "f8"),
        "least": model.scale.least,
        "center": pack(model.scale.center, "f8"),
        "unit": pack(model.scale.unit, "f8"),
        **{name: pack(getattr(errors, name), "f8") for name in ("share", "variance", "weights", "remainder")},
    }


def trust_figures(fitted: Fitted) -> Json:
    """Return the map of trust, and from which distance on a row is far."""
    trust, limit = fitted.trust_map, fitted.reference.limit
    return {
        "anchors": squeeze(trust.anchors),
        "agreement": pack(trust.agreement, "f8"),
        "error": pack(trust.error, "f8"),
        "n_rows": trust.n_rows,
        "n_nearest": trust.n_nearest,
        "limit": plain_value(limit),
    }
