"""Twins to arrays, and back."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from illume._typing import IntArray
from illume.data.encoding import Encoded, Encoding
from illume.data.outputs import Outputs
from illume.data.schema import Schema
from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.errors import FormatError
from illume.explanations.fitted import AnsweredFrame
from illume.io.fitted_parts import add_fields, take_fields
from illume.twin.exact import ExactTwin, Trees, TreeValues
from illume.twin.features import FeatureCodes
from illume.twin.forest import Deep, Forest, ForestValues
from illume.twin.games import MOST_PLAYERS
from illume.twin.learned import LearnedTwin
from illume.twin.network_arrays import Coding, ModelArrays, Table, ValueArrays, arrays_of
from illume.twin.read_linear import Linear, LinearValues
from illume.twin.shapley_model import ErrorModel, ShapleyModel
from illume.twin.twin import Twin

Categories = tuple[tuple[Hashable | None, ...], ...]
NODES = ("left", "right", "feature", "rank", "choice")


@dataclass(frozen=True)
class TwinEntry:
    """The part of a twin that is JSON.

    `kind` is `trees`, `linear`, `learned` or `latent`; `centred` and `categories` are those of exact twins,
    `least` the least probability of the log-odds of a learned one.
    """

    kind: str
    centred: bool = False
    categories: Categories = ()
    least: float = 0.0


def dump_twin(twin: Twin, arrays: ArrayWriter, rows: bool) -> TwinEntry:
    """Store a twin; without rows, tables take the place of background rows."""
    if isinstance(twin, LearnedTwin):
        return TwinEntry("learned", least=dump_shapley(twin.model, arrays))
    if not isinstance(twin, ExactTwin):
        return TwinEntry("latent")
    parts = twin.parts
    if isinstance(parts, Trees):
        _dump_trees(parts, arrays)
        if rows and twin.background is not None:
            arrays.add("twin.background", twin.background.astype(np.int64))
        else:
            _dump_tables(twin.against_background.values, arrays)  # type: ignore[attr-defined]
        return TwinEntry("trees", twin.centred, parts.codes.categories)
    linear = cast(Linear, parts)  # there is no other sum
    add_fields(arrays, "twin", linear, "slopes", "missing", "levels", "intercept")
    arrays.add("twin.mean", twin.against_background.mean)  # type: ignore[attr-defined]
    return TwinEntry("linear", twin.centred, linear.categories)


def _dump_trees(parts: Trees, arrays: ArrayWriter) -> None:
    forest = parts.forest
    for name in ("roots", *NODES):
        arrays.add(f"twin.{name}", getattr(forest, name).astype(np.int64))
    add_fields(arrays, "twin", forest, "missing_left", "choices", "value")
    arrays.add("twin.start", parts.start)
    arrays.add("twin.cuts", np.concatenate([*parts.codes.cuts, np.empty(0)]))
    arrays.add("twin.n_cuts", np.array([len(cuts) for cuts in parts.codes.cuts], dtype=np.int64))


def _dump_tables(values: ForestValues, arrays: ArrayWriter) -> None:
    arrays.add("twin.tables", values.flat)
    arrays.add("twin.base", values.base)
    arrays.add("twin.n_deep", np.array([len(deep.patterns) for deep in values.deep], dtype=np.int64))
    arrays.add(
        "twin.patterns",
        np.concatenate([deep.patterns.astype(np.int64) for deep in values.deep] or [np.empty(0, np.int64)]),
    )
    arrays.add("twin.shares", np.concatenate([deep.shares for deep in values.deep] or [np.empty(0)]))


def read_twin(
    entry: TwinEntry,
    arrays: ArrayReader,
    encoding: Encoding,
    outputs: Outputs,
    background: AnsweredFrame | None,
) -> Twin | None:
    """Return the twin; None where the latent surrogate is all there is."""
    if entry.kind == "latent":
        return None
    if entry.kind == "learned":
        model = read_shapley(entry.least, arrays, encoding, outputs)
        if background is None:
            return LearnedTwin.of(
                model, Encoded.plain(np.empty((0, encoding.n_inputs)), len(encoding.schema))
            )
        return LearnedTwin.of(model, encoding.transform(background.frame.select(encoding.schema.names)))
    schema, s = encoding.schema, len(outputs.explained)
    if len(entry.categories) != len(schema) or entry.kind not in ("trees", "linear"):
        raise FormatError(f"twin is {entry.kind!r}, with categories of {len(entry.categories)} features")
    if entry.centred and s < 2:
        raise FormatError("twin is centred, and there is one score")
    if entry.kind == "trees":
        return _read_trees(entry, arrays, schema, s)
    f, width = len(schema), 1 + max(map(len, entry.categories), default=0)
    found = take_fields(
        arrays, "twin", np.float64, slopes=(f, s), levels=(f, width, s), intercept=(s,), mean=(f, s)
    )
    missing = arrays.take("twin.missing", np.float64, (f, s), nan=True)
    mean = found.pop("mean")
    linear = Linear(schema, entry.categories, missing=missing, **found)
    return ExactTwin(linear, entry.centred, None, LinearValues(linear, mean))


def _read_trees(entry: TwinEntry, arrays: ArrayReader, schema: Schema, s: int) -> ExactTwin:
    f = len(schema)
    left = arrays.positions("twin.left", (None,), -1, 2**31)
    n = (len(left),)
    right = arrays.positions("twin.right", n, -1, n[0])
    roots = arrays.positions("twin.roots", (None,), 0, n[0])
    inner = np.flatnonzero(left >= 0)
    own = np.concatenate([roots, left[inner], right[inner]])
    sound = (left[inner] > inner) & (right[inner] > inner) & (left[inner] < n[0])
    arrays.require(
        bool(sound.all()) and np.array_equal(np.sort(own), np.arange(n[0])),
        "twin holds nodes that are no trees",
    )
    cuts, n_cuts = (
        arrays.take("twin.cuts", np.float64, (None,)),
        arrays.positions("twin.n_cuts", (f,), 0, 2**31),
    )
    arrays.require(int(n_cuts.sum()) == len(cuts), "twin.cuts are not those of the features")
    each = tuple(np.split(cuts, np.cumsum(n_cuts)[:-1]))
    arrays.require(all((np.diff(part) > 0).all() for part in each), "twin.cuts do not rise")
    codes = FeatureCodes(schema, each, entry.categories)
    choices = arrays.take("twin.choices", np.bool_, (None, codes.n_codes + 1))
    forest = Forest(
        roots=roots,
        left=left,
        right=right,
        feature=arrays.positions("twin.feature", n, 0, f),
        rank=arrays.positions("twin.rank", n, -2, 2**31),
        missing_left=arrays.take("twin.missing_left", np.bool_, n),
        choice=arrays.positions("twin.choice", n, -1, len(choices)),
        choices=choices,
        value=arrays.take("twin.value", np.float64, (*n, s)),
        n_features=f,
    )
    trees = Trees(forest, codes, arrays.take("twin.start", np.float64, (s,)))
    parts = forest.branches
    arrays.require(max((part.n_bits for part in parts), default=0) <= MOST_PLAYERS, "twin has too long paths")
    sizes = sum(part.width << part.n_bits for part in parts if part.has_table)
    arrays.budget.spend(8 * sizes, f"twin: tables of {sizes:,} numbers")
    if "twin.background" in arrays:
        kind = np.int16 if codes.n_codes < 2**15 else np.int32  # as rows are coded
        background = arrays.positions("twin.background", (f, None), -1, codes.n_codes).astype(kind)
        arrays.require(background.shape[1] > 0, "twin has no background rows")
        return ExactTwin(trees, entry.centred, background)
    return ExactTwin(trees, entry.centred, None, _read_tables(trees, arrays))


def _read_tables(trees: Trees, arrays: ArrayReader) -> TreeValues:
    values = ForestValues(trees.forest, None)
    values.flat[:] = arrays.take("twin.tables", np.float64, values.flat.shape)
    values.base[:] = arrays.take("twin.base", np.float64, values.base.shape)
    n_deep = arrays.positions("twin.n_deep", (len(values.large),), 0, 2**31)
    total = (int(n_deep.sum()),)
    patterns: IntArray = arrays.positions("twin.patterns", total, 0, 2**62)
    shares, ends = arrays.take("twin.shares", np.float64, total), np.cumsum(n_deep)[:-1]
    pairs = zip(np.split(patterns, ends), np.split(shares, ends), strict=True) if len(n_deep) else ()
    values.deep = [Deep(*pair) for pair in pairs]
    return TreeValues(trees, values, None)


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
