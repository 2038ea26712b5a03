"""The forward pass of an explainer as an ONNX file, for runtimes without Python."""

# Not torch.onnx.export: categories come as text, which torch does not have; graphs that it writes fail on
# batches without rows; and a loaded explainer is exported without torch.

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, Protocol

import numpy as np
from sklearn.utils.validation import check_is_fitted

from illume.data import archive
from illume.data.encoding import LARGEST as FARTHEST
from illume.data.encoding import Encoding
from illume.data.scales import LOG_ODDS, PROBABILITY
from illume.data.schema import Feature
from illume.encoders.base import EPSILON
from illume.encoders.forward import HEIGHT, LARGEST
from illume.errors import ExportError, Setting, import_extra
from illume.explanations.fitted import Fitted
from illume.io.forward_pass import ForwardPass, shapley_arrays
from illume.twin.shapley_model import ShapleyModel

OPSET = 19  # the first with comparison of texts
IR_VERSION = 9

Inputs = Literal["raw", "encoded"]


class FittedExplainer(Protocol):
    """An explainer, which is defined in a layer above."""

    fitted_: Fitted


def export_onnx(
    explainer: FittedExplainer,
    path: str | os.PathLike[str],
    *,
    inputs: Inputs = "raw",
    predictions: bool = False,
) -> None:
    """Write the explainer's forward pass, without refinement, as an ONNX graph (opset 19).

    The graph returns, as float64, `slopes` (rows, outputs, inputs), `contributions` (rows, outputs,
    features), `log_odds` (rows, outputs), `probabilities` (rows, classes) and `latents` (rows, latents); for
    a regressor, `score` (rows, outputs) and `predictions` (rows, outputs) in the place of log-odds and
    probabilities, where scores are the predictions or, with `link="log"`, their logarithms. With
    `scale="probability"`, `score` takes the place of log-odds, too: probabilities. Contributions and
    the base values, which are in the file's metadata along with the names of features and outputs, add up to
    the scores. The black box is not part of the graph: probabilities and predictions are those of the
    surrogate, and so are the scores that Shapley values add up to, unless the graph is given the model's.

    Parameters
    ----------
    path
        The file, written atomically.
    inputs
        `raw`: the graph reads `numbers` (rows, numeric features), float64 with NaN for missing ones, and
        `categories` (rows, other features), the categories as text, `(missing)` for missing ones; an unknown
        category is treated as with `unknown="ignore"`. `encoded`: the graph reads `X` (rows, inputs),
        float32, as `explainer.fitted_.encoding.transform` gives them, NaN for missing numbers.
    predictions
        Let the graph also read what the model answers, `model_probabilities` (rows, classes) or
        `model_predictions` (rows, outputs), float64: Shapley values then add up to the model's own scores,
        which are the graph's `log_odds` or `score`.
    """
    if inputs not in ("raw", "encoded"):
        raise ValueError(f"inputs must be 'raw' or 'encoded', found {inputs!r}")
    check_is_fitted(explainer, "fitted_")
    fitted, graph = explainer.fitted_, Graph()
    parts, encoding = ForwardPass.from_fitted(fitted), fitted.encoding
    if predictions and parts.shapley is None:
        raise ValueError(
            "only Shapley values can add up to what the model answers; leave its predictions out"
        )
    if inputs == "raw":
        rows = scale_rows(graph, encoding)
    else:
        rows = graph.input("X", np.float32, encoding.n_inputs).cast(np.float64)
    outputs = fitted.outputs
    P = graph.input(f"model_{outputs.words[1]}", np.float64, len(outputs)) if predictions else None
    _add_forward_pass(graph, parts, rows, P)
    features = fitted.schema.features
    about = {
        "features": [feature.name for feature in features],
        "numbers": [feature.name for feature in features if feature.numeric],
        "categories": {feature.name: feature.labels for feature in features if not feature.numeric},
        "inputs": encoding.input_names,
        "classes": list(outputs.names),
        "outputs": list(outputs.explained),
        "task": outputs.task,
        "link": outputs.link,
        "base_values": parts.base_values.tolist(),
        "kind": "pullback" if parts.shapley is None else "shapley",
    }
    archive.write(path, graph.to_bytes(about))


def _operator(operation: str) -> Callable[[Value, Any], Value]:
    return lambda value, other: value.graph(operation, value, other)


class Value:
    """A value in a graph; `dtype` is the type of the numbers it is computed with."""

    def __init__(self, graph: Graph, name: str, dtype: Any) -> None:
        self.graph, self.name, self.dtype = graph, name, np.dtype(dtype)

    __add__, __sub__ = _operator("Add"), _operator("Sub")
    __mul__, __truediv__ = _operator("Mul"), _operator("Div")
    __matmul__ = _operator("MatMul")

    def cast(self, dtype: Any) -> Value:
        """Change the type."""
        found = self.graph("Cast", self, to=self.graph.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
        return Value(self.graph, found.name, dtype)

    def take(self, index: Any) -> Value:
        """Take columns."""
        return self.graph("Gather", self, np.asarray(index, dtype=np.int64), axis=1)

    def clip(self, low: float, high: float) -> Value:
        """Limit the range."""
        return self.graph("Clip", self, low, high)

    def sum(self, axis: int, keepdims: int = 0) -> Value:
        """Sum over an axis."""
        return self.graph("ReduceSum", self, [axis], keepdims=keepdims)

    def unsqueeze(self, axis: int) -> Value:
        """Insert an axis."""
        return self.graph("Unsqueeze", self, [axis])

    def reshape(self, *shape: int) -> Value:
        """Change the shape."""
        return self.graph("Reshape", self, list(shape))


class Graph:
    """An ONNX graph under construction; calling it adds an operation and returns its value.

    Arguments that are not values become constants: floats of the type of the value beside them, integers as
    int64.
    """

    def __init__(self) -> None:
        self.onnx = import_extra("onnx", "onnx")
        self.helper = self.onnx.helper
        self.nodes, self.constants = list[Any](), list[Any]()
        self.inputs, self.outputs = list[Any](), list[Any]()

    def __call__(self, operation: str, *arguments: Any, n: int = 1, **options: Any) -> Any:
        """Add an operation; with `n` above 1 return a tuple of values."""
        dtype = next((each.dtype for each in arguments if isinstance(each, Value)), np.dtype(np.float64))
        names = [f"{operation.lower()}_{len(self.nodes)}_{i}" for i in range(n)]
        inputs = [self._name(each, dtype) for each in arguments]
        self.nodes.append(self.helper.make_node(operation, inputs, names, **options))
        values = tuple(Value(self, name, dtype) for name in names)
        return values if n > 1 else values[0]

    def _name(self, value: Any, dtype: np.dtype[Any]) -> str:
        if isinstance(value, Value):
            return value.name
        array = np.asarray(value)
        kinds = {"f": dtype if dtype.kind == "f" else array.dtype, "U": np.dtype(object)}
        array = array.astype(kinds.get(array.dtype.kind, np.dtype(np.int64)))
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def input(self, name: str, dtype: Any, n_columns: int) -> Value:
        """Add a matrix with any number of rows."""
        kind = self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(self.helper.make_tensor_value_info(name, kind, ["rows", n_columns]))
        return Value(self, name, dtype)

    def output(self, name: str, value: Value, *sizes: int) -> None:
        """Return a value, float64, under a name."""
        kind = self.helper.np_dtype_to_tensor_dtype(np.dtype(np.float64))
        self.nodes.append(self.helper.make_node("Identity", [value.name], [name]))
        self.outputs.append(self.helper.make_tensor_value_info(name, kind, ["rows", *sizes]))

    def to_bytes(self, about: dict[str, Any]) -> bytes:
        """Return the content of the file, checked."""
        graph = self.helper.make_graph(self.nodes, "illume", self.inputs, self.outputs, self.constants)
        model = self.helper.make_model(
            graph,
            opset_imports=[self.helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="illume",
            producer_version=import_module("illume").__version__,
        )
        metadata = {name: json.dumps(value, ensure_ascii=False) for name, value in about.items()}
        self.helper.set_model_props(model, metadata)
        self.onnx.checker.check_model(model, full_check=True)
        return model.SerializeToString(deterministic=True)


def scale_rows(graph: Graph, encoding: Encoding) -> Value:
    """Add the encoding of raw features; return scaled rows, NaN for missing numbers."""
    features = encoding.schema.features
    numbers = [feature for feature in features if feature.numeric]
    texts = [feature for feature in features if not feature.numeric]
    given = graph.input("numbers", np.float64, len(numbers)) if numbers else None
    named = graph.input("categories", object, len(texts)) if texts else None
    blocks = []
    for feature in features:
        if feature.numeric and given and not feature.constant:
            blocks.append(given.take([numbers.index(feature)]))
        elif named and not feature.numeric and not feature.constant:
            blocks.append(_add_indicators(graph, named.take([texts.index(feature)]), feature))
    return (graph("Concat", *blocks, axis=1) - encoding.mean) / encoding.scale


def fill_missing(graph: Graph, scaled: Value) -> tuple[Value, Value]:
    """Return encoded rows and which of their inputs were missing."""
    missing = graph("IsNaN", scaled)
    return graph("Where", missing, 0.0, scaled).clip(-FARTHEST, FARTHEST), missing


def _add_indicators(graph: Graph, column: Value, feature: Feature) -> Value:
    """Return one column for each category; unknown categories belong to the open one, if there is one."""
    if len(set(feature.labels)) < len(feature.labels):
        raise ExportError(
            f"column {feature.name!r} has categories of the same text among {feature.labels[:8]}; use ",
            Setting("inputs", "encoded"),
        )
    same = graph("Equal", column, [feature.labels]).cast(np.float64)
    if not feature.open:
        return same
    other = [[float(str(value) == "(other)") for value in feature.categories]]
    return same + (same.sum(1, keepdims=1) - 1.0) * np.negative(other)


def _add_forward_pass(graph: Graph, parts: ForwardPass, rows: Value, P: Value | None) -> None:
    """Add the forward pass: the network is float32, sums after it float64; `P` is the model's, if given."""
    ((k, m), c), (X, missing) = (parts.shape, len(parts.coef)), fill_missing(graph, rows)
    if parts.forward.constant:
        W = parts.forward.unit_maps(np.zeros((1, m)), parts.alpha)[0]
        slopes, Z, level = X.unsqueeze(1) * 0.0 + parts.coef @ W, X @ W.T, None
    else:
        slopes, Z, level = _add_maps(graph, parts, X)
    values = slopes * X.unsqueeze(1)
    outputs, scores = parts.outputs, values.sum(2) + parts.intercept
    offset = scores * 0.0
    if level is not None:  # of the row itself, which no contribution holds
        Z, offset = Z + level, level @ parts.coef.T
        scores += offset
    Q = ANSWERS[outputs.link](scores, c)
    if parts.shapley is not None:
        scores = SCORES[outputs.link](Q if P is None else P, parts.shapley.scale.least, c)
        offset = scores * 0.0
        values = _add_shapley_values(graph, parts.shapley, X, missing, scores)
    elif parts.membership is not None:
        values @= parts.membership
    if parts.sign < 0:
        slopes, values, offset = slopes * -1.0, values * -1.0, offset * -1.0
        scores = scores * -1.0 + parts.whole
    graph.output("slopes", slopes, c, m)
    graph.output("contributions", values, c, parts.n_features)
    graph.output("score" if outputs.link == PROBABILITY else outputs.words[0], scores, c)
    graph.output("offset", offset, c)
    graph.output(outputs.words[1], Q, len(outputs))
    graph.output("latents", Z, k)


def _softmax(scores: Value, c: int) -> Value:
    both = scores.graph("Concat", scores * 0.0, scores, axis=1) if c == 1 else scores
    return scores.graph("Softmax", both, axis=1)


def _log_odds(P: Value, least: float, c: int) -> Value:
    logs = P.graph("Log", P.clip(least, 1.0 - least))
    return logs.take([1]) - logs.take([0]) if c == 1 else logs - P.graph("ReduceMean", logs, [1])


def _shares(P: Value, _: float, c: int) -> Value:
    return P.take([1]) if c == 1 else P


# Answers of scores, and scores of answers, by the link of the outputs
ANSWERS: dict[str, Callable[[Value, int], Value]] = {
    LOG_ODDS: _softmax,
    PROBABILITY: _softmax,  # the surrogate's own scores are log-odds
    "identity": lambda scores, _: scores,
    "log": lambda scores, _: scores.graph("Exp", scores),
}
SCORES: dict[str, Callable[[Value, float, int], Value]] = {
    LOG_ODDS: _log_odds,
    PROBABILITY: _shares,
    "identity": lambda P, _, __: P,
    "log": lambda P, _, __: P.graph("Log", P),
}


def _add_maps(graph: Graph, parts: ForwardPass, X: Value) -> tuple[Value, Value, Value | None]:
    """Return slopes, latents and levels, if there are any, from the network that gives every row its map."""
    h, bins, forward = X.clip(-LARGEST, LARGEST).cast(np.float32), parts.bins, parts.forward
    if len(bins):
        deep = ((h.take(bins.column) - bins.low) * bins.steepness).clip(0.0, 1.0)
        h = graph("Concat", h, (deep - 0.5) * HEIGHT, axis=1)
    *hidden, last = forward.layers
    for layer in hidden:
        h = graph("Relu", graph("Gemm", h, *layer))
    level = None if forward.level is None else graph("Gemm", h, *forward.level).cast(np.float64)
    V = graph("Gemm", h, *last).reshape(-1, parts.shape[0], len(last[1]) // parts.shape[0])
    if forward.basis is not None:
        V = V @ forward.basis + forward.base
    if parts.alpha < parts.shape[1]:
        _, index = graph("TopK", graph("Abs", V), [parts.alpha], n=2, axis=2)
        largest = graph("GatherElements", V, index, axis=2)
        V = graph("ScatterElements", graph("ConstantOfShape", graph("Shape", V)), index, largest, axis=2)
    V = V.cast(np.float64)
    length = graph("Max", graph("ReduceL2", V, [2], keepdims=0), EPSILON)
    Z = graph("Squeeze", V @ X.unsqueeze(2), [2]) / length
    return graph("Div", parts.coef, length.unsqueeze(1)) @ V, Z, level


def _add_shapley_values(graph: Graph, model: ShapleyModel, X: Value, missing: Value, scores: Value) -> Value:
    """Return Shapley values (rows, outputs, features) that add up to the scores."""
    arrays = shapley_arrays(model)
    embedded = _embed(graph, arrays, X.cast(np.float32), missing)
    values = _add_value_network(graph, arrays, embedded).cast(np.float64) * arrays["unit"]
    remainder = scores - arrays["base"] - values.sum(1)
    values = graph("Transpose", values + remainder.unsqueeze(1) * model.errors.share, perm=[0, 2, 1])
    features = model.coding.features
    if len(features) == model.n_features:
        return values
    place = np.full(model.n_features, len(features))
    place[features] = np.arange(len(features))  # ignored features take a column of zeros
    return graph("Gather", graph("Pad", values, [0, 0, 0, 0, 0, 1]), place, axis=2)


def _embed(graph: Graph, arrays: dict[str, Any], X: Value, missing: Value) -> Value:
    """Return main values and embeddings (rows, features, c + d), float32; see `shapley_arrays`."""
    blocks = []
    if len(inputs := arrays["number_inputs"]):
        inside = ((X.take(inputs).unsqueeze(2) - arrays["low"]) * arrays["steepness"]).clip(0.0, 1.0)
        # Not MatMul: on batches without rows onnxruntime divides by zero.
        numbers = graph("Einsum", inside, arrays["rise"], equation="npb,pbe->npe") + arrays["start"]
        gone = missing.take(inputs).unsqueeze(2)
        gone.dtype = X.dtype
        blocks.append(graph("Where", gone, arrays["number_missing"], numbers))
    if len(places := arrays["category_missing"]):
        has = graph("Greater", X.take(arrays["category_inputs"]) + arrays["category_mean"], 0.5)
        own = arrays["category_owner"][:, None] == np.arange(len(places))
        steps = np.where(own, arrays["category_step"][:, None], 0.0)
        at = (has.cast(np.float64) @ steps).cast(np.int64) + places
        blocks.append(graph("Gather", arrays["nodes"].astype(np.float32), at))
        blocks[-1].dtype = X.dtype
    return graph("Concat", *blocks, axis=1).take(arrays["order"])


def _add_value_network(graph: Graph, arrays: dict[str, Any], embedded: Value) -> Value:
    """Return values (rows, features, outputs) before they are made to add up, float32."""
    m, c = arrays["constant"].shape
    d, units = arrays["nodes"].shape[1] - c, arrays["first"].shape[1] // 3
    main, own = graph("Split", embedded, [c, d], n=2, axis=2)
    hidden = graph("Gemm", own.reshape(-1, m * d), arrays["first"], arrays["first_bias"])
    gate, value, rest = graph("Split", hidden, [units] * 3, n=3, axis=1)
    context = graph("Concat", gate * graph("Sigmoid", gate) * value, rest, axis=1)
    coefficients = graph("Gemm", context, arrays["last"], arrays["last_bias"]).reshape(-1, m, d, c)
    return (coefficients * own.unsqueeze(3)).sum(2) + main + arrays["constant"]
