"""Shapley values as operations of a graph of ONNX."""

from __future__ import annotations

import numpy as np

from illume.export.graph import DOUBLE, FLOAT, INT64, Graph
from illume.export.places import Places
from illume.shapley.network_arrays import ValueArrays
from illume.shapley.shapley_model import LogOdds, ShapleyModel


def add_values(graph: Graph, model: ShapleyModel, X: str, missing: str, log_odds: str) -> str:
    """Add Shapley values of encoded rows X (rows, inputs), where `missing` says so, that add up to log-odds.

    Return them, (rows, outputs, features), float64.
    """
    at, part = _places(graph, Places.of(model.coding), graph.cast(X, FLOAT), missing)
    values = graph.cast(_values(graph, model.values, at, part), DOUBLE)
    total = graph.add("ReduceSum", values, graph.constant([1], np.int64), keepdims=0)
    remainder = graph.add("Sub", graph.add("Sub", log_odds, graph.constant(model.base)), total)
    shared = graph.add("Unsqueeze", remainder, graph.constant([1], np.int64))
    shared = graph.add("Mul", shared, graph.constant(model.errors.share))
    values = graph.add("Transpose", graph.add("Add", values, shared), perm=[0, 2, 1])
    features = model.coding.features
    if len(features) == model.n_features:
        return values
    padded = graph.add("Pad", values, graph.constant([0, 0, 0, 0, 0, 1], np.int64))  # for all others
    place = np.full(model.n_features, len(features))
    place[features] = np.arange(len(features))
    return graph.add("Gather", padded, graph.constant(place, np.int64), axis=2)


def add_log_odds(graph: Graph, scale: LogOdds, P: str, n_classes: int) -> str:
    """Add the log-odds of probabilities (rows, classes), float64."""
    clipped = graph.add("Clip", P, graph.constant(scale.least), graph.constant(1.0 - scale.least))
    logs = graph.add("Log", clipped)
    if n_classes == 2:
        first, second = (graph.add("Gather", logs, graph.constant([i], np.int64), axis=1) for i in (0, 1))
        return graph.add("Sub", second, first)
    mean = graph.add("ReduceMean", logs, graph.constant([1], np.int64), keepdims=1)
    return graph.add("Sub", logs, mean)


def _places(graph: Graph, places: Places, X: str, missing: str) -> tuple[str, str]:
    """Add the places of rows in the table, and how far it is to the next, (rows, features) each."""
    at, part = [], []
    if len(places.number_inputs):
        found = _numbers(graph, places, X, missing)
        at.append(found[0])
        part.append(found[1])
    if len(places.category_missing):
        at.append(_categories(graph, places, X))
        part.append(graph.cast(graph.add("Mul", at[-1], graph.constant(0, np.int64)), FLOAT))
    order = graph.constant(places.order, np.int64)
    at_all, part_all = (graph.add("Concat", *each, axis=1) for each in (at, part))
    return graph.add("Gather", at_all, order, axis=1), graph.add("Gather", part_all, order, axis=1)


def _numbers(graph: Graph, places: Places, X: str, missing: str) -> tuple[str, str]:
    """Add the bins of numbers: how many inner knots a number has reached, and how far it is into its bin."""
    inputs = graph.constant(places.number_inputs, np.int64)
    x, absent = graph.add("Gather", X, inputs, axis=1), graph.add("Gather", missing, inputs, axis=1)
    last = graph.constant([2], np.int64)
    inner = graph.constant(places.inner, np.float32)
    reached = graph.add("GreaterOrEqual", graph.add("Unsqueeze", x, last), inner)
    bins = graph.add("ReduceSum", graph.cast(reached, INT64), last, keepdims=0)
    here = graph.add("Add", bins, graph.constant(places.first, np.int64))
    after = graph.add("Add", here, graph.constant(1, np.int64))
    knots = graph.constant(places.knots, np.float32)
    low, high = graph.add("Gather", knots, here), graph.add("Gather", knots, after)
    share = graph.add("Div", graph.add("Sub", x, low), graph.add("Sub", high, low))
    nothing = graph.constant(0.0, np.float32)
    part = graph.add("Clip", share, nothing, graph.constant(1.0, np.float32))
    at = graph.add("Add", bins, graph.constant(places.number_starts, np.int64))
    at = graph.add("Where", absent, graph.constant(places.number_missing, np.int64), at)
    return at, graph.add("Where", absent, nothing, part)


def _categories(graph: Graph, places: Places, X: str) -> str:
    """Add the places of categories; what has none is missing or unknown."""
    own = graph.add("Gather", X, graph.constant(places.category_inputs, np.int64), axis=1)
    raw = graph.add("Add", own, graph.constant(places.category_mean, np.float32))
    has = graph.cast(graph.add("Greater", raw, graph.constant(0.5, np.float32)), DOUBLE)
    features = np.arange(len(places.category_missing))
    steps = (places.category_owner[:, None] == features) * places.category_step[:, None]
    found = graph.cast(graph.add("MatMul", has, graph.constant(steps)), INT64)
    return graph.add("Add", found, graph.constant(places.category_missing, np.int64))


def _values(graph: Graph, network: ValueArrays, at: str, part: str) -> str:
    """Add values (rows, features, outputs) before they are made to add up, float32."""
    table, (m, c) = network.table, network.constant.shape
    d, units = table.nodes.shape[1] - c, network.first.shape[1] // 3
    nodes = graph.constant(np.concatenate([table.nodes, table.nodes[-1:]]), np.float32)
    low = graph.add("Gather", nodes, at)
    high = graph.add("Gather", nodes, graph.add("Add", at, graph.constant(1, np.int64)))
    share = graph.add("Unsqueeze", part, graph.constant([2], np.int64))
    found = graph.add("Add", low, graph.add("Mul", graph.add("Sub", high, low), share))
    main, own = graph.several("Split", 2, found, graph.constant([c, d], np.int64), axis=2)
    flat = graph.add("Reshape", own, graph.constant([-1, m * d], np.int64))
    weights = [graph.constant(each, np.float32) for each in (network.first, network.first_bias)]
    hidden = graph.add("Gemm", flat, *weights)
    gate, value, rest = graph.several("Split", 3, hidden, graph.constant([units] * 3, np.int64), axis=1)
    gated = graph.add("Mul", graph.add("Mul", gate, graph.add("Sigmoid", gate)), value)
    weights = [graph.constant(each, np.float32) for each in (network.last, network.last_bias)]
    coefficients = graph.add("Gemm", graph.add("Concat", gated, rest, axis=1), *weights)
    coefficients = graph.add("Reshape", coefficients, graph.constant([-1, m, d, c], np.int64))
    products = graph.add("Mul", coefficients, graph.add("Unsqueeze", own, graph.constant([3], np.int64)))
    inner = graph.add("ReduceSum", products, graph.constant([2], np.int64), keepdims=0)
    main = graph.add("Add", main, graph.constant(network.constant, np.float32))
    return graph.add("Add", inner, main)
