"""The meta-encoder: a network gives every row a map of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import nn

from illume._typing import FloatArray
from illume.encoders.base import PulledBack
from illume.encoders.low_rank import WIDTH, LowRankForward, resolved_rank
from illume.encoders.networks import LowRankNetwork, MetaNetwork
from illume.encoders.objective import Objective
from illume.encoders.trained import TrainedEncoder
from illume.encoders.training import Training
from illume.storage.checkpoints import Slot


class MetaEncoder(TrainedEncoder):
    """Every row's map is the answer of a network to the row (the paper's ILLUME).

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
    rank
        None lets the network answer with whole maps, as in the paper: weights and time grow as m² k. With a
        number r, the map is a constant and a part of rank r that differs from row to row, and both grow
        as m. `auto` takes 32 for 500 inputs or more, and else whole maps.
    device
        `auto` takes a CUDA device where there is one.
    random_state
        Seed; on the CPU, equal seeds give identical encoders.
    verbose
        Show a progress bar; None shows it only on a terminal.

    Examples
    --------
    >>> import numpy as np
    >>> from illume.encoders.training import Training
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> encoder = MetaEncoder(2, training=Training(max_epochs=2)).fit(X, X[:, 0] > 0)
    >>> encoder.encode(X).W.shape
    (40, 2, 3)
    """

    rank_: int | None
    forward_: LowRankForward | None

    def __init__(
        self,
        n_latents: int = 8,
        *,
        objective: Objective | None = None,
        training: Training | None = None,
        onehot: Sequence[int] = (),
        rank: int | str | None = "auto",
        device: str = "auto",
        random_state: Any = 0,
        verbose: bool | None = None,
    ) -> None:
        super().__init__(
            n_latents,
            objective=objective,
            training=training,
            onehot=onehot,
            device=device,
            random_state=random_state,
            verbose=verbose,
        )
        self.rank = rank

    def fit(
        self,
        X: FloatArray,
        y: Any = None,
        *,
        validation: tuple[FloatArray, FloatArray] | None = None,
        checkpoint: Slot | None = None,
    ) -> Self:
        """Train as every encoder does; make maps of low rank ready to be used."""
        super().fit(X, y, validation=validation, checkpoint=checkpoint)
        self._make_ready()
        return self

    def pull_back(self, X: FloatArray, coef: FloatArray, at: FloatArray | None = None) -> PulledBack:
        """Return slopes (n, c, m) of weights (c, k) on the latents, and the latents (n, k)."""
        check_is_fitted(self, "maps_")
        if self.forward_ is None:
            return super().pull_back(X, coef, at)
        rows = np.asarray(X, dtype=np.float64)
        there = None if at is None else np.asarray(at, dtype=np.float64)
        return PulledBack(*self.forward_.pull_back(rows, coef, there, self.alpha_))

    def _maps(self, X: FloatArray) -> FloatArray:
        if self.forward_ is None:
            return super()._maps(X)
        V, length = self.forward_.directions(X, self.alpha_)
        return V / length[:, :, None]

    def _make_ready(self) -> None:
        """Set what follows from the trained weights."""
        self.forward_ = None
        if self.rank_ is not None:
            state = self.maps_.state_dict()
            self.forward_ = LowRankForward.of({name: each.numpy() for name, each in state.items()})

    def _network(self, n_inputs: int, objective: Objective, generator: torch.Generator) -> nn.Module:
        self.rank_ = resolved_rank(self.rank, n_inputs)
        return self._network_of_rank(self.rank_, n_inputs, objective, generator)

    def _network_of_rank(
        self, rank: int | None, n_inputs: int, objective: Objective, generator: torch.Generator
    ) -> nn.Module:
        k, calm, width = self.n_latents, objective.calm, objective.width
        if rank is None:
            return MetaNetwork(n_inputs, k, generator, calm=calm, width=width)
        return LowRankNetwork(n_inputs, k, generator, rank=rank, calm=calm, width=max(width, WIDTH))

    @property
    def _constant(self) -> bool:
        return False
