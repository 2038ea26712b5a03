"""The interface of surrogates, and the linear ones: scores are a weighted sum of latents."""

from __future__ import annotations

import warnings
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge

from illume._typing import FloatArray, IntArray
from illume.data.class_outputs import Classes
from illume.data.outputs import Outputs
from illume.errors import BlackBoxError


class Surrogate(Protocol):
    """An interpretable model of the black box over latents."""

    def fit(self, Z: FloatArray, P: FloatArray) -> Self:
        """Learn from latents (n, k) and the black box's answers (n, c)."""
        ...

    def answers(self, Z: FloatArray) -> FloatArray:
        """Return what the black box would answer, (n, c)."""
        ...


class Weights(Protocol):
    """Weights (c, k) and intercepts (c,) on latents, on the scale that contributions add up on.

    For two classes there is one row, the log-odds of the second class.
    """

    coef_: FloatArray
    intercept_: FloatArray


@runtime_checkable
class LinearSurrogate(Surrogate, Weights, Protocol):
    """A surrogate that can give attributions."""


@runtime_checkable
class TreeSurrogate(Surrogate, Protocol):
    """A surrogate that can give rules: a binary tree of `z[feature] <= threshold`, scikit-learn's layout."""

    children_left_: IntArray
    children_right_: IntArray
    feature_: IntArray
    threshold_: FloatArray

    def apply(self, Z: FloatArray) -> IntArray:
        """Return the leaf of every row."""
        ...


def scores(surrogate: Weights, Z: FloatArray) -> FloatArray:
    """Return the surrogate's scores (n, c), one column for two classes."""
    return Z @ surrogate.coef_.T + surrogate.intercept_


NEVER = -20.0  # log-odds of a class that does not occur in training


class WeightedSurrogate:
    """A surrogate that is its weights `coef_` and `intercept_`; `outputs` turns its scores into answers."""

    outputs: Outputs = Classes(())
    coef_: FloatArray
    intercept_: FloatArray

    def answers(self, Z: FloatArray) -> FloatArray:
        """Return what the black box would answer, (n, c)."""
        return self.outputs.answers(scores(self, Z))


class ClassSurrogate(WeightedSurrogate):
    """A linear surrogate of class probabilities."""

    def _take(self, model: Any, n_classes: int) -> Self:
        """Take the weights of a fitted linear classifier; classes that it has not seen never win."""
        coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
        if len(model.classes_) < n_classes:
            if len(coef) == 1:
                coef, intercept = np.vstack([-coef, coef]) / 2, np.concatenate([-intercept, intercept]) / 2
            seen = coef, intercept
            coef, intercept = np.zeros((n_classes, coef.shape[1])), np.full(n_classes, NEVER)
            coef[model.classes_], intercept[model.classes_] = seen
        self.coef_, self.intercept_ = self.outputs.normalize_weights(coef, intercept)
        return self

    def _take_constant(self, c: int, n_latents: int, n_classes: int) -> Self:
        """Take weights of 0: the model is sure of class c everywhere."""
        intercept = np.where(np.arange(n_classes) == c, 0.0, NEVER)
        if n_classes == 2:
            intercept = intercept[1:] - intercept[:1]
        coef = np.zeros((len(intercept), n_latents))
        self.coef_, self.intercept_ = self.outputs.normalize_weights(coef, intercept)
        return self


class LogisticSurrogate(ClassSurrogate, BaseEstimator):
    """Logistic regression on the black box's probabilities, not only on its decisions."""

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, Z: FloatArray, P: FloatArray) -> Self:
        """Learn one weight per latent and class; every row counts for a class with weight P."""
        row, label = np.nonzero(P > 1e-6)
        if len(np.unique(label)) < 2:
            return self._take_constant(int(label[0]), Z.shape[1], P.shape[1])
        model = LogisticRegression(C=self.C, max_iter=1000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fidelity on validation rows decides
            model.fit(Z[row], label, sample_weight=P[row, label])
        return self._take(model, P.shape[1])


class LinearAdapter(ClassSurrogate, BaseEstimator):
    """Any scikit-learn linear classifier (`coef_`, `intercept_`, `classes_`) as a surrogate."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, Z: FloatArray, P: FloatArray) -> Self:
        """Fit a clone of the estimator on the black box's decisions."""
        decisions = P.argmax(1)
        if (decisions == decisions[0]).all():
            raise BlackBoxError(
                f"the model decides all {len(P)} training rows alike, and {self.estimator!r} learns from "
                f"decisions alone; use surrogate='logistic', which learns from probabilities"
            )
        model = self.model_ = clone(self.estimator).fit(Z, decisions)
        if not hasattr(model, "coef_"):
            raise ValueError(f"{self.estimator!r} has no coef_; use a linear classifier")
        return self._take(model, P.shape[1])


class LinearRegressionSurrogate(WeightedSurrogate, BaseEstimator):
    """A linear model of scikit-learn on the black box's numbers, or on their logarithms; by default ridge."""

    def __init__(self, outputs: Outputs, estimator: Any = None) -> None:
        self.outputs = outputs
        self.estimator = estimator

    def fit(self, Z: FloatArray, P: FloatArray) -> Self:
        """Fit a clone of the estimator on standardised scores."""
        scale = self.outputs.fit_scale(P)
        model = clone(Ridge(1.0) if self.estimator is None else self.estimator).fit(Z, scale(P))
        if not hasattr(model, "coef_"):
            raise ValueError(f"{self.estimator!r} has no coef_; use a linear regression")
        coef = np.asarray(model.coef_, dtype=np.float64).reshape(P.shape[1], -1)
        intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (P.shape[1],))
        self.coef_, self.intercept_ = scale.unit[:, None] * coef, scale.center + scale.unit * intercept
        return self


class FittedWeights(WeightedSurrogate):
    """Weights that are fitted already."""

    def __init__(self, coef: FloatArray, intercept: FloatArray, outputs: Outputs) -> None:
        self.coef_, self.intercept_, self.outputs = coef, intercept, outputs

    def fit(self, Z: FloatArray, P: FloatArray) -> Self:
        """Do nothing."""
        return self


class HeadSurrogate(FittedWeights):
    """The linear head that was trained jointly with the encoder."""

    def __init__(self, coef: FloatArray, intercept: FloatArray, outputs: Outputs) -> None:
        super().__init__(*outputs.normalize_weights(coef, intercept), outputs)
