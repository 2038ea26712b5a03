"""Fitted surrogates to arrays and back: weights, and the nodes of a tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.errors import FormatError, SaveError
from illume.surrogates.logistic import FittedWeights, HeadSurrogate, LinearAdapter, LogisticSurrogate
from illume.surrogates.tree import DecisionTreeSurrogate, TreeNodes, require_tree

LINEAR = (FittedWeights, HeadSurrogate, LinearAdapter, LogisticSurrogate)
TREES = (DecisionTreeSurrogate, TreeNodes)
ADVICE = "for loading runs no code of others; a file holds"


def dump_weights(surrogate: Any, arrays: ArrayWriter) -> None:
    """Store a linear surrogate: log-odds are weighted sums, probabilities their softmax."""
    if type(surrogate) not in LINEAR:
        raise SaveError(
            f"a surrogate {type(surrogate).__name__} cannot be saved, {ADVICE} 'logistic', the head of an "
            f"encoder, and linear classifiers of scikit-learn"
        )
    arrays.add("surrogate.coef", surrogate.coef_)
    arrays.add("surrogate.intercept", surrogate.intercept_)


def read_weights(arrays: ArrayReader, n_classes: int, n_latents: int) -> FittedWeights:
    """Return the linear surrogate."""
    outputs = 1 if n_classes == 2 else n_classes
    coef = arrays.take("surrogate.coef", np.float64, (outputs, n_latents))
    return FittedWeights(coef, arrays.take("surrogate.intercept", np.float64, (outputs,)))


def dump_tree(surrogate: Any, arrays: ArrayWriter) -> None:
    """Store a tree by its nodes."""
    if type(surrogate) not in TREES:
        raise SaveError(
            f"a tree {type(surrogate).__name__} cannot be saved, {ADVICE} 'tree' and tree classifiers of "
            f"scikit-learn; save with rules=False to leave it out"
        )
    nodes = TreeNodes.from_surrogate(surrogate)
    arrays.add("tree.left", nodes.children_left_)
    arrays.add("tree.right", nodes.children_right_)
    arrays.add("tree.feature", nodes.feature_)
    arrays.add("tree.threshold", nodes.threshold_)
    arrays.add("tree.value", nodes.value_)


def read_tree(arrays: ArrayReader, n_classes: int, n_latents: int) -> TreeNodes:
    """Return the tree, once its nodes are known to be one."""
    left = arrays.take("tree.left", np.int64, (None,))
    n = len(left)
    right, feature = (arrays.take(f"tree.{name}", np.int64, (n,)) for name in ("right", "feature"))
    threshold = arrays.take("tree.threshold", np.float64, (n,))
    nodes = TreeNodes(left, right, feature, threshold, arrays.take("tree.value", np.float64, (n, n_classes)))
    try:
        require_tree(nodes, n_latents)
    except ValueError as error:
        raise FormatError(f"the tree is none: {error}") from error
    return nodes
