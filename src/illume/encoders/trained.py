"""The base class of the trained encoders: options, fitting, and encoding in chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from illume._typing import FloatArray
from illume.data.checkpoints import Slot
from illume.data.threads import RowChunks
from illume.encoders.base import Head, Latent, PulledBack, as_probabilities
from illume.encoders.forward import Forward
from illume.encoders.options import Objective, Training
from illume.encoders.soft_bins import SoftBins
from illume.errors import import_extra
from illume.results.diagnostics import History

if TYPE_CHECKING:
    import torch

    from illume.encoders.networks import MapNetwork

VALIDATION_SHARE = 0.15


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What an encoder is trained on: rows X (n, m), probabilities P (n, c), validation rows, and options."""

    X: FloatArray
    P: FloatArray
    validation: tuple[FloatArray, FloatArray]
    objective: Objective
    training: Training
    bins: SoftBins
    seed: int


class TrainedEncoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """An encoder whose maps come from a network, trained by torch; once fitted, it holds plain arrays.

    Parameters are those of `MetaEncoder`, without `rank` and `n_bins`.
    """

    history_: History
    weights_: dict[str, FloatArray]
    forward_: Forward
    head_: Head | None
    alpha_: int
    bins_: SoftBins

    def __init__(
        self,
        n_latents: int = 8,
        *,
        objective: Objective | None = None,
        training: Training | None = None,
        onehot: Sequence[int] = (),
        device: str = "auto",
        random_state: Any = 0,
        verbose: bool | None = None,
    ) -> None:
        self.n_latents = n_latents
        self.objective = objective
        self.training = training
        self.onehot = onehot
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _network(
        self, n_inputs: int, objective: Objective, generator: torch.Generator, bins: SoftBins
    ) -> MapNetwork:
        """Return the untrained network."""

    def _bins(self, X: FloatArray) -> SoftBins:
        """Return the soft bins of training rows X (n, m)."""
        return SoftBins.none()

    thread_safe = True

    def fit(
        self,
        X: FloatArray,
        y: Any = None,
        *,
        validation: tuple[FloatArray, FloatArray] | None = None,
        checkpoint: Slot | None = None,
    ) -> Self:
        """Train on rows X (n, m) and y: labels (n,), or the black box's probabilities (n, c).

        Training stops early by the loss on `validation` rows (X, P), by default 15 % of the rows. With a
        `checkpoint`, it resumes from what is stored there.
        """
        data = self._training_data(X, y, validation)
        from illume.encoders.training import Trainer

        Trainer(self, data, checkpoint).fit()
        return self

    def fit_trial(
        self, X: FloatArray, y: Any, *, validation: tuple[FloatArray, FloatArray] | None = None
    ) -> Self:
        """Take only the first 3 % of the steps of `fit`, to judge the settings."""
        data = self._training_data(X, y, validation)
        from illume.encoders.training import Trainer

        Trainer(self, data).fit_trial()
        return self

    def _training_data(
        self, X: FloatArray, y: Any, validation: tuple[FloatArray, FloatArray] | None
    ) -> TrainingData:
        import_extra("torch", "train")
        if not (isinstance(self.n_latents, Integral) and int(self.n_latents) > 0):
            raise ValueError(f"n_latents must be a positive integer, found {self.n_latents!r}")
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        if len(self.onehot) and not 0 <= min(self.onehot) <= max(self.onehot) < X.shape[1]:
            raise ValueError(f"onehot must name inputs from 0 to {X.shape[1] - 1}, found {self.onehot!r}")
        P = np.full((len(X), 2), 0.5) if y is None else as_probabilities(y)
        if len(P) != len(X):
            raise ValueError(f"X has {len(X)} rows, y has {len(P)}")
        rng = check_random_state(self.random_state)
        if validation is None:
            order = rng.permutation(len(X))
            held_out = order[: max(1, round(VALIDATION_SHARE * len(X)))]
            kept = np.setdiff1d(order, held_out)
            X, P, validation = X[kept], P[kept], (X[held_out], P[held_out])
        objective = self.objective or Objective()
        if y is None:
            objective = objective.without_predictions()
        seed = int(rng.randint(2**31 - 1))
        training = self.training or Training()
        return TrainingData(X, P, validation, objective, training, self._bins(X), seed)

    def set_weights(
        self, weights: Mapping[str, FloatArray], alpha: int, head: Head | None, bins: SoftBins
    ) -> Self:
        """Set the fitted attributes; `n_features_in_` is known."""
        self.weights_, self.alpha_, self.head_, self.bins_ = dict(weights), alpha, head, bins
        self.forward_ = Forward(weights, (self.n_latents, self.n_features_in_), bins)
        return self

    @property
    def _n_features_out(self) -> int:
        return self.n_latents

    def encode(self, X: FloatArray) -> Latent:
        """Return maps (n, k, m) and latents (n, k) of all rows at once."""
        X = self._check_rows(X)
        shape = (len(X), self.n_latents, X.shape[1])
        if self.forward_.constant:  # one matrix, seen n times
            W = np.broadcast_to(self.forward_.unit_maps(np.zeros((1, X.shape[1])), self.alpha_), shape)
        else:
            W = np.empty(shape)
            chunks = RowChunks(len(X))
            for rows in chunks:
                with chunks:
                    W[rows] = self.forward_.unit_maps(X[rows], self.alpha_)
        return Latent(W, (W @ X[:, :, None])[:, :, 0])

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the latents (n, k) in bounded memory."""
        X = self._check_rows(X)
        Z = np.empty((len(X), self.n_latents))
        no_weights = np.empty((0, self.n_latents))
        chunks = RowChunks(len(X))
        for rows in chunks:
            with chunks:
                Z[rows] = self.pull_back(X[rows], no_weights).Z
        return Z

    def pull_back(self, X: FloatArray, coef: FloatArray, at: FloatArray | None = None) -> PulledBack:
        """Return slopes (n, c, m) of weights (c, k) on the latents, and the latents (n, k)."""
        if not hasattr(self, "forward_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")
        return PulledBack(*self.forward_.pull_back(X, coef, at, self.alpha_))

    def _check_rows(self, X: FloatArray) -> FloatArray:
        check_is_fitted(self, "forward_")
        return validate_data(self, X, dtype=np.float64, reset=False, ensure_min_samples=0)
