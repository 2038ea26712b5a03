"""SENECA-RB: a full decision tree decides; the paths of its leaves are the truth.

The tree and its rows depend on the number of informative columns and the problem's number,
uninformative columns on theirs too, the split on the seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from benchmarks.data.problem import Facts, Problem, Truth, add_noise, pad
from illume._typing import BoolArray, FloatArray, IntArray

N_ROWS = 2048
NOISE = 10.0
STREAM = 2  # keeps the numbers apart from those of SENECA-RC


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves of a tree: their boxes low < x <= high, labels, and the side they need at each split."""

    node: IntArray  # (l,) number of the leaf in the tree
    low: FloatArray  # (l, t)
    high: FloatArray
    label: IntArray
    left: BoolArray  # (l, s) the path takes the lower side of split s
    right: BoolArray


def generate(t: int, number: int) -> tuple[DecisionTreeClassifier, FloatArray, IntArray]:
    """Return the tree, rows (2048, t) and their labels, which the tree knows by heart.

    Rows are exact in single precision, since that is how trees compare them.
    """
    rng = np.random.default_rng([STREAM, t, number])
    state, tree_state = (int(s) for s in rng.integers(2**31, size=2))
    X, y = make_classification(
        n_samples=N_ROWS, n_features=t, n_informative=t, n_redundant=0, n_repeated=0, n_clusters_per_class=1,
        random_state=state,
    )  # fmt: skip
    X = StandardScaler().fit_transform(X + NOISE * rng.uniform(size=X.shape))
    X = X.astype(np.float32).astype(float)
    labels = KNeighborsClassifier(3).fit(X, y).predict(X)
    return DecisionTreeClassifier(random_state=tree_state).fit(X, labels), X, labels


def problem(name: str, t: int, u: int, number: int, *, seed: int, protocol: str) -> Problem:
    """Return problem `number` with t informative and u uninformative columns."""
    tree, X, labels = generate(t, number)
    leaves = leaves_of(tree)

    def truth(test: IntArray) -> Truth:
        own, other = paths(tree, leaves, X[test])
        bounds = {
            "low": leaves.low[own], "high": leaves.high[own],
            "counter_low": leaves.low[other], "counter_high": leaves.high[other],
        }  # fmt: skip
        ends = {key: np.inf if "high" in key else -np.inf for key in bounds}
        return Truth("box", **{key: pad(value, t + u, ends[key]) for key, value in bounds.items()})

    rows = add_noise(X, u, np.random.default_rng([STREAM, t, number, u]))
    return Facts(rows, labels, t, tree, truth).problem(name, seed, protocol)


def leaves_of(classifier: DecisionTreeClassifier) -> Leaves:
    """Return the leaves; a node comes after its parent, so one pass over the nodes will do."""
    tree, t = classifier.tree_, classifier.n_features_in_
    n = tree.node_count
    low, high = np.full((n, t), -np.inf), np.full((n, t), np.inf)
    sides = np.zeros((2, n, n), dtype=bool)  # lower or upper side, node, split
    for node in np.flatnonzero(tree.children_left >= 0):
        children = [tree.children_left[node], tree.children_right[node]]
        low[children], high[children], sides[:, children] = low[node], high[node], sides[:, [node]]
        feature, threshold = tree.feature[node], tree.threshold[node]
        high[children[0], feature] = threshold  # never looser than the bound it replaces
        low[children[1], feature] = threshold
        sides[0, children[0], node] = sides[1, children[1], node] = True
    leaf = np.flatnonzero(tree.children_left < 0)
    label = tree.value[leaf, 0].argmax(axis=1)
    return Leaves(leaf, low[leaf], high[leaf], label, sides[0, leaf], sides[1, leaf])


def paths(classifier: DecisionTreeClassifier, leaves: Leaves, X: FloatArray) -> tuple[IntArray, IntArray]:
    """Return for each row its leaf and the nearest leaf of another label, as positions in `leaves`.

    Nearest: the fewest splits on the leaf's path that send the row the other way, then the least
    Euclidean distance between row and box.
    """
    own = np.searchsorted(leaves.node, classifier.apply(X))
    tree = classifier.tree_
    lower = X[:, np.maximum(tree.feature, 0)] <= tree.threshold
    broken = lower.astype(float) @ leaves.right.T + (~lower).astype(float) @ leaves.left.T
    broken[leaves.label == leaves.label[own][:, None]] = np.inf
    fewest = broken == broken.min(axis=1, keepdims=True)
    return own, np.where(fewest, box_distances(X, leaves.low, leaves.high), np.inf).argmin(axis=1)


def box_distances(X: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return how far each row is from each box, (n, l)."""
    squares = np.zeros((len(X), len(low)))
    for column in range(X.shape[1]):
        x = X[:, column][:, None]
        squares += np.maximum(np.maximum(low[:, column] - x, x - high[:, column]), 0.0) ** 2
    return np.sqrt(squares)
