"""What gives rows their Shapley values, and the rows that these compare with, to arrays and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from illume._typing import FloatArray
from illume.data.encoding import Encoding
from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.data.stored_frames import dump_frame, read_frame
from illume.data.typed_json import expect_fields, read
from illume.errors import FormatError
from illume.explanations.fitted import AnsweredFrame
from illume.io.parts import probabilities
from illume.shapley.codes import Coding
from illume.shapley.network_arrays import ModelArrays, Table, ValueArrays, arrays_of
from illume.shapley.shapley_model import LEAST, MOST, ErrorModel, LogOdds, ShapleyModel

PREFIX = "background"


def dump_shapley(model: ShapleyModel, arrays: ArrayWriter) -> dict[str, Any]:
    """Store what gives rows their Shapley values; what an encoding tells is not stored again."""
    coding = model.coding
    arrays.add("shapley.features", coding.features.astype(np.int64))
    arrays.add("shapley.widths", coding.widths.astype(np.int64))
    arrays.add("shapley.knots", coding.knots)
    for name, network in (("model", model.network), ("values", model.values)):
        for part, array in arrays_of(network).items():
            arrays.add(f"shapley.{name}.{part}", array)
    arrays.add("shapley.base", model.base)
    for name in ("share", "variance", "weights", "remainder", "walk_variance"):
        arrays.add(f"shapley.errors.{name}", getattr(model.errors, name))
    return {"least": float(model.log_odds.least)}


def read_shapley(values: Any, arrays: ArrayReader, encoding: Encoding, n_classes: int) -> ShapleyModel | None:
    """Return what gives rows their Shapley values; None where contributions are pulled back."""
    if values is None:
        return None
    (given,) = expect_fields(values, ("least",), "shapley")
    least = read(float, given, "shapley.least")
    if not LEAST <= least <= MOST:
        raise FormatError(f"shapley.least is {least!r}, expected {LEAST} to {MOST}")
    c = 1 if n_classes == 2 else n_classes
    coding = _coding(arrays, encoding)
    return ShapleyModel(
        log_odds=LogOdds(least),
        coding=coding,
        network=_model_network(arrays, coding, c),
        values=_value_network(arrays, coding, c),
        base=arrays.take("shapley.base", np.float64, (c,)),
        errors=_errors(arrays, coding.n_features, c),
        n_features=len(encoding.schema),
    )


def dump_background(background: AnsweredFrame, arrays: ArrayWriter) -> dict[str, Any]:
    """Store background rows as they came, and the model's answers."""
    arrays.add(f"{PREFIX}.answers", background.P)
    return dump_frame(background.frame, arrays, PREFIX)


def read_background(
    values: Any, arrays: ArrayReader, columns: Sequence[str], encoding: Encoding, n_classes: int
) -> AnsweredFrame:
    """Return background rows; what cannot be encoded is refused here."""
    frame = read_frame(values, arrays, columns, PREFIX)
    arrays.require(len(frame) > 0, "there are no background rows")
    encoding.transform(frame.select(encoding.schema.names))
    return AnsweredFrame(frame, probabilities(arrays, f"{PREFIX}.answers", (len(frame), n_classes)))


def _coding(arrays: ArrayReader, encoding: Encoding) -> Coding:
    """Return how rows are coded."""
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
    of = np.repeat(np.arange(int(numeric.sum())), widths[numeric])
    rising = (np.diff(knots) > 0) | (np.diff(of) > 0)
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


class _Layers:
    """Takes the arrays of one network, all in single precision."""

    def __init__(self, arrays: ArrayReader, name: str, coding: Coding, n_outputs: int) -> None:
        self.arrays, self.name = arrays, f"shapley.{name}"
        nodes = self.take("nodes", coding.size, None)
        n_embedding = nodes.shape[1] - n_outputs
        arrays.require(n_embedding >= 1, f"{self.name}.nodes has no embeddings")
        self.table, self.n_embedding = Table(nodes, n_outputs), n_embedding

    def take(self, name: str, *shape: int | None) -> FloatArray:
        return self.arrays.take(f"{self.name}.{name}", np.float32, shape)

    def layer(self, name: str, n_in: int, n_out: int | None) -> tuple[FloatArray, FloatArray]:
        """Return weights and biases."""
        weight = self.take(name, n_in, n_out)
        return weight, self.take(f"{name}_bias", weight.shape[1])


def _model_network(arrays: ArrayReader, coding: Coding, c: int) -> ModelArrays:
    layers = _Layers(arrays, "model", coding, c)
    first = layers.layer("first", coding.n_features * layers.n_embedding, None)
    units, odd = divmod(first[0].shape[1], 2)
    arrays.require(not odd, "shapley.model.first has an odd number of units")
    return ModelArrays(layers.table, *first, *layers.layer("last", units, c))


def _value_network(arrays: ArrayReader, coding: Coding, c: int) -> ValueArrays:
    layers = _Layers(arrays, "values", coding, c)
    n_values = coding.n_features * layers.n_embedding
    constant = layers.take("constant", coding.n_features, c)
    first = layers.layer("first", n_values, None)
    units, rest = divmod(first[0].shape[1], 3)
    arrays.require(not rest, "shapley.values.first has no three equal parts")
    return ValueArrays(layers.table, constant, *first, *layers.layer("last", 2 * units, n_values * c))


def _errors(arrays: ArrayReader, m: int, c: int) -> ErrorModel:
    """Return how far values are off; variances that were not measured are NaN."""
    share = arrays.take("shapley.errors.share", np.float64, (m, c))
    variance, walk_variance = (
        arrays.take(f"shapley.errors.{name}", np.float64, (m, c), finite=False)
        for name in ("variance", "walk_variance")
    )
    weights = arrays.take("shapley.errors.weights", np.float64, (3,))
    remainder = arrays.take("shapley.errors.remainder", np.float64, (c,))
    for name, found in {"variance": variance, "walk_variance": walk_variance, "weights": weights}.items():
        good = np.isnan(found) | (np.isfinite(found) & (found >= 0))
        arrays.require(bool(good.all()), f"shapley.errors.{name} holds what is no variance")
    whole = not m or bool((np.abs(share.sum(0) - 1) <= 1e-6).all())
    arrays.require(whole and bool((share >= 0).all()), "shapley.errors.share does not add up to 1")
    arrays.require(bool((remainder > 0).all()), "shapley.errors.remainder must be positive")
    return ErrorModel(share, variance, weights, remainder, walk_variance)
