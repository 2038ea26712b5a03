"""Reads the trees of boosting libraries and forests, as nodes that test the model's own columns."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import as_frame

Columns = Callable[[Any], FloatArray]


class UnreadableError(Exception):
    """A model cannot be read; the text says why, in a few words."""


@dataclass(frozen=True, eq=False)
class ColumnTrees:
    """Trees whose nodes test columns of the matrix that the model sees.

    Parameters
    ----------
    column, threshold, strict
        A row goes left at a node, (N,), if its column is at most the threshold; below it where `strict`.
    missing_left
        Whether missing numbers go left, (N,).
    choice, choices
        Which set of categories goes left at a node instead, (N,); -1 without one.
    value, base
        What leaves add to each raw score, (N, s), and what the sum of all trees is added to, (s,).
    link
        How the model makes its answer of raw scores: `logistic`, `softmax`, `identity` or `exp`.
    single, precise
        Whether the model compares in single precision, and whether it adds up in double precision.
    columns
        From a user's rows, as the model is given them, to the matrix (n, n_columns) of its columns.
    """

    roots: IntArray
    left: IntArray
    right: IntArray
    column: IntArray
    threshold: FloatArray
    strict: bool
    missing_left: BoolArray
    choice: IntArray
    choices: tuple[frozenset[int], ...]
    value: FloatArray
    base: FloatArray
    link: str
    single: bool
    precise: bool
    columns: Columns

    def goes_left(self, nodes: IntArray, values: FloatArray) -> BoolArray:
        """Return whether rows with these values of a node's column go left there; shapes are broadcast."""
        if self.single:
            with np.errstate(over="ignore"):
                values = values.astype(np.float32).astype(np.float64)
        threshold = self.threshold[nodes]
        left = np.asarray(values < threshold if self.strict else values <= threshold)
        chosen = np.broadcast_to(self.choice[nodes], left.shape)
        if (some := chosen >= 0).any():
            table, codes = self._choice_table, np.broadcast_to(values, left.shape)
            with np.errstate(invalid="ignore"):
                known = some & (codes >= 0) & (codes < table.shape[1])
            left = np.where(some, False, left)
            left[known] = table[chosen[known], codes[known].astype(np.intp)]
        missing = np.isnan(values)
        return np.where(missing, self.missing_left[nodes], left) if missing.any() else left

    @cached_property
    def _choice_table(self) -> BoolArray:
        """Which codes are in each set, (n_sets, n_codes)."""
        table = np.zeros(
            (len(self.choices), 1 + max(map(max, filter(None, self.choices)), default=0)), dtype=bool
        )
        for choice, codes in zip(table, self.choices, strict=True):
            choice[list(codes)] = True
        return table


class _Nodes:
    """Collects the nodes of several trees."""

    def __init__(self) -> None:
        self.roots: list[int] = []
        self.parts: list[dict[str, Any]] = []
        self.choices: list[frozenset[int]] = []
        self.n = 0

    def add(
        self,
        left: Any,
        right: Any,
        column: Any,
        threshold: Any,
        *,
        value: FloatArray,
        missing_left: Any = None,
        choice: Any = None,
    ) -> None:
        """Add one tree, whose first node is its root; children of leaves are negative."""
        left, right = (np.asarray(child, dtype=np.intp) for child in (left, right))
        n, inner = len(left), left >= 0
        self.parts.append({
            "left": np.where(inner, left + self.n, -1),
            "right": np.where(inner, right + self.n, -1),
            "column": np.where(inner, column, 0).astype(np.intp),
            "threshold": np.asarray(threshold, dtype=np.float64),
            "value": np.where(inner[:, None], 0.0, value),
            "missing_left": np.zeros(n, dtype=bool) if missing_left is None else np.array(missing_left, bool),
            "choice": np.full(n, -1) if choice is None else np.asarray(choice, dtype=np.intp),
        })  # fmt: skip
        self.roots.append(self.n)
        self.n += n

    def scale(self, factor: float) -> None:
        """Multiply what leaves add."""
        for part in self.parts:
            part["value"] *= factor

    def trees(
        self,
        base: FloatArray,
        link: str,
        columns: Columns,
        *,
        strict: bool = False,
        single: bool = True,
        precise: bool = True,
    ) -> ColumnTrees:
        """Return all trees together."""
        if not self.parts:
            raise UnreadableError("it has no trees")
        joined = {name: np.concatenate([part[name] for part in self.parts]) for name in self.parts[0]}
        roots = np.array(self.roots, dtype=np.intp)
        base = np.broadcast_to(np.asarray(base, dtype=np.float64), joined["value"].shape[1:])
        return ColumnTrees(
            roots=roots,
            **joined,
            strict=strict,
            choices=tuple(self.choices),
            base=base,
            link=link,
            single=single,
            precise=precise,
            columns=columns,
        )


def read_trees(model: Any) -> ColumnTrees | None:
    """Read a fitted model's trees; None if it is none of the known kinds.

    Raise `UnreadableError` where it is, but its answers are not a sum of trees.
    """
    libraries = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    if "xgboost" in libraries:
        return _read_xgboost(model)
    if "lightgbm" in libraries:
        return _read_lightgbm(model)
    if "catboost" in libraries:
        return _read_catboost(model)
    return _read_sklearn(model) if "sklearn" in libraries else None


LINKS = {
    "sigmoid": "logistic",
    "softmax": "softmax",
    "identity": "identity",
    "identity_multiclass": "softmax",
    "exponential": "exp",
}


def _from_treelite(model: Any, columns: Columns, *, single: bool) -> ColumnTrees:
    """Read a treelite model: each tree adds to one raw score."""
    header = model.get_header_accessor()
    name = str(header.get_field("postprocessor"))
    if name not in LINKS:
        raise UnreadableError(f"its answers are made by {name!r}")
    if name == "sigmoid" and float(header.get_field("sigmoid_alpha")[0]) != 1.0:
        raise UnreadableError("its sigmoid is scaled")
    n_outputs = int(header.get_field("num_class")[0]) * int(header.get_field("num_target")[0])
    if int(header.get_field("leaf_vector_shape")[1]) > 1:
        raise UnreadableError("its leaves hold several numbers")
    outputs = np.maximum(header.get_field("class_id"), header.get_field("target_id"))
    nodes = _Nodes()
    strict = False
    for i in range(model.num_tree):
        get = model.get_tree_accessor(i).get_field
        left, operators = np.array(get("cleft")), np.array(get("cmp"))
        strict |= bool((operators == LESS).any())
        value = np.zeros((len(left), n_outputs))
        value[:, max(int(outputs[i]), 0)] = get("leaf_value")
        if n_outputs == 1:
            value[:, 0] = get("leaf_value")
        missing_left, choice = np.array(get("default_left"), dtype=bool), np.full(len(left), -1)
        right = np.array(get("cright"))
        _read_choices(get, nodes.choices, (left, right, missing_left, choice))
        nodes.add(
            left, right, get("split_index"), get("threshold"),
            value=value, missing_left=missing_left, choice=choice,
        )  # fmt: skip
    if header.get_field("average_tree_output")[0]:
        nodes.scale(n_outputs / model.num_tree)
    base = np.resize(np.array(header.get_field("base_scores"), dtype=np.float64), n_outputs)
    return nodes.trees(base, LINKS[name], columns, strict=strict, single=single, precise=not single)


def _read_choices(
    get: Any, choices: list[frozenset[int]], parts: tuple[Any, Any, BoolArray, IntArray]
) -> None:
    """Read the sets of categories that nodes of a treelite tree test into `parts` of it."""
    left, right, missing_left, choice = parts
    for node in np.flatnonzero(np.array(get("node_type")) == CATEGORICAL):
        begin, end = (int(get(f"category_list_{edge}")[node]) for edge in ("begin", "end"))
        choice[node] = len(choices)
        choices.append(frozenset(np.array(get("category_list"))[begin:end].tolist()))
        if get("category_list_right_child")[node]:  # the list names those that go right
            left[node], right[node] = right[node], left[node]
            missing_left[node] = not missing_left[node]


LESS, CATEGORICAL = 2, 2  # treelite's numbers for the operator < and for nodes that test categories


def _read_xgboost(model: Any) -> ColumnTrees:
    import treelite

    booster = model.get_booster() if hasattr(model, "get_booster") else model
    best = getattr(booster, "best_iteration", None) if "best_iteration" in booster.attributes() else None
    told = json.loads(bytes(booster.save_raw("json")))
    cats = told["learner"]["gradient_booster"].get("model", {}).get("cats", {})  # of all trees, not of a part
    if best is not None:
        told = json.loads(bytes(booster[: int(best) + 1].save_raw("json")))
    learner = told["learner"]
    kind = learner["gradient_booster"]["name"]
    if kind != "gbtree":
        raise UnreadableError(f"its booster is {kind!r}, not a sum of trees")
    inside = learner["gradient_booster"]["model"]
    categories = _xgboost_categories(cats)
    inside["cats"] = {"enc": [], "feature_segments": [], "sorted_idx": []}  # which treelite does not read
    try:
        read = treelite.frontend.from_xgboost_json(json.dumps(told))
    except treelite.TreeliteError as error:
        raise UnreadableError(f"treelite does not read it ({str(error).splitlines()[-1][:80]})") from error
    return _from_treelite(read, lambda rows: coded_columns(rows, categories), single=True)


def _xgboost_categories(told: dict[str, Any]) -> dict[int, list[Any]]:
    """Return the categories of each column that has some, in the order of their codes."""
    found = {}
    for j, each in enumerate(told.get("enc", [])):
        values, offsets = each.get("values", []), each.get("offsets")
        if offsets:
            text = bytes(value & 0xFF for value in values)
            ends = pairwise(offsets)
            found[j] = [text[start:stop].decode() for start, stop in ends]
        elif values:
            found[j] = list(values)
    return found


def _read_lightgbm(model: Any) -> ColumnTrees:
    import treelite

    booster = getattr(model, "booster_", model)
    text = booster.model_to_string(num_iteration=booster.best_iteration or -1)
    if "\nis_linear=1\n" in text:
        raise UnreadableError("its leaves hold linear models")
    try:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.txt"
            path.write_text(text)
            read = treelite.frontend.load_lightgbm_model(path)
    except treelite.TreeliteError as error:
        raise UnreadableError(f"treelite does not read it ({str(error).splitlines()[-1][:80]})") from error
    lists = booster.pandas_categorical or []
    return _from_treelite(read, lambda rows: coded_columns(rows, list(lists)), single=False)


def coded_columns(rows: Any, categories: dict[int, list[Any]] | list[list[Any]]) -> FloatArray:
    """Return rows as numbers; categories by their position in a model's own lists, NaN if they are in none.

    A mapping names the columns that have a list; a plain list has one for each categorical column, in order.
    """
    if not hasattr(rows, "columns"):
        return np.asarray(rows, dtype=np.float64)
    plain = as_frame(rows)
    block = None if categories else plain.block(plain.names)
    if block is not None:
        return block
    frame = nw.from_native(rows, eager_only=True)
    labels = (nw.Categorical, nw.Enum, nw.String, nw.Object)
    found = np.empty((len(frame), len(frame.columns)))
    if isinstance(categories, list):
        named = [j for j, dtype in enumerate(frame.schema.dtypes()) if dtype in labels]
        categories = dict(zip(named, categories, strict=False))
    for j, name in enumerate(frame.columns):
        column = frame[name]
        if j in categories:
            position = {value: code for code, value in enumerate(categories[j])}
            found[:, j] = [position.get(value, np.nan) for value in column.to_list()]
        elif column.dtype in labels:
            raise UnreadableError(f"it does not say how it codes the categories of {name!r}")
        else:
            found[:, j] = column.cast(nw.Float64).to_numpy()
    return found


def plain_columns(rows: Any) -> FloatArray:
    """Return rows of numbers as an array."""
    return coded_columns(rows, {})


def _read_catboost(model: Any) -> ColumnTrees:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        told = json.loads(path.read_text())
    if "oblivious_trees" not in told:
        raise UnreadableError("its trees are not symmetric")
    features = told["features_info"]
    if features.get("categorical_features") or features.get("text_features") or features.get("ctrs"):
        raise UnreadableError("CatBoost turns its categories into statistics of the labels")
    numbers = features["float_features"]
    scale, bias = told["scale_and_bias"]
    position = {each["feature_index"]: each["flat_feature_index"] for each in numbers}
    treatment = {each["flat_feature_index"]: each.get("nan_value_treatment", "AsIs") for each in numbers}
    n_outputs = len(np.atleast_1d(bias))
    nodes = _Nodes()
    for tree in told["oblivious_trees"]:
        splits = tree["splits"] or []
        values = np.asarray(tree["leaf_values"], dtype=np.float64).reshape(1 << len(splits), -1)
        if any(split["split_type"] != "FloatFeature" for split in splits):
            raise UnreadableError("it splits by categories")
        _add_oblivious(nodes, splits, values * scale, position, treatment)
        n_outputs = values.shape[1]
    loss = str(model.get_all_params().get("loss_function", ""))
    links = {"Logloss": "logistic", "CrossEntropy": "logistic", "MultiClass": "softmax", "Poisson": "exp"}
    base = np.resize(np.atleast_1d(np.asarray(bias, dtype=np.float64)), n_outputs)
    return nodes.trees(base, links.get(loss, "identity"), plain_columns)


def _add_oblivious(
    nodes: _Nodes, splits: list[Any], values: FloatArray, position: dict[int, int], treatment: dict[int, str]
) -> None:
    """Add a tree with one test for each depth; bit i of a leaf says that split i is exceeded."""
    depth = len(splits)
    n = (1 << depth + 1) - 1
    level = np.floor(np.log2(np.arange(1, n + 1))).astype(int)
    inner = level < depth
    # The last split is tested first, so that the leaves stand in the order of their numbers.
    split = [splits[depth - 1 - k] if k < depth else None for k in level]
    column = np.array([position[each["float_feature_index"]] if each else 0 for each in split])
    left = np.where(inner, 2 * np.arange(n) + 1, -1)
    value = np.zeros((n, values.shape[1]))
    value[~inner] = values
    nodes.add(
        left,
        np.where(inner, left + 1, -1),
        column,
        [each["border"] if each else 0.0 for each in split],
        value=value,
        missing_left=[treatment.get(int(j), "AsIs") != "AsTrue" for j in column],
    )


def _read_sklearn(model: Any) -> ColumnTrees | None:
    kind = type(model).__name__
    if hasattr(model, "_predictors") and hasattr(model, "_baseline_prediction"):
        return _read_histograms(model)
    if hasattr(model, "tree_"):
        return _read_forest([model], model)
    if "GradientBoosting" in kind:
        return _read_boosting(model)
    if "Forest" in kind and hasattr(model, "estimators_") and kind != "IsolationForest":
        return _read_forest(list(model.estimators_), model)
    if "ExtraTrees" in kind and hasattr(model, "estimators_"):
        return _read_forest(list(model.estimators_), model)
    return None


def _add_tree(nodes: _Nodes, tree: Any, value: FloatArray) -> None:
    missing = getattr(tree, "missing_go_to_left", None)
    nodes.add(
        tree.children_left, tree.children_right, tree.feature, tree.threshold,
        value=value, missing_left=missing,
    )  # fmt: skip


def _read_forest(trees: list[Any], model: Any) -> ColumnTrees:
    """Read trees whose answers are averaged; of two classes, the probability of the second."""
    nodes = _Nodes()
    for each in trees:
        value = each.tree_.value
        if hasattr(model, "classes_"):
            if value.shape[1] > 1:
                raise UnreadableError("it answers several questions at once")
            value = value[:, 0] / value[:, 0].sum(1, keepdims=True)
            value = value[:, 1:] if value.shape[1] == 2 else value
        else:
            value = value[:, :, 0]
        _add_tree(nodes, each.tree_, value / len(trees))
    return nodes.trees(np.zeros(1), "identity", plain_columns)


def _read_boosting(model: Any) -> ColumnTrees:
    """Read scikit-learn's GradientBoosting; the first estimator must answer with a constant."""
    nodes, n_outputs = _Nodes(), model.estimators_.shape[1]
    classifier = hasattr(model, "classes_")
    factor = 2.0 if classifier and model.loss == "exponential" else 1.0
    for stage in model.estimators_:
        for c, each in enumerate(stage):
            value = np.zeros((each.tree_.node_count, n_outputs))
            value[:, c] = factor * model.learning_rate * each.tree_.value[:, 0, 0]
            _add_tree(nodes, each.tree_, value)
    two = np.zeros((2, model.n_features_in_))
    two[1] = 1.0
    first = factor * np.asarray(model._raw_predict_init(two), dtype=np.float64)
    if not np.array_equal(first[0], first[1]):
        raise UnreadableError("it starts from another model's answers")
    link = ("softmax" if n_outputs > 1 else "logistic") if classifier else "identity"
    return nodes.trees(first[0], link, plain_columns)


def _read_histograms(model: Any) -> ColumnTrees:
    """Read scikit-learn's HistGradientBoosting; text categories have codes of their own there."""
    nodes, n_outputs = _Nodes(), model.n_trees_per_iteration_
    for stage in model._predictors:
        for c, each in enumerate(stage):
            table = each.nodes
            inner = ~table["is_leaf"].astype(bool)
            value = np.zeros((len(table), n_outputs))
            value[:, c] = table["value"]
            choice = np.full(len(table), -1)
            for node in np.flatnonzero(inner & table["is_categorical"].astype(bool)):
                choice[node] = len(nodes.choices)
                bits = each.raw_left_cat_bitsets[table["bitset_idx"][node]]
                codes = np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little"))
                nodes.choices.append(frozenset(codes.tolist()))
            nodes.add(
                np.where(inner, table["left"].astype(np.intp), -1),
                np.where(inner, table["right"].astype(np.intp), -1),
                table["feature_idx"],
                table["num_threshold"],
                value=value,
                missing_left=table["missing_go_to_left"],
                choice=choice,
            )
    base = np.ravel(model._baseline_prediction)
    classifier = hasattr(model, "classes_")
    link = ("softmax" if n_outputs > 1 else "logistic") if classifier else "identity"
    if not classifier and model.loss in ("poisson", "gamma"):
        link = "exp"
    coder = getattr(model, "_preprocessor", None)
    columns = plain_columns if coder is None else lambda rows: np.asarray(coder.transform(rows), float)
    return nodes.trees(base, link, columns, single=False)
