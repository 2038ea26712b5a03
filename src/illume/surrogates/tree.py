"""Tree surrogates: decide by a few questions about latents."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.tree import DecisionTreeClassifier

from illume._typing import FloatArray, IntArray


class DecisionTreeSurrogate(BaseEstimator):
    """A scikit-learn decision tree on the black box's decisions.

    Parameters
    ----------
    estimator
        Any scikit-learn tree classifier (with `tree_` and `classes_`).
    spare
        Whether it is only for want of another: among several trees, one that is spare is taken where no
        other decides for as many classes.
    """

    def __init__(self, estimator: Any = None, spare: bool = False) -> None:
        self.estimator = estimator
        self.spare = spare

    def fit(self, Z: FloatArray, P: FloatArray) -> Self:
        """Grow a clone of the estimator on the black box's decisions."""
        start = DecisionTreeClassifier(random_state=0) if self.estimator is None else self.estimator
        self.model_ = clone(start).fit(Z, P.argmax(1))
        self.n_classes_ = P.shape[1]
        tree = self.model_.tree_
        self.children_left_, self.children_right_ = tree.children_left, tree.children_right
        self.feature_, self.threshold_ = tree.feature, tree.threshold
        return self

    def apply(self, Z: FloatArray) -> IntArray:
        """Return the leaf of every row; scikit-learn compares in float32, and so do we."""
        return self.model_.apply(within_single(Z))

    def probabilities(self, Z: FloatArray) -> FloatArray:
        """Return the shares of the classes in each row's leaf, (n, c)."""
        Q = np.zeros((len(Z), self.n_classes_))
        if len(Z):
            Q[:, self.model_.classes_] = self.model_.predict_proba(within_single(Z))
        return Q


def within_single(Z: FloatArray) -> FloatArray:
    """Keep latents within what scikit-learn's trees can hold."""
    largest = np.finfo(np.float32).max
    return np.clip(Z, -largest, largest)
