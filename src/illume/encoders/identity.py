"""The identity encoder: latents are the inputs, so the surrogate on them is global."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from illume._typing import FloatArray
from illume.encoders.base import Latent, PulledBack


class IdentityEncoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Every row's map is the identity (the paper's INP).

    >>> IdentityEncoder().fit([[1.0, 2.0]]).encode([[3.0, 4.0]]).Z
    array([[3., 4.]])
    """

    thread_safe = True  # several threads may pull back, each its own rows

    def fit(self, X: FloatArray, y: Any = None, *, validation: Any = None) -> Self:
        """Remember how many inputs there are."""
        validate_data(self, X, dtype=np.float64)
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_in_)

    def encode(self, X: FloatArray) -> Latent:
        """Return identity maps (a view, not n matrices) and the rows themselves."""
        Z = self.transform(X)
        n, m = Z.shape
        return Latent(np.broadcast_to(np.eye(m), (n, m, m)), Z)

    def pull_back(self, X: FloatArray, coef: FloatArray, at: FloatArray | None = None) -> PulledBack:
        """Return the weights themselves as slopes of every row."""
        return PulledBack(np.broadcast_to(coef, (len(X), *coef.shape)), X if at is None else at)

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the rows themselves."""
        check_is_fitted(self, "n_features_in_")
        return validate_data(self, X, dtype=np.float64, reset=False, ensure_min_samples=0)
