"""Tree surrogates: scikit-learn's, and the nodes of a fitted one as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from illume._typing import FloatArray, IntArray
from illume.data.scales import NumberScale


@dataclass(eq=False)
class TreeNodes:
    """A fitted tree as arrays; node 0 is the root, and children come after their parents.

    `children_left_` is the child if `z[feature] <= threshold`, `children_right_` the other one, -1 at a leaf;
    `value_` (n_nodes, c) are the answers at each node: the shares of the classes, or mean numbers.

    >>> nodes = TreeNodes(*map(np.array, ([1, -1, -1], [2, -1, -1], [0, -2, -2], [0.5, -2.0, -2.0])),
    ...                   value_=np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]))
    >>> nodes.apply(np.array([[0.5], [0.6]]))
    array([1, 2])
    """

    children_left_: IntArray
    children_right_: IntArray
    feature_: IntArray
    threshold_: FloatArray
    value_: FloatArray

    def fit(self, Z: FloatArray, P: FloatArray) -> Self:
        """Do nothing."""
        return self

    def _take(self, tree: Any, value: FloatArray) -> Self:
        """Take the nodes of a fitted tree of scikit-learn, and their answers (n_nodes, c)."""
        self.children_left_ = np.array(tree.children_left, dtype=np.int64)
        self.children_right_ = np.array(tree.children_right, dtype=np.int64)
        self.feature_ = np.array(tree.feature, dtype=np.int64)
        self.threshold_ = np.array(tree.threshold, dtype=np.float64)
        self.value_ = np.asarray(value, dtype=np.float64)
        return self

    def apply(self, Z: FloatArray) -> IntArray:
        """Return the leaf of every row, compared in float32 as by scikit-learn."""
        largest = np.finfo(np.float32).max
        Z = np.clip(Z, -largest, largest).astype(np.float32)
        node = np.zeros(len(Z), dtype=np.int64)
        rows = np.flatnonzero(self.children_left_[node] >= 0)
        while len(rows):
            at = node[rows]
            left = Z[rows, self.feature_[at]] <= self.threshold_[at]
            node[rows] = np.where(left, self.children_left_[at], self.children_right_[at])
            rows = rows[self.children_left_[node[rows]] >= 0]
        return node

    def answers(self, Z: FloatArray) -> FloatArray:
        """Return the answers of each row's leaf, (n, c)."""
        return self.value_[self.apply(Z)]


class DecisionTreeSurrogate(BaseEstimator, TreeNodes):
    """A scikit-learn decision tree on the black box's decisions.

    `estimator` may be any scikit-learn tree classifier (with `tree_` and `classes_`). A `spare` tree is taken
    only if no other decides for as many classes.
    """

    def __init__(self, estimator: Any = None, spare: bool = False) -> None:
        self.estimator = estimator
        self.spare = spare

    def fit(self, Z: FloatArray, P: FloatArray) -> Self:
        """Grow a clone of the estimator on the black box's decisions."""
        start = DecisionTreeClassifier(random_state=0) if self.estimator is None else self.estimator
        model = clone(start).fit(Z, P.argmax(1))
        value = np.zeros((model.tree_.node_count, P.shape[1]))
        value[:, model.classes_] = model.tree_.value[:, 0, : len(model.classes_)]
        return self._take(model.tree_, value)


class RegressionTreeSurrogate(BaseEstimator, TreeNodes):
    """A scikit-learn regression tree on the black box's numbers; leaves answer with the mean of theirs."""

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def fit(self, Z: FloatArray, P: FloatArray) -> Self:
        """Grow a clone of the estimator on standardised numbers."""
        scale = NumberScale.fit(P)
        start = DecisionTreeRegressor(random_state=0) if self.estimator is None else self.estimator
        tree = clone(start).fit(Z, scale(P)).tree_
        return self._take(tree, scale.center + scale.unit * tree.value[:, :, 0])


def require_tree(tree: TreeNodes, n_latents: int) -> None:
    """Raise unless the nodes are a tree on `n_latents` latents."""
    left, right, n = tree.children_left_, tree.children_right_, len(tree.feature_)
    inner = left >= 0
    if not n or not np.array_equal(inner, right >= 0):
        raise ValueError("every node must have two children or none")
    children = np.concatenate([left[inner], right[inner]])
    parents = np.tile(np.flatnonzero(inner), 2)
    if not (children > parents).all() or not np.array_equal(np.sort(children), np.arange(1, n)):
        raise ValueError("every node but the first must be the child of one earlier node")
    if not ((tree.feature_[inner] >= 0) & (tree.feature_[inner] < n_latents)).all():
        raise ValueError(f"a node asks about a latent that is none of the {n_latents}")
