"""A grown tree as plain arrays, walked down without the library that grew it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.surrogates.tree import DecisionTreeSurrogate, within_single


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """A tree surrogate that is only its nodes; node 0 is the root, and children come after their parents.

    Parameters
    ----------
    children_left_, children_right_
        Where `z[feature] <= threshold` leads, and where all else does; -1 at a leaf.
    feature_, threshold_
        What a node asks.
    value_
        The shares of the classes at each node, (n_nodes, n_classes).

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

    @classmethod
    def of(cls, surrogate: DecisionTreeSurrogate | TreeNodes) -> TreeNodes:
        """Read the nodes off a fitted tree."""
        if isinstance(surrogate, TreeNodes):
            return surrogate
        model: Any = surrogate.model_
        shares = model.tree_.value[:, 0, : len(model.classes_)]
        value = np.zeros((len(shares), surrogate.n_classes_))
        value[:, model.classes_] = shares
        return cls(
            np.array(surrogate.children_left_, dtype=np.int64),
            np.array(surrogate.children_right_, dtype=np.int64),
            np.array(surrogate.feature_, dtype=np.int64),
            np.array(surrogate.threshold_, dtype=np.float64),
            value,
        )

    def fit(self, Z: FloatArray, P: FloatArray) -> Self:
        """Do nothing: the tree is grown."""
        return self

    def apply(self, Z: FloatArray) -> IntArray:
        """Return the leaf of every row, compared in single precision as the tree was grown."""
        Z = within_single(Z).astype(np.float32)
        node = np.zeros(len(Z), dtype=np.int64)
        rows = np.flatnonzero(self.children_left_[node] >= 0)
        while len(rows):
            at = node[rows]
            left = Z[rows, self.feature_[at]] <= self.threshold_[at]
            node[rows] = np.where(left, self.children_left_[at], self.children_right_[at])
            rows = rows[self.children_left_[node[rows]] >= 0]
        return node

    def probabilities(self, Z: FloatArray) -> FloatArray:
        """Return the shares of the classes in each row's leaf, (n, c)."""
        return self.value_[self.apply(Z)]


def require_tree(tree: TreeNodes, n_latents: int) -> None:
    """Refuse nodes that are no tree on so many latents."""
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
    if (tree.value_ < 0).any():
        raise ValueError("shares of classes must not be negative")
