"""Training rows as tensors in batches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from illume._typing import FloatArray
from illume.encoders.forward import LARGEST
from illume.encoders.options import Training


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows X (n, m), answers P (n, c), and random directions v (s, m) for the first s rows.

    The stability term is estimated on the rows that have a direction.
    """

    X: Tensor
    P: Tensor
    v: Tensor


@dataclass(frozen=True, eq=False)
class RowTensors:
    """Rows X (n, m) and answers P (n, c) in float32 on one device."""

    X: Tensor
    P: Tensor

    @classmethod
    def from_arrays(cls, X: FloatArray, P: FloatArray, device: torch.device) -> RowTensors:
        """Convert arrays; inputs are clipped to `LARGEST`."""
        with np.errstate(over="ignore"):
            small = X.astype(np.float32)
        np.clip(small, -LARGEST, LARGEST, out=small)
        return cls(torch.from_numpy(small).to(device), torch.from_numpy(P.astype(np.float32)).to(device))

    def __len__(self) -> int:
        return len(self.X)

    def batches(self, order: Tensor, training: Training, generator: torch.Generator) -> Iterator[Batch]:
        """Yield the rows in `order` in batches of about equal size, each with random directions."""
        device, m = self.X.device, self.X.shape[1]
        for index in torch.tensor_split(order.to(device), math.ceil(len(order) / training.batch_size)):
            n_directions = min(len(index), training.stability_rows or len(index))
            v = torch.randn(n_directions, m, generator=generator).to(device)
            yield Batch(self.X.index_select(0, index), self.P.index_select(0, index), v)


def find_device(name: str) -> torch.device:
    """Return a device by name; `auto` is a CUDA device if there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return torch.device(name)
    except RuntimeError as error:
        raise ValueError(f"device {name!r} is not known: {error}") from error
