"""What the first layer of a network sees: rows, and how far they are into each soft bin."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from illume.encoders.soft_bins import SoftBins

TOP = 1 - 1e-6  # how far into a bin its upper knot is at least, whatever the rounding


class Binned(nn.Module):
    """Rows (n, m) beside their soft bins, (n, m + d).

    At a knot, a row is in the bin above it. Knots come from the rows and are not trained: a state does not
    hold them. With a `height`, bins go from minus half of it to half of it instead of 0 to 1.
    """

    column: Tensor
    low: Tensor
    steepness: Tensor

    def __init__(self, bins: SoftBins, height: float | None = None) -> None:
        super().__init__()
        self.height = height
        self.register_buffer("column", torch.from_numpy(bins.column), persistent=False)
        self.register_buffer("low", torch.from_numpy(bins.low), persistent=False)
        self.register_buffer("steepness", torch.from_numpy(bins.steepness), persistent=False)

    def __len__(self) -> int:
        return len(self.column)

    def forward(self, X: Tensor) -> Tensor:
        """Return what can be differentiated by torch.

        >>> import numpy as np
        >>> bins = Binned(SoftBins.fit(np.array([[0.0], [1.0], [3.0]]), np.array([True])))
        >>> bins(torch.tensor([[0.5], [2.0]]))
        tensor([[0.5000, 0.5000, 0.0000],
                [2.0000, 1.0000, 0.5000]])
        """
        if not len(self):
            return X
        deep = (X.index_select(1, self.column) - self.low) * self.steepness
        deep = torch.where((deep >= 0) & (deep < TOP), deep, deep.detach().clamp(0, 1))
        return torch.cat([X, deep if self.height is None else (deep - 0.5) * self.height], 1)

    def stacked(self, X: Tensor, v: Tensor) -> Tensor:
        """Return the same over its derivative along directions v (s, m) of the first rows, (n + s, m + d)."""
        both, n, s = torch.cat([X, v]), len(X), len(v)
        if not len(self):
            return both
        deep = both.index_select(1, self.column)
        deep[:n] -= self.low
        deep *= self.steepness
        deep[n:] *= (deep[:s] >= 0) & (deep[:s] < TOP)
        deep[:n].clamp_(0, 1)
        if self.height is not None:
            deep[:n] -= 0.5
            deep *= self.height
        return torch.cat([both, deep], 1)
