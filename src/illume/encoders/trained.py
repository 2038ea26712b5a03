"""What the two trained encoders share: options, fitting, and encoding in chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
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
from illume.encoders.base import Head, Latent, Piece, PulledBack, Whole, as_probabilities
from illume.encoders.forward import Forward, InPieces, Weights
from illume.encoders.options import Objective, Training
from illume.encoders.soft_bins import SoftBins
from illume.errors import MissingExtraError
from illume.results.history import History

if TYPE_CHECKING:
    import torch
    from torch import nn

    from illume.encoders.learning import Learned

VALIDATION_SHARE = 0.15


def require_torch() -> None:
    """Refuse to train where torch, which only training needs, cannot be imported."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtraError.of("torch", "train") from error


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a training is told: objective, options, rows to learn from and to check with, bins, and a seed."""

    objective: Objective
    training: Training
    rows: tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
    bins: SoftBins
    seed: int


class TrainedEncoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """An encoder whose maps come from a network, trained by torch; fitted, it is plain arrays.

    Parameters
    ----------
    n_latents
        How many latent directions every row has, k.
    objective
        Which loss terms count; by default the paper's for attributions, `Objective.preset("co")`.
    training
        How to train; by default as in the paper.
    onehot
        Positions of the inputs that are one-hot columns; distances compare them as categories.
    device
        `auto` takes a CUDA device where there is one.
    random_state
        Seed; on the CPU, equal seeds give identical encoders.
    verbose
        Show a progress bar; None shows it only on a terminal.
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
    ) -> nn.Module:
        """Return the untrained module from rows (n, m) to raw maps (n, k, m)."""

    @abstractmethod
    def _forward(self, weights: Weights, n_inputs: int, bins: SoftBins) -> Forward:
        """Return the trained network in NumPy."""

    def _bins(self, X: FloatArray) -> SoftBins:
        """Return the bins through which the network sees numbers, for training rows X (n, m)."""
        return SoftBins.none()

    @property
    @abstractmethod
    def _constant(self) -> bool:
        """Whether all rows share one map."""

    thread_safe = True  # several threads may pull back, each its own rows

    def fit(
        self,
        X: FloatArray,
        y: Any = None,
        *,
        validation: tuple[FloatArray, FloatArray] | None = None,
        checkpoint: Slot | None = None,
    ) -> Self:
        """Train on rows X (n, m) and y: labels (n,), or the black box's probabilities (n, c).

        `validation` rows (X, P) decide when to stop; by default 15 % of the rows are set apart.
        With a `checkpoint`, the training goes on from what was written there.
        """
        require_torch()
        from illume.encoders.learning import Learning

        lesson = self.lesson(X, y, validation)
        return self.take(Learning.of(self, lesson, slot=checkpoint).finish())

    def lesson(
        self, X: FloatArray, y: Any = None, validation: tuple[FloatArray, FloatArray] | None = None
    ) -> Lesson:
        """Return all that a training learns from; `fit` says what is meant."""
        require_torch()
        if not (isinstance(self.n_latents, Integral) and int(self.n_latents) > 0):
            raise ValueError(f"n_latents must be a positive integer, found {self.n_latents!r}")
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        if len(self.onehot) and not 0 <= min(self.onehot) <= max(self.onehot) < X.shape[1]:
            raise ValueError(f"onehot must name inputs from 0 to {X.shape[1] - 1}, found {self.onehot!r}")
        P = self._targets(y, len(X))
        rng = check_random_state(self.random_state)
        if validation is None:
            order = rng.permutation(len(X))
            apart = order[: max(1, round(VALIDATION_SHARE * len(X)))]
            kept = np.setdiff1d(order, apart)
            X, P, validation = X[kept], P[kept], (X[apart], P[apart])
        objective, training = self.objective or Objective(), self.training or Training()
        if y is None:
            objective = objective.unconditioned()
        seed = int(rng.randint(2**31 - 1))
        return Lesson(objective, training, ((X, P), validation), self._bins(X), seed)

    def take(self, learned: Learned) -> Self:
        """Be what a training has come to."""
        self.history_ = learned.history
        return self._set(learned.weights, self.n_features_in_, learned.alpha, learned.head, learned.bins)

    def _set(
        self, weights: dict[str, FloatArray], n_inputs: int, alpha: int, head: Head | None, bins: SoftBins
    ) -> Self:
        """Fill in what was learned."""
        self.weights_, self.alpha_, self.head_, self.bins_ = weights, alpha, head, bins
        self.forward_ = self._forward(weights, n_inputs, bins)
        return self

    @property
    def _n_features_out(self) -> int:
        return self.n_latents

    def encode(self, X: FloatArray) -> Latent:
        """Return maps (n, k, m) and latents (n, k) of all rows at once."""
        X = self._checked(X)
        shape = (len(X), self.n_latents, X.shape[1])
        if self._constant:  # one matrix, seen n times
            W = np.broadcast_to(self._maps(np.zeros((1, X.shape[1]))), shape)
        else:
            W = np.empty(shape)
            chunks = RowChunks(len(X))
            for rows in chunks:
                with chunks:
                    W[rows] = self._maps(X[rows])
        return Latent(W, (W @ X[:, :, None])[:, :, 0])

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the latents (n, k), never holding more than a chunk of maps."""
        X = self._checked(X)
        Z = np.empty((len(X), self.n_latents))
        nothing = np.empty((0, self.n_latents))
        chunks = RowChunks(len(X))
        for rows in chunks:
            with chunks:
                Z[rows] = self.pull_back(X[rows], nothing).Z
        return Z

    def pull_back(self, X: FloatArray, coef: FloatArray, at: FloatArray | None = None) -> PulledBack:
        """Return slopes (n, c, m) of weights (c, k) on the latents, and the latents (n, k).

        Nothing of the encoder is changed, so that several threads may call this, each with its own rows.
        """
        return PulledBack(*self._fitted.pull_back(X, coef, at, self.alpha_))

    @property
    def _fitted(self) -> Forward:
        try:
            return self.forward_
        except AttributeError:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first") from None

    def _maps(self, X: FloatArray) -> FloatArray:
        return self.forward_.unit_maps(X, self.alpha_)

    def _checked(self, X: FloatArray) -> FloatArray:
        check_is_fitted(self, "forward_")
        return validate_data(self, X, dtype=np.float64, reset=False, ensure_min_samples=0)

    def _targets(self, y: Any, n_rows: int) -> FloatArray:
        if y is None:
            return np.full((n_rows, 2), 0.5)
        P = as_probabilities(y)
        if len(P) != n_rows:
            raise ValueError(f"X has {n_rows} rows, y has {len(P)}")
        return P


def pieces_of(encoder: Any, X: FloatArray, coef: FloatArray) -> Iterator[Piece]:
    """Yield what an encoder pulls back: a few rows at a time where it is ours, else all at once."""
    forward = getattr(encoder, "forward_", None)
    ours = getattr(type(encoder), "pull_back", None) is TrainedEncoder.pull_back
    if ours and isinstance(forward, InPieces):
        yield from forward.pieces(X, coef, encoder.alpha_)
    else:
        pulled = encoder.pull_back(X, coef)
        yield Whole(pulled.slopes, pulled.Z)
