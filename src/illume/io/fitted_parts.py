"""Encoders, surrogates, rows and figures of a fitted explainer to JSON and arrays, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.encoding import Encoding
from illume.data.outputs import Outputs
from illume.data.schema import Schema
from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.encoders.base import HEAD_TYPES, Head, IdentityEncoder
from illume.encoders.estimators import weight_shapes
from illume.encoders.forward import SoftBins
from illume.errors import FormatError, SaveError
from illume.explanations.boxes import Layout
from illume.explanations.fitted import ReportAnswers
from illume.explanations.places import LEVELS, Places
from illume.explanations.reference import KNOTS, Reference
from illume.explanations.rule_sample import Sample
from illume.io.settings import ENCODERS, dump_setting, read_encoder_settings
from illume.surrogates.base import (
    FittedWeights,
    HeadSurrogate,
    LinearAdapter,
    LinearRegressionSurrogate,
    LogisticSurrogate,
)
from illume.surrogates.tree import DecisionTreeSurrogate, RegressionTreeSurrogate, TreeNodes, require_tree

LINEAR = (FittedWeights, HeadSurrogate, LinearAdapter, LinearRegressionSurrogate, LogisticSurrogate)
TREES = (DecisionTreeSurrogate, RegressionTreeSurrogate, TreeNodes)
NO_CATEGORY = -1

Shape = tuple[int | None, ...]


def add_fields(arrays: ArrayWriter, prefix: str, value: Any, *names: str) -> None:
    """Store some array attributes of a value."""
    for name in names:
        arrays.add(f"{prefix}.{name.rstrip('_')}", getattr(value, name))


def take_fields(
    arrays: ArrayReader, prefix: str, dtype: Any, nan: bool = False, **shapes: Shape
) -> dict[str, Any]:
    """Return arrays of one type by the names of their shapes; with `nan` they may hold NaN."""
    return {name: arrays.take(f"{prefix}.{name}", dtype, shape, nan=nan) for name, shape in shapes.items()}


@dataclass(frozen=True)
class EncoderEntry:
    """The part of an encoder that is JSON; `head` and `bins` are numbers of outputs and of bins."""

    kind: str
    settings: object
    alpha: int | None = None
    head: int | None = None
    rank: int | None = None
    bins: int = 0


def dump_encoder(encoder: Any, arrays: ArrayWriter, name: str) -> EncoderEntry:
    """Store a fitted encoder."""
    kind = type(encoder).__name__
    if ENCODERS.get(kind) is not type(encoder):
        raise SaveError(
            f"an encoder {kind} cannot be saved, because loading runs no code of others; a file holds "
            f"{', '.join(sorted(ENCODERS))}"
        )
    settings = dump_setting(encoder)[kind]
    if isinstance(encoder, IdentityEncoder):
        return EncoderEntry(kind, settings)
    for part, array in encoder.weights_.items():
        arrays.add(f"{name}.maps.{part}", array)
    bins, head = encoder.bins_, encoder.head_
    if len(bins):
        arrays.add(f"{name}.bins.column", bins.column.astype(np.int64))
        add_fields(arrays, f"{name}.bins", bins, "low", "steepness")
    if head is not None:
        add_fields(arrays, f"{name}.head", head, "coef", "intercept")
    outputs = None if head is None else len(head.coef)
    return EncoderEntry(
        kind, settings, int(encoder.alpha_), outputs, getattr(encoder, "rank_", None), len(bins)
    )


def read_encoder(entry: EncoderEntry, arrays: ArrayReader, name: str, n_inputs: int) -> Any:
    """Return a fitted encoder."""
    encoder = read_encoder_settings(entry.kind, entry.settings, name)
    if isinstance(encoder, IdentityEncoder):
        if entry != EncoderEntry(entry.kind, entry.settings):
            raise FormatError(f"{name} has weights, which an identity encoder never has")
        encoder.n_features_in_ = n_inputs
        return encoder
    if entry.alpha is None or not 1 <= entry.alpha <= n_inputs:
        raise FormatError(f"{name}.alpha is {entry.alpha}, expected 1 to {n_inputs}")
    bins = _read_bins(arrays, f"{name}.bins", entry.bins, n_inputs) if entry.bins else SoftBins.none()
    try:
        shapes = weight_shapes(encoder, n_inputs, entry.rank, len(bins))
    except ValueError as error:
        raise FormatError(f"{name}: {error}") from error
    weights = take_fields(arrays, f"{name}.maps", np.float32, False, **shapes)
    head = None
    if entry.head is not None:
        size, k, dtype = entry.head, encoder.n_latents, HEAD_TYPES[encoder.task]
        head = Head(**take_fields(arrays, f"{name}.head", dtype, coef=(size, k), intercept=(size,)))
    return encoder.set_weights(weights, n_inputs, entry.alpha, head, bins)


def _read_bins(arrays: ArrayReader, name: str, n: int, n_inputs: int) -> SoftBins:
    column = arrays.positions(f"{name}.column", (n,), 0, n_inputs).astype(np.intp)
    found = take_fields(arrays, name, np.float32, low=(n,), steepness=(n,))
    arrays.require(bool((found["steepness"] > 0).all()), f"{name}.steepness must be above 0")
    return SoftBins(column, **found)


def dump_weights(surrogate: Any, arrays: ArrayWriter) -> None:
    """Store a linear surrogate."""
    if type(surrogate) not in LINEAR:
        raise SaveError(
            f"a surrogate {type(surrogate).__name__} cannot be saved, because loading runs no code of "
            f"others; a file holds 'logistic', the head of an encoder, and linear classifiers of scikit-learn"
        )
    add_fields(arrays, "surrogate", surrogate, "coef_", "intercept_")


def read_weights(arrays: ArrayReader, outputs: Outputs, n_latents: int) -> FittedWeights:
    """Return the linear surrogate."""
    c = len(outputs.explained)
    found = take_fields(arrays, "surrogate", np.float64, coef=(c, n_latents), intercept=(c,))
    return FittedWeights(found["coef"], found["intercept"], outputs)


def dump_tree(surrogate: Any, arrays: ArrayWriter) -> None:
    """Store the nodes of a tree."""
    if type(surrogate) not in TREES:
        raise SaveError(
            f"a tree {type(surrogate).__name__} cannot be saved, because loading runs no code of others; a "
            f"file holds 'tree' and tree classifiers of scikit-learn; save with rules=False to leave it out"
        )
    names = ("children_left_", "children_right_", "feature_", "threshold_", "value_")
    add_fields(arrays, "tree", surrogate, *names)


def read_tree(arrays: ArrayReader, n_classes: int, n_latents: int) -> TreeNodes:
    """Return the tree, once its nodes are known to form one."""
    left = arrays.take("tree.children_left", np.int64, (None,))
    n = len(left)
    links = take_fields(arrays, "tree", np.int64, children_right=(n,), feature=(n,))
    values = take_fields(arrays, "tree", np.float64, threshold=(n,), value=(n, n_classes))
    nodes = TreeNodes(left, *links.values(), *values.values())
    try:
        require_tree(nodes, n_latents)
    except ValueError as error:
        raise FormatError(f"the nodes do not form a tree: {error}") from error
    return nodes


def read_encoding(schema: Schema, arrays: ArrayReader, unknown: str) -> Encoding:
    """Return how features become inputs."""
    if unknown not in ("error", "ignore"):
        raise FormatError(f"unknown is {unknown!r}, expected 'error' or 'ignore'")
    owner = Encoding.owners(schema)
    found = take_fields(arrays, "encoding", np.float64, mean=(len(owner),), scale=(len(owner),))
    arrays.require(bool((found["scale"] > 0).all()), "encoding.scale must be positive")
    arrays.require(len(owner) > 0, "no column varies")
    return Encoding(schema, owner, found["mean"], found["scale"], unknown)  # type: ignore[arg-type]


def dump_rows(arrays: ArrayWriter, name: str, encoding: Encoding, X: FloatArray) -> None:
    """Store encoded rows X (n, m): numbers as they are, one code for each category."""
    layout = Layout.of(encoding)
    own = layout.own(X)
    codes = np.full((len(X), len(layout.categorical)), NO_CATEGORY, dtype=np.int32)
    for f, inputs in enumerate(layout.categorical):
        has = own[:, inputs]
        codes[:, f] = np.where(has.any(1), has.argmax(1), NO_CATEGORY)
    numbers = X[:, layout.numbers]
    if not np.array_equal(_expand_codes(encoding, layout, numbers, codes), X):
        raise SaveError(f"{name} rows are not as the encoding makes them; fit again before saving")
    arrays.add(f"{name}.numbers", np.ascontiguousarray(numbers))
    arrays.add(f"{name}.codes", codes)


def read_rows(arrays: ArrayReader, name: str, encoding: Encoding) -> FloatArray:
    """Return encoded rows, with the same bits as they were stored."""
    layout = Layout.of(encoding)
    numbers = arrays.take(f"{name}.numbers", np.float64, (None, len(layout.numbers)))
    codes = arrays.take(f"{name}.codes", np.int32, (len(numbers), len(layout.categorical)))
    arrays.budget.spend(
        3 * 8 * len(numbers) * layout.n_inputs,
        f"{name}: {len(numbers):,} rows of {layout.n_inputs:,} numbers and categories",
    )
    widths = np.array([inputs.stop - inputs.start for inputs in layout.categorical], dtype=np.int32)
    known = (codes >= NO_CATEGORY) & (codes < widths)
    arrays.require(bool(known.all()), f"{name}.codes are no categories")
    return _expand_codes(encoding, layout, numbers, codes)


def _expand_codes(encoding: Encoding, layout: Layout, numbers: FloatArray, codes: IntArray) -> FloatArray:
    X = np.empty((len(numbers), encoding.n_inputs))
    X[:, layout.numbers] = numbers
    for f, inputs in enumerate(layout.categorical):
        block = (codes[:, [f]] == np.arange(inputs.stop - inputs.start)).astype(np.float64)
        X[:, inputs] = (block - encoding.mean[inputs]) / encoding.scale[inputs]
    return X


def read_answers(arrays: ArrayReader, name: str, n_rows: int, outputs: Outputs) -> FloatArray:
    """Return the model's answers to rows."""
    P = arrays.take(name, np.float64, (n_rows, len(outputs)))
    arrays.require(outputs.is_valid(P), f"{name} holds rows that are no answers of a model")
    return P


def dump_sample(arrays: ArrayWriter, name: str, encoding: Encoding, sample: Sample) -> None:
    """Store rows that rules are chosen or measured on."""
    dump_rows(arrays, name, encoding, sample.X)
    arrays.add(f"{name}.answers", sample.P)


def read_sample(arrays: ArrayReader, name: str, encoding: Encoding, outputs: Outputs) -> Sample:
    """Return rows that rules are chosen or measured on; zero rows if the file holds none."""
    X: FloatArray = np.empty((0, encoding.n_inputs))
    P: FloatArray = np.empty((0, len(outputs)))
    if f"{name}.numbers" in arrays:
        X = read_rows(arrays, name, encoding)
        P = read_answers(arrays, f"{name}.answers", len(X), outputs)
    return Sample(Layout.of(encoding), X, P, outputs.strata)


def read_report_answers(arrays: ArrayReader, outputs: Outputs) -> ReportAnswers | None:
    """Return the answers to report rows, which files of models have that a threshold can decide."""
    if "measured.P" not in arrays:
        return None
    P = arrays.take("measured.P", np.float64, (None, len(outputs)))
    found = take_fields(arrays, "measured", np.float64, Q=P.shape, B=P.shape)
    for each in (P, *found.values()):
        arrays.require(outputs.is_valid(each), "measured holds rows that are no answers of a model")
    return ReportAnswers(P, **found)


def read_places(arrays: ArrayReader, n_inputs: int) -> Places:
    """Return where the fitted rows lie; without rows, nothing is known."""
    if "places.anchors" not in arrays:
        return Places.unknown(n_inputs)
    anchors = arrays.take("places.anchors", np.float64, (None, n_inputs))
    distances = arrays.take("places.distances", np.float64, (None,))
    arrays.require(len(distances) in (0, len(LEVELS)), "places.distances has a wrong length")
    return Places(anchors, distances)


def read_pair(arrays: ArrayReader, name: str, outputs: Outputs) -> tuple[FloatArray, FloatArray] | None:
    """Return the answers of model and twin to report rows, where a file holds them."""
    if f"{name}.P" not in arrays:
        return None
    P = arrays.take(f"{name}.P", np.float64, (None, len(outputs)))
    Q = arrays.take(f"{name}.Q", np.float64, P.shape)
    for each in (P, Q):
        arrays.require(outputs.is_valid(each), f"{name} holds rows that are no answers of a model")
    return P, Q


def read_reference(n_rows: int, schema: Schema, model: ArrayReader) -> Reference:
    """Return the distributions of the fitted rows."""
    if n_rows < 0:
        raise FormatError(f"reference is {n_rows}, expected a number of rows")
    m, n_shares = len(schema), len(Reference.unknown(schema).shares)
    shapes: dict[str, Shape] = dict.fromkeys(("knots", "below", "at_most"), (m, KNOTS))
    found = take_fields(model, "reference", np.float64, nan=True, **shapes, missing=(m,), shares=(n_shares,))
    for name in ("below", "at_most", "missing", "shares"):
        good = np.isnan(found[name]) | ((found[name] >= 0) & (found[name] <= 1))
        model.require(bool(good.all()), f"reference.{name} holds figures that are no shares")
    model.require(bool(np.isfinite(found["shares"]).all()), "reference.shares holds NaN or infinity")
    return Reference(n_rows, **found)
