"""The linear encoder: one trained map for all rows."""

from __future__ import annotations

import torch
from torch import nn

from illume.encoders.networks import ConstantMap
from illume.encoders.objective import Objective
from illume.encoders.trained import TrainedEncoder


class LinearEncoder(TrainedEncoder):
    """All rows share one trained map (the paper's LIN)."""

    def _network(self, n_inputs: int, objective: Objective, generator: torch.Generator) -> nn.Module:
        return ConstantMap(n_inputs, self.n_latents, generator)

    @property
    def _constant(self) -> bool:
        return True
