"""The linear encoder: one trained map for all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from illume.encoders.forward import ConstantForward, Forward, Weights
from illume.encoders.options import Objective
from illume.encoders.soft_bins import SoftBins
from illume.encoders.trained import TrainedEncoder

if TYPE_CHECKING:
    import torch
    from torch import nn


class LinearEncoder(TrainedEncoder):
    """All rows share one trained map (the paper's LIN)."""

    def _network(
        self, n_inputs: int, objective: Objective, generator: torch.Generator, bins: SoftBins
    ) -> nn.Module:
        from illume.encoders.networks import ConstantMap

        return ConstantMap(n_inputs, self.n_latents, generator)

    def _forward(self, weights: Weights, n_inputs: int, bins: SoftBins) -> Forward:
        return ConstantForward(weights)

    @property
    def _constant(self) -> bool:
        return True
