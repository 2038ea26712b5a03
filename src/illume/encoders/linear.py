"""Encoders with one map for all rows: the identity, and a trained matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from illume._typing import FloatArray
from illume.encoders.base import Latent, PulledBack
from illume.encoders.options import Objective
from illume.encoders.soft_bins import SoftBins
from illume.encoders.trained import TrainedEncoder

if TYPE_CHECKING:
    import torch

    from illume.encoders.networks import MapNetwork


class IdentityEncoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Latents are the inputs, so that the surrogate on them is global (the paper's INP).

    >>> IdentityEncoder().fit([[1.0, 2.0]]).encode([[3.0, 4.0]]).Z
    array([[3., 4.]])
    """

    thread_safe = True

    def fit(self, X: FloatArray, y: Any = None, *, validation: Any = None) -> Self:
        """Store the number of inputs."""
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


class LinearEncoder(TrainedEncoder):
    """All rows share one trained map (the paper's LIN)."""

    def _network(
        self, n_inputs: int, objective: Objective, generator: torch.Generator, bins: SoftBins
    ) -> MapNetwork:
        from illume.encoders.networks import MapNetwork

        return MapNetwork(n_inputs, self.n_latents, generator, rank=0)
