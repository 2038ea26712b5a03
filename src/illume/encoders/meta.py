"""The meta-encoder: a network gives every row a map of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from illume.encoders.forward import DenseForward, Forward, Weights
from illume.encoders.options import Objective
from illume.encoders.trained import TrainedEncoder

if TYPE_CHECKING:
    import torch
    from torch import nn


class MetaEncoder(TrainedEncoder):
    """Every row's map is the answer of a network to the row (the paper's ILLUME).

    >>> import numpy as np
    >>> from illume import Training
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> encoder = MetaEncoder(2, training=Training(max_epochs=2)).fit(X, X[:, 0] > 0)
    >>> encoder.encode(X).W.shape
    (40, 2, 3)
    """

    def _network(self, n_inputs: int, objective: Objective, generator: torch.Generator) -> nn.Module:
        from illume.encoders.networks import MetaNetwork

        return MetaNetwork(n_inputs, self.n_latents, generator, calm=objective.calm, width=objective.width)

    def _forward(self, weights: Weights, n_inputs: int) -> Forward:
        return DenseForward(weights, (self.n_latents, n_inputs))

    @property
    def _constant(self) -> bool:
        return False
