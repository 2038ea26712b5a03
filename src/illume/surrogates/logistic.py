"""Linear surrogates: log-odds are a weighted sum of latents."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from illume._typing import FloatArray, IntArray
from illume.surrogates.base import probabilities_of, scores

NEVER = -20.0  # log-odds of a class that does not occur in training


class WeightedSurrogate:
    """A surrogate that is its weights `coef_` and `intercept_`."""

    coef_: FloatArray
    intercept_: FloatArray

    def probabilities(self, Z: FloatArray) -> FloatArray:
        """Return class probabilities (n, c)."""
        return probabilities_of(scores(self, Z))


class LogisticSurrogate(WeightedSurrogate, BaseEstimator):
    """Logistic regression on the black box's probabilities, not only on its decisions."""

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, Z: FloatArray, P: FloatArray) -> Self:
        """Learn one weight per latent and class; every row counts for a class with weight P."""
        row, label = np.nonzero(P > 1e-6)
        model = LogisticRegression(C=self.C, max_iter=1000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fidelity on validation rows decides
            model.fit(Z[row], label, sample_weight=P[row, label])
        self.coef_, self.intercept_ = expand_classes(
            model.coef_, model.intercept_, model.classes_, P.shape[1]
        )
        return self


class LinearAdapter(WeightedSurrogate, BaseEstimator):
    """Any scikit-learn linear classifier (`coef_`, `intercept_`, `classes_`) as a surrogate."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, Z: FloatArray, P: FloatArray) -> Self:
        """Fit a clone of the estimator on the black box's decisions."""
        model = self.model_ = clone(self.estimator).fit(Z, P.argmax(1))
        if not hasattr(model, "coef_"):
            raise ValueError(f"{self.estimator!r} has no coef_; use a linear classifier")
        self.coef_, self.intercept_ = expand_classes(
            model.coef_, model.intercept_, model.classes_, P.shape[1]
        )
        return self


class FittedWeights(WeightedSurrogate):
    """Weights that are fitted already."""

    def __init__(self, coef: FloatArray, intercept: FloatArray) -> None:
        self.coef_, self.intercept_ = coef, intercept

    def fit(self, Z: FloatArray, P: FloatArray) -> Self:
        """Do nothing."""
        return self


class HeadSurrogate(FittedWeights):
    """The linear head that was trained jointly with the encoder."""

    def __init__(self, coef: FloatArray, intercept: FloatArray) -> None:
        super().__init__(*center_classes(coef, intercept))


def center_classes(coef: FloatArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Subtract what all classes share, which softmax ignores, so that log-odds are unique."""
    coef, intercept = np.asarray(coef, dtype=np.float64), np.asarray(intercept, dtype=np.float64)
    if len(coef) == 1:
        return coef, intercept
    return coef - coef.mean(0), intercept - intercept.mean()


def expand_classes(
    coef: FloatArray, intercept: FloatArray, classes: IntArray, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """Expand weights of the classes that occurred to all `n_classes`."""
    coef, intercept = np.atleast_2d(coef), np.atleast_1d(intercept)
    if len(classes) == n_classes:
        return center_classes(coef, intercept)
    if len(coef) == 1:
        coef, intercept = np.vstack([-coef, coef]) / 2, np.concatenate([-intercept, intercept]) / 2
    full_coef = np.zeros((n_classes, coef.shape[1]))
    full_intercept = np.full(n_classes, NEVER)
    full_coef[classes], full_intercept[classes] = coef, intercept
    return center_classes(full_coef, full_intercept)
