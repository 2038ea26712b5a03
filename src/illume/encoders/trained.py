"""What the two trained encoders share: options, fitting, and encoding in chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn
from tqdm.auto import tqdm

from illume._chunks import RowChunks, is_out_of_memory
from illume._typing import FloatArray
from illume.encoders.base import Latent, PulledBack, as_probabilities
from illume.encoders.batches import Model, Rows
from illume.encoders.distances import EPSILON
from illume.encoders.networks import head
from illume.encoders.objective import Objective
from illume.encoders.sparsity import keep_largest
from illume.encoders.training import Trainer, Training
from illume.errors import OutOfMemoryError
from illume.results.history import History
from illume.storage.checkpoints import Slot

VALIDATION_SHARE = 0.15
LARGEST = 1e6  # standard deviations that the network is shown at most, so that float32 never overflows


class Head(NamedTuple):
    """The weights (c, k) and intercepts (c,) that were trained along with the encoder."""

    coef: FloatArray
    intercept: FloatArray


class TrainedEncoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """An encoder whose maps come from a torch module.

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
    maps_: nn.Module
    head_: Head | None
    alpha_: int

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
    def _network(self, n_inputs: int, objective: Objective, generator: torch.Generator) -> nn.Module:
        """Return the untrained module from rows (n, m) to raw maps (n, k, m)."""

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
        device = torch.device(_device(self.device))
        objective, training = self.objective or Objective(), self.training or Training()
        if y is None:
            objective = objective.unconditioned()
        generator = torch.Generator().manual_seed(int(rng.randint(2**31 - 1)))
        maps = self._network(X.shape[1], objective, generator).to(device)
        joint = head(self.n_latents, P.shape[1], generator).to(device) if objective.joint else None
        onehot = torch.zeros(X.shape[1], dtype=torch.bool, device=device)
        onehot[list(self.onehot)] = True
        rows = _rows(X, P, device), _rows(*validation, device)
        model = Model(maps, joint, self._constant)
        trainer = Trainer(
            model, objective, training, rows, onehot=onehot, generator=generator, slot=checkpoint
        )
        disable = None if self.verbose is None else not self.verbose
        with tqdm(desc=f"training, {self.n_latents} latents", unit="epoch", disable=disable) as bar:
            try:
                self.history_ = trainer.run(bar)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                raise OutOfMemoryError(
                    f"memory ran out while training on batches of {training.batch_size} rows ({error}); "
                    f"use smaller ones, Training(batch_size=…), or device='cpu'"
                ) from error
        self.maps_, self.alpha_ = maps.cpu().eval(), trainer.alpha
        self.head_ = None if joint is None else Head(*(p.detach().cpu().numpy() for p in joint.parameters()))
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

    @torch.inference_mode()
    def pull_back(self, X: FloatArray, coef: FloatArray, at: FloatArray | None = None) -> PulledBack:
        """Return slopes (n, c, m) of weights (c, k) on the latents, and the latents (n, k)."""
        X = np.require(X, np.float64, "W")  # torch wants memory that may be written to
        check_is_fitted(self, "maps_")
        V, length = self._directions(X)
        weights = torch.from_numpy(coef)
        slopes = torch.bmm(weights / length[:, None, :], V)
        there = torch.from_numpy(X if at is None else np.require(at, np.float64, "W"))
        Z = torch.bmm(V, there[:, :, None]).squeeze(-1) / length
        return PulledBack(slopes.numpy(), Z.numpy())

    @torch.inference_mode()
    def _maps(self, X: FloatArray) -> FloatArray:
        V, length = self._directions(X)
        return (V / length[:, :, None]).numpy()

    def _directions(self, X: FloatArray) -> tuple[torch.Tensor, torch.Tensor]:
        """Return sparsified, unscaled maps and their lengths. Only the network works in float32."""
        small = np.clip(X, -LARGEST, LARGEST).astype(np.float32)
        V, _ = keep_largest(self.maps_(torch.from_numpy(small)), self.alpha_)
        length = torch.linalg.vector_norm(V, dim=-1).double().clamp(min=EPSILON)
        return V.double(), length

    def _checked(self, X: FloatArray) -> FloatArray:
        check_is_fitted(self, "maps_")
        return validate_data(self, X, dtype=np.float64, reset=False, ensure_min_samples=0)

    def _targets(self, y: Any, n_rows: int) -> FloatArray:
        if y is None:
            return np.full((n_rows, 2), 0.5)
        P = as_probabilities(y)
        if len(P) != n_rows:
            raise ValueError(f"X has {n_rows} rows, y has {len(P)}")
        return P


def _rows(X: FloatArray, P: FloatArray, device: torch.device) -> Rows:
    def tensor(A: FloatArray) -> torch.Tensor:
        return torch.from_numpy(np.clip(A, -LARGEST, LARGEST).astype(np.float32)).to(device)

    return Rows(tensor(X), tensor(P))


def _device(name: str) -> str:
    if name != "auto":
        try:
            return str(torch.device(name))
        except RuntimeError as error:
            raise ValueError(f"device {name!r} is not known: {error}") from error
    return "cuda" if torch.cuda.is_available() else "cpu"
