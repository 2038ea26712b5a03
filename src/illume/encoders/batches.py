"""What a training works on: rows with answers, cut into batches, and the model that learns from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from illume.encoders.objective import Batch


@dataclass(frozen=True, eq=False)
class Rows:
    """Encoded rows (n, m) and the black box's probabilities (n, c), as tensors on one device."""

    X: Tensor
    P: Tensor

    def __len__(self) -> int:
        return len(self.X)

    def batch(self, index: Tensor, generator: torch.Generator, stability_rows: int | None) -> Batch:
        """Take some rows, with random directions for the stability term."""
        X = self.X[index]
        v = torch.randn(X[:stability_rows].shape, generator=generator).to(X.device)
        return Batch(X, self.P[index], v)


@dataclass(frozen=True, eq=False)
class Model:
    """What is trained: the network that gives raw maps, and the head of a joint objective."""

    maps: nn.Module
    head: nn.Linear | None
    constant: bool = False

    @property
    def modules(self) -> nn.ModuleList:
        """All trained parts."""
        return nn.ModuleList([self.maps] if self.head is None else [self.maps, self.head])


def batches(order: Tensor, size: int) -> Iterator[Tensor]:
    """Cut `order` into pieces of about equal length, none longer than `size`.

    >>> [len(piece) for piece in batches(torch.arange(1025), 1024)]
    [513, 512]
    """
    yield from torch.tensor_split(order, math.ceil(len(order) / size))
