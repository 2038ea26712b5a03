"""How many inputs a latent may use, and how that number falls as training goes on."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from illume.encoders.distances import EPSILON


@dataclass(frozen=True)
class SparsitySchedule:
    """Go from `start` inputs per latent down to `end`, evenly over `epochs`.

    >>> schedule = SparsitySchedule(start=8, end=2, epochs=3)
    >>> [schedule(epoch) for epoch in range(5)]
    [8, 6, 4, 2, 2]
    """

    start: int
    end: int
    epochs: int

    def __call__(self, epoch: int) -> int:
        """Return how many inputs a latent may use at `epoch`."""
        done = min(epoch / self.epochs, 1.0) if self.epochs else 1.0
        return round(self.start + done * (self.end - self.start))


def keep_largest(V: Tensor, alpha: int) -> tuple[Tensor, Tensor]:
    """Set all but the `alpha` largest absolute weights of each direction to zero; return it and the mask.

    Gradients pass straight through the mask, so that a weight that was cut can come back.

    >>> keep_largest(torch.tensor([[[3.0, -4.0, 1.0]]]), 2)
    (tensor([[[ 3., -4.,  0.]]]), tensor([[[1., 1., 0.]]]))
    """
    if alpha >= V.shape[-1]:
        return V, torch.ones((), dtype=V.dtype, device=V.device)
    index = V.abs().topk(alpha, dim=-1).indices
    mask = torch.zeros_like(V).scatter(-1, index, 1.0)
    return V + (V * mask - V).detach(), mask


def normalised(V: Tensor) -> tuple[Tensor, Tensor]:
    """Scale every direction to unit length; return it and the lengths (last axis kept).

    >>> normalised(torch.tensor([[[3.0, 4.0]]]))
    (tensor([[[0.6000, 0.8000]]]), tensor([[[5.]]]))
    """
    # PAPER: not in the paper; without it the stability term is minimised by shrinking W to zero.
    length = V.square().sum(-1, keepdim=True).add(EPSILON**2).sqrt()
    return V / length, length
