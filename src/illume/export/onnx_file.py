"""An explainer's forward pass as a file of ONNX, for runtimes without Python."""

from __future__ import annotations

import json
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from illume._typing import FloatArray
from illume.data import archive
from illume.data.blocks import LARGEST as FARTHEST
from illume.data.encoding import Encoding
from illume.data.schema import Feature
from illume.encoders.base import EPSILON
from illume.encoders.forward import LARGEST
from illume.encoders.soft_bins import HEIGHT, SoftBins
from illume.errors import ExportError, MissingExtraError
from illume.export.parts import Parts

if TYPE_CHECKING:
    from illume.export.graph import Graph

Inputs = Literal["raw", "encoded"]


def export_onnx(
    explainer: Any, path: str | os.PathLike[str], *, inputs: Inputs = "raw", probabilities: bool = False
) -> None:
    """Write what the explainer says of a row, before refinement, as a graph of ONNX (opset 19).

    The graph answers, as float64, `slopes` (rows, outputs, inputs), `contributions` (rows, outputs,
    features), `log_odds` (rows, outputs), `probabilities` (rows, classes) and `latents` (rows, latents).
    Contributions and the base values, which the file's metadata names along with features and classes, add
    up to the log-odds. The black box is no part of it: probabilities are the surrogate's, and so are the
    log-odds that Shapley values add up to, unless the graph is given the model's.

    Parameters
    ----------
    path
        The file; it is there as a whole, or what was there before is.
    inputs
        `raw`: the graph reads `numbers` (rows, numeric features), float64 with NaN for missing
        ones, and `categories` (rows, other features), the categories as text, `(missing)` where there is
        none; an unknown one is treated as with `unknown="ignore"`. `encoded`: the graph reads `X`
        (rows, inputs), float32, as `explainer.fitted_.encoding.transform` gives them, NaN where a
        number is missing.
    probabilities
        Let the graph read `model_probabilities` (rows, classes), too, float64: Shapley values then add up to
        the log-odds of the model itself, which are its `log_odds`.
    """
    try:
        from illume.export.graph import DOUBLE, FLOAT, Graph
    except ImportError as error:
        raise MissingExtraError.of("onnx", "onnx") from error
    if inputs not in ("raw", "encoded"):
        raise ValueError(f"inputs must be 'raw' or 'encoded', found {inputs!r}")
    parts, encoding, graph = Parts.of(explainer), explainer.fitted_.encoding, Graph()
    if probabilities and parts.shapley is None:
        raise ValueError("only Shapley values can add up to the model's log-odds; leave probabilities out")
    if inputs == "raw":
        rows = _scaled(graph, encoding)
    else:
        rows = graph.cast(graph.input("X", FLOAT, encoding.n_inputs), DOUBLE)
    n_classes = len(explainer.class_names_)
    P = graph.input("model_probabilities", DOUBLE, n_classes) if probabilities else None
    _explained(graph, parts, rows, n_classes, P)
    model = graph.model(_described(explainer, parts), import_module("illume").__version__)
    archive.write(path, model.SerializeToString(deterministic=True))


def _scaled(graph: Graph, encoding: Encoding) -> str:
    """Add what makes inputs of raw features; return scaled rows, float64, NaN where a number is missing."""
    from illume.export.graph import DOUBLE, STRING

    features = encoding.schema.features
    numbers = [feature for feature in features if feature.numeric]
    texts = [feature for feature in features if not feature.numeric]
    given = graph.input("numbers", DOUBLE, len(numbers)) if numbers else ""
    named = graph.input("categories", STRING, len(texts)) if texts else ""
    live = [feature for feature in features if not feature.constant]
    blocks = [
        _column(graph, given, numbers.index(feature))
        if feature.numeric
        else _indicators(graph, _column(graph, named, texts.index(feature)), feature)
        for feature in live
    ]
    joined = graph.add("Concat", *blocks, axis=1)
    centred = graph.add("Sub", joined, graph.constant(encoding.mean))
    return graph.add("Div", centred, graph.constant(encoding.scale))


def _encoded(graph: Graph, scaled: str) -> tuple[str, str]:
    """Add what fills in missing numbers; return encoded rows, and which of their inputs were missing."""
    missing = graph.add("IsNaN", scaled)
    known = graph.add("Where", missing, graph.constant(0.0), scaled)
    return graph.add("Clip", known, graph.constant(-FARTHEST), graph.constant(FARTHEST)), missing


def _column(graph: Graph, matrix: str, j: int) -> str:
    """Return one column, (rows, 1)."""
    return graph.add("Gather", matrix, graph.constant([j], np.int64), axis=1)


def _indicators(graph: Graph, column: str, feature: Feature) -> str:
    """Return one column for each category, 1 where the row is of it; what is not known is of the open one."""
    from illume.export.graph import DOUBLE

    if len(set(feature.labels)) < len(feature.labels):
        raise ExportError(
            f"column {feature.name!r} has categories of the same text among {feature.labels[:8]}; "
            f"use inputs='encoded'"
        )
    same = graph.cast(graph.add("Equal", column, graph.constant([feature.labels], object)), DOUBLE)
    if not feature.open:
        return same
    known = graph.add("ReduceSum", same, graph.constant([1], np.int64), keepdims=1)
    other = [str(value) == "(other)" for value in feature.categories]
    elsewhere = graph.add("Mul", graph.add("Sub", graph.constant(1.0), known), graph.constant([other]))
    return graph.add("Add", same, elsewhere)


def _explained(graph: Graph, parts: Parts, rows: str, n_classes: int, P: str | None) -> None:
    """Add the forward pass; sums after the network are float64, as the explainer's own.

    `P` are the model's probabilities, where they are given.
    """
    (k, m), c = parts.shape, len(parts.coef)
    X, missing = _encoded(graph, rows)
    if parts.fixed is not None:
        slopes, Z = _of_one_map(graph, parts.coef, parts.fixed, X)
    else:
        slopes, Z = _of_network(graph, parts, X)
    values = graph.add("Mul", slopes, graph.add("Unsqueeze", X, graph.constant([1], np.int64)))
    total = graph.add("ReduceSum", values, graph.constant([2], np.int64), keepdims=0)
    logits = graph.add("Add", total, graph.constant(parts.intercept))
    both = logits
    if c == 1:
        both = graph.add("Concat", graph.add("Mul", logits, graph.constant(0.0)), logits, axis=1)
    Q = graph.add("Softmax", both, axis=1)
    if parts.shapley is not None:
        from illume.export.values_graph import add_log_odds, add_values

        logits = add_log_odds(graph, parts.shapley.log_odds, Q if P is None else P, n_classes)
        values = add_values(graph, parts.shapley, X, missing, logits)
    elif parts.gathers:
        values = graph.add("MatMul", values, graph.constant(parts.membership))
    graph.output("slopes", slopes, c, m)
    graph.output("contributions", values, c, parts.n_features)
    graph.output("log_odds", logits, c)
    graph.output("probabilities", Q, n_classes)
    graph.output("latents", Z, k)


def _of_one_map(graph: Graph, coef: FloatArray, W: FloatArray, X: str) -> tuple[str, str]:
    """Return slopes, once per row, and latents of an encoder whose rows share one map."""
    Z = graph.add("MatMul", X, graph.constant(W.T))
    nothing = graph.add("Mul", graph.add("Unsqueeze", X, graph.constant([1], np.int64)), graph.constant(0.0))
    return graph.add("Add", nothing, graph.constant(coef @ W)), Z


def _of_network(graph: Graph, parts: Parts, X: str) -> tuple[str, str]:
    """Return slopes and latents from the maps that the network gives every row."""
    from illume.export.graph import DOUBLE, FLOAT

    k, m = parts.shape
    clipped = graph.add("Clip", X, graph.constant(-LARGEST), graph.constant(LARGEST))
    h = _binned(graph, parts.bins, graph.cast(clipped, FLOAT))
    for i, (weight, bias) in enumerate(parts.layers):
        h = graph.add(
            "Gemm", h, graph.constant(weight, np.float32), graph.constant(bias, np.float32), transB=1
        )
        h = graph.add("Relu", h) if i < len(parts.layers) - 1 else h
    V = graph.add("Reshape", h, graph.constant([-1, k, m], np.int64))
    if parts.alpha < m:
        V = _largest(graph, V, parts.alpha)
    V = graph.cast(V, DOUBLE)
    length = graph.add("ReduceL2", V, graph.constant([2], np.int64), keepdims=0)
    length = graph.add("Max", length, graph.constant(EPSILON))
    share = graph.add(
        "Div", graph.constant(parts.coef), graph.add("Unsqueeze", length, graph.constant([1], np.int64))
    )
    last = graph.constant([2], np.int64)
    Z = graph.add("Squeeze", graph.add("MatMul", V, graph.add("Unsqueeze", X, last)), last)
    return graph.add("MatMul", share, V), graph.add("Div", Z, length)


def _binned(graph: Graph, bins: SoftBins, X: str) -> str:
    """Return what the first layer sees: inputs beside their bins, float32."""
    if not len(bins):
        return X
    low, steepness = (graph.constant(part, np.float32) for part in (bins.low, bins.steepness))
    deep = graph.add("Gather", X, graph.constant(bins.column, np.int64), axis=1)
    deep = graph.add("Mul", graph.add("Sub", deep, low), steepness)
    deep = graph.add("Clip", deep, graph.constant(0.0, np.float32), graph.constant(1.0, np.float32))
    deep = graph.add("Sub", deep, graph.constant(0.5, np.float32))
    deep = graph.add("Mul", deep, graph.constant(HEIGHT, np.float32))
    return graph.add("Concat", X, deep, axis=1)


def _largest(graph: Graph, V: str, alpha: int) -> str:
    """Set all but the largest weights of each direction to 0."""
    _, index = graph.several(
        "TopK", 2, graph.add("Abs", V), graph.constant([alpha], np.int64), axis=2, largest=1, sorted=1
    )
    zeros = graph.add("ConstantOfShape", graph.add("Shape", V))
    return graph.add("ScatterElements", zeros, index, graph.add("GatherElements", V, index, axis=2), axis=2)


def _described(explainer: Any, parts: Parts) -> dict[str, str]:
    """Return what the numbers stand for, as JSON."""
    features = explainer.schema_.features
    about = {
        "features": [feature.name for feature in features],
        "numbers": [feature.name for feature in features if feature.numeric],
        "categories": {feature.name: feature.labels for feature in features if not feature.numeric},
        "inputs": explainer.fitted_.encoding.input_names,
        "classes": [str(name) for name in explainer.class_names_],
        "base_values": parts.base_values.tolist(),
        "kind": "pullback" if parts.shapley is None else "shapley",
    }
    return {name: json.dumps(value, ensure_ascii=False) for name, value in about.items()}
