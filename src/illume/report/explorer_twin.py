"""What stands for the model in a page, as plain values: its trees or terms, or networks that learned it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from illume._typing import IntArray
from illume.data.sampling import evenly_spaced
from illume.errors import ExportError, LeftOutError, Setting
from illume.explanations.fitted import Fitted
from illume.report.explorer_values import categories_in_page
from illume.report.payload import Json, pack
from illume.report.squeeze import squeeze, squeeze_codes, squeeze_numbers, squeeze_rounded
from illume.report.words import count
from illume.results.text import plain_value
from illume.twin.exact import ExactTwin, Trees
from illume.twin.forest import Forest
from illume.twin.network_arrays import arrays_of
from illume.twin.read_linear import Linear
from illume.twin.shapley_model import ShapleyModel

# Matrices were rounded in fit, and are kept exactly. Those of explainers from before that are rounded here:
# what is computed with them is off by a few millionths of a row's largest number, as it is by single
# precision. Tables are added as they are.
WEIGHT_BITS = 19
NETWORK_BITS = {"nodes": 22, "first": WEIGHT_BITS, "last": WEIGHT_BITS}

MOST_CODES = 200_000  # of background rows that a page carries, about as many bytes
MOST_STEPS = 40_000_000  # nodes times background rows: a third of a second when the page opens
FEWEST_ROWS = 100
LEARNED = Setting("twin", "learned")
MOST_PLAYERS = 30  # bits of a whole number in a browser


def twin_data(twin: Any) -> Json:
    """Return a twin for a page; an exact one has few enough background rows already, see `thinned`."""
    if isinstance(twin, ExactTwin):
        parts = trees_data(twin) if isinstance(twin.parts, Trees) else linear_data(twin)
        return parts | {"exact": True, "centred": twin.centred, "n_outputs": twin.parts.n_outputs}
    return learned_data(twin.model) | {"kind": "learned", "exact": False, "centred": False}


def for_page(fitted: Fitted, hold_model: bool) -> tuple[Fitted, int]:
    """Return an explainer whose twin a page can hold, and how many background rows that has.

    An exact twin gives the model away: with `hold_model` False there must be a learned one.
    """
    twin, n_background = fitted.twin, fitted.quality.n_background
    if fitted.kind == "pullback":
        raise ExportError(
            "an explorer computes Shapley values of what was read or learned from the model; fit with "
            "contributions='shapley' to have one"
        )
    if not isinstance(twin, ExactTwin):
        return fitted, n_background
    if not hold_model:
        raise ExportError(
            Setting("hold_model", value=False),
            " leaves the model out of the page, and this explainer has no learned twin to answer in its "
            "place, as it read the model exactly; fit with ",
            LEARNED,
        )
    if not isinstance(twin.parts, Trees):
        return fitted, n_background
    if twin.background is None:
        raise LeftOutError(
            "an explorer compares with background rows, and the explainer was saved with ",
            Setting("rows", "none"),
            "; save it with rows to have one",
        )
    small = thinned(twin)
    return (fitted if small is twin else replace(fitted, twin=small)), small.background.shape[1]


def holds(twin: Any) -> str:
    """Say what an exact twin holds, such as `300 trees`; empty if it is a learned one."""
    if not isinstance(twin, ExactTwin):
        return ""
    return count(len(twin.parts.forest.roots), "tree") if isinstance(twin.parts, Trees) else "weights"


def thinned(twin: ExactTwin) -> ExactTwin:
    """Return trees whose background is small enough for a page.

    Of too many rows, evenly spaced ones are kept: contributions are then against those, in all of the page.
    """
    m, n = twin.background.shape
    most = min(MOST_CODES // max(m, 1), MOST_STEPS // len(twin.parts.forest.left))  # type: ignore[attr-defined]
    kept = evenly_spaced(n, max(most, FEWEST_ROWS))
    return twin if len(kept) == n else replace(twin, background=twin.background[:, kept], stored=None)


def trees_data(twin: ExactTwin) -> Json:
    """Return trees, how rows are coded for them, and the codes of the background rows."""
    trees: Trees = twin.parts  # type: ignore[assignment]
    forest, codes = trees.forest, trees.codes
    if deepest_path(forest) > MOST_PLAYERS:
        raise ExportError(
            f"a path of the model's trees tests more than {MOST_PLAYERS} features, which a page cannot "
            "compute with; fit with ",
            LEARNED,
        )
    order = preorder(forest)
    leaf = forest.left[order] < 0
    inner = order[~leaf]
    return {
        "kind": "trees",
        "feature": squeeze_codes(np.where(leaf, forest.n_features, forest.feature[order])),
        "rank": squeeze_codes(np.clip(forest.rank[inner], -2, codes.n_codes) + 2),
        "missing_left": squeeze_codes(forest.missing_left[inner].astype(np.uint8)),
        "choice": squeeze_codes(forest.choice[inner] + 1),
        "choices": squeeze_codes(forest.choices.astype(np.uint8).ravel()),
        "width": forest.choices.shape[1],
        **_leaf_values(forest, order[leaf]),
        "start": squeeze(np.broadcast_to(trees.start, (forest.n_outputs,)), "f8"),
        "cuts": squeeze_numbers(np.concatenate([np.empty(0), *codes.cuts])),
        "n_cuts": [len(each) for each in codes.cuts],
        "categories": _categories(codes.schema, codes.categories),
        "background": squeeze_codes(twin.background + 1),
    }


def _leaf_values(forest: Forest, leaves: IntArray) -> Json:
    """Return what leaves add: one number each, and the output of each tree, where trees have one output."""
    values = forest.value[leaves]
    tree = np.searchsorted(np.sort(forest.roots), leaves, side="right") - 1
    sums = np.zeros((len(forest.roots), forest.n_outputs), dtype=bool)
    np.logical_or.at(sums, tree, values != 0)
    if (sums.sum(1) > 1).any() or not np.array_equal(forest.roots, np.sort(forest.roots)):
        return {"output": None, "value": squeeze_numbers(values.ravel())}
    output = sums.argmax(1)
    return {
        "output": squeeze_codes(output),
        "value": squeeze_numbers(values[np.arange(len(leaves)), output[tree]]),
    }


def preorder(forest: Forest) -> IntArray:
    """Return all nodes, tree by tree: each before its left part, and that before its right part."""
    levels, level = [forest.roots], forest.roots
    while len(level := level[forest.left[level] >= 0]):
        level = np.concatenate([forest.left[level], forest.right[level]])
        levels.append(level)
    size = np.ones(len(forest.left), dtype=np.intp)
    for nodes in reversed(levels):
        inner = nodes[forest.left[nodes] >= 0]
        size[inner] += size[forest.left[inner]] + size[forest.right[inner]]
    place = np.zeros(len(forest.left), dtype=np.intp)
    place[forest.roots] = np.cumsum(size[forest.roots]) - size[forest.roots]
    for nodes in levels:
        inner = nodes[forest.left[nodes] >= 0]
        place[forest.left[inner]] = place[inner] + 1
        place[forest.right[inner]] = place[inner] + 1 + size[forest.left[inner]]
    every = np.concatenate(levels)
    found = np.empty(len(every), dtype=np.intp)
    found[place[every]] = every
    return found


def deepest_path(forest: Forest) -> int:
    """Return how many features the nodes on one path test at most."""
    nodes, seen = forest.roots, np.zeros((len(forest.roots), forest.n_features), dtype=bool)
    most = 0
    while len(nodes):
        inner = forest.left[nodes] >= 0
        nodes, seen = nodes[inner], seen[inner]
        seen[np.arange(len(nodes)), forest.feature[nodes]] = True
        most = max(most, int(seen.sum(1).max(initial=0)))
        nodes = np.concatenate([forest.left[nodes], forest.right[nodes]])
        seen = np.concatenate([seen, seen])
    return most


def linear_data(twin: ExactTwin) -> Json:
    """Return the terms of a sum, and their means over the background rows."""
    linear: Linear = twin.parts  # type: ignore[assignment]
    return {
        "kind": "linear",
        "categories": _categories(linear.schema, linear.categories),
        "mean": squeeze(twin.against_background.mean, "f8"),  # type: ignore[attr-defined]
        **{
            name: squeeze(getattr(linear, name), "f8")
            for name in ("slopes", "missing", "levels", "intercept")
        },
    }


def _categories(schema: Any, categories: Any) -> list[Any]:
    """Return the categories of each feature in the order of a twin's codes; None for numbers."""
    return [
        None if feature.numeric else categories_in_page(feature, known)
        for feature, known in zip(schema.features, categories, strict=True)
    ]


def learned_data(model: ShapleyModel) -> Json:
    """Return the networks of scores and of Shapley values, and the model of their errors."""
    coding, errors = model.coding, model.errors
    return _network(model.values) | {
        "model": _network(model.network),
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


def _network(network: Any) -> Json:
    return {
        name: squeeze_rounded(array, NETWORK_BITS[name]) if name in NETWORK_BITS else squeeze(array)
        for name, array in arrays_of(network).items()
    }


def place_data(fitted: Fitted) -> Json:
    """Return points that represent the fitted rows, and from which distance to them on a row is far."""
    places = fitted.places()
    return {"anchors": squeeze(places.anchors), "limit": plain_value(places.limit)}
