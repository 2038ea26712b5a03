"""What a training works on: rows with answers, cut into batches, and the model that learns from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from illume.encoders.objective import Batch

AT_ONCE = 32  # batches


@dataclass(frozen=True, eq=False)
class Rows:
    """Encoded rows (n, m) and the black box's probabilities (n, c), as tensors on one device."""

    X: Tensor
    P: Tensor

    def __len__(self) -> int:
        return len(self.X)

    def batches(
        self, order: Tensor, size: int, generator: torch.Generator, stability_rows: int | None
    ) -> Iterator[Batch]:
        """Go through the rows of `order` in batches, with random directions for the stability term.

        Rows are gathered and directions drawn for many batches at a time: a device that trains is then
        seldom waited for, and memory stays bounded.
        """
        pieces = list(cut(order, size))
        for first in range(0, len(pieces), AT_ONCE):
            few = pieces[first : first + AT_ONCE]
            yield from self._gathered(few, generator, stability_rows)

    def _gathered(
        self, pieces: list[Tensor], generator: torch.Generator, stability_rows: int | None
    ) -> Iterator[Batch]:
        device, lengths = self.X.device, [len(piece) for piece in pieces]
        some = lengths if stability_rows is None else [min(n, stability_rows) for n in lengths]
        index = torch.cat(pieces).to(device)
        v = torch.randn(sum(some), self.X.shape[1], generator=generator).to(device)
        X, P = self.X.index_select(0, index), self.P.index_select(0, index)
        yield from map(Batch, X.split(lengths), P.split(lengths), v.split(some))


class Ahead:
    """The batches of an epoch that are still to come, and how many these are.

    >>> some = Ahead(iter("abc"), 3)
    >>> next(some), some.left
    ('a', 2)
    """

    def __init__(self, batches: Iterator[Batch], n: int) -> None:
        self.batches, self.left = batches, n

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        batch = next(self.batches)
        self.left -= 1
        return batch


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


def cut(order: Tensor, size: int) -> Iterator[Tensor]:
    """Cut `order` into pieces of about equal length, none longer than `size`.

    >>> [len(piece) for piece in cut(torch.arange(1025), 1024)]
    [513, 512]
    """
    yield from torch.tensor_split(order, math.ceil(len(order) / size))
