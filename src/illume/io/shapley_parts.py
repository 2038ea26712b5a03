"""The model of Shapley values to arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume.data.encoding import Encoding
from illume.data.outputs import Outputs
from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.errors import FormatError
from illume.io.fitted_parts import add_fields, take_fields
from illume.shapley.network_arrays import Coding, ModelArrays, Table, ValueArrays, arrays_of
from illume.shapley.shapley_model import ErrorModel, ShapleyModel


def dump_shapley(model: ShapleyModel, arrays: ArrayWriter) -> float:
    """Store the model of Shapley values; return the least probability of its log-odds, or 0 for numbers."""
    coding = model.coding
    arrays.add("shapley.features", coding.features.astype(np.int64))
    arrays.add("shapley.widths", coding.widths.astype(np.int64))
    arrays.add("shapley.knots", coding.knots)
    for name, network in (("model", model.network), ("values", model.values)):
        for part, array in arrays_of(network).items():
            arrays.add(f"shapley.{name}.{part}", array)
    arrays.add("shapley.base", model.base)
    names = ("share", "variance", "weights", "remainder", "walk_variance")
    add_fields(arrays, "shapley.errors", model.errors, *names)
    arrays.add("shapley.center", model.scale.center)
    arrays.add("shapley.unit", model.scale.unit)
    return float(model.scale.least)


def read_shapley(least: float, arrays: ArrayReader, encoding: Encoding, outputs: Outputs) -> ShapleyModel:
    """Return the model of Shapley values."""
    center, unit = (arrays.take(f"shapley.{name}", np.float64, (None,)) for name in ("center", "unit"))
    arrays.require(bool((unit > 0).all()), "shapley.unit must be positive")
    try:
        scale = outputs.read_scale(least, center, unit)
    except ValueError as error:
        raise FormatError(f"shapley: {error}") from error
    c = len(outputs.explained)
    coding = _read_coding(arrays, encoding)
    return ShapleyModel(
        scale=scale,
        coding=coding,
        network=ModelArrays(**_read_network(arrays, "shapley.model", coding, c, 2)),
        values=ValueArrays(
            constant=arrays.take("shapley.values.constant", np.float32, (coding.n_features, c)),
            **_read_network(arrays, "shapley.values", coding, c, 3),
        ),
        base=arrays.take("shapley.base", np.float64, (c,)),
        errors=_read_errors(arrays, coding.n_features, c),
        n_features=len(encoding.schema),
    )


def _read_coding(arrays: ArrayReader, encoding: Encoding) -> Coding:
    schema = encoding.schema
    features = arrays.positions("shapley.features", (None,), 0, len(schema))
    arrays.require(bool((np.diff(features) > 0).all()), "shapley.features are not in order")
    arrays.require(bool(np.isin(features, encoding.owner).all()), "shapley.features holds constant ones")
    m = len(features)
    widths = arrays.positions("shapley.widths", (m,), 1, 2**31)
    numeric = np.array([schema.features[j].numeric for j in features], dtype=bool)
    n_inputs = np.array([(encoding.owner == j).sum() for j in features], dtype=np.int64)
    fits = np.where(numeric, widths >= 2, widths == n_inputs)
    arrays.require(bool(fits.all()), "shapley.widths are not those of the features")
    knots = arrays.take("shapley.knots", np.float32, (int(widths[numeric].sum()),))
    owner = np.repeat(np.arange(int(numeric.sum())), widths[numeric])
    rising = (np.diff(knots) > 0) | (np.diff(owner) > 0)
    arrays.require(bool(rising.all()), "shapley.knots do not rise")
    ends = np.cumsum(widths + 1)
    return Coding(
        features=features.astype(np.intp),
        starts=(ends - widths - 1).astype(np.intp),
        size=int(ends[-1]) if m else 0,
        numeric=numeric,
        inputs=np.searchsorted(encoding.owner, features).astype(np.intp),
        widths=widths.astype(np.intp),
        knots=knots,
        mean=encoding.mean.copy(),
    )


def _read_network(arrays: ArrayReader, name: str, coding: Coding, c: int, n_parts: int) -> dict[str, Any]:
    """Return the table and the layers of a network whose first layer has `n_parts` equal parts."""
    nodes = arrays.take(f"{name}.nodes", np.float32, (coding.size, None))
    arrays.require(nodes.shape[1] > c, f"{name}.nodes has no embeddings")
    n_values = coding.n_features * (nodes.shape[1] - c)
    first = arrays.take(f"{name}.first", np.float32, (n_values, None))
    n_units = first.shape[1]
    layers = take_fields(arrays, name, np.float32, first_bias=(n_units,))
    arrays.require(n_units % n_parts == 0, f"{name}.first does not have {n_parts} equal parts")
    # the model's network gates one part by the other; that of values keeps a third one beside
    n_out = c if n_parts == 2 else n_values * c
    shapes = {"last": (n_units // n_parts * (n_parts - 1), n_out), "last_bias": (n_out,)}
    layers |= take_fields(arrays, name, np.float32, False, **shapes)
    return {"table": Table(nodes, c), "first": first, **layers}


def _read_errors(arrays: ArrayReader, m: int, c: int) -> ErrorModel:
    """Return the model of errors; variances that were not measured are NaN."""
    name = "shapley.errors"
    found = take_fields(arrays, name, np.float64, share=(m, c), weights=(3,), remainder=(c,))
    found |= take_fields(arrays, name, np.float64, nan=True, variance=(m, c), walk_variance=(m, c))
    for part in ("variance", "walk_variance", "weights"):
        good = np.isnan(found[part]) | (np.isfinite(found[part]) & (found[part] >= 0))
        arrays.require(bool(good.all()), f"{name}.{part} holds what is no variance")
    share = found["share"]
    whole = not m or bool((np.abs(share.sum(0) - 1) <= 1e-6).all())
    arrays.require(whole and bool((share >= 0).all()), f"{name}.share does not add up to 1")
    arrays.require(bool((found["remainder"] > 0).all()), f"{name}.remainder must be positive")
    return ErrorModel(**found)
