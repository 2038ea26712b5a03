"""What the loss asks of maps of low rank, from their factors: no (n, k, m) is ever made."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from illume.encoders.distances import EPSILON
from illume.encoders.networks import LowRankNetwork


def contrasts(coefficients: Tensor) -> Tensor:
    """Take from the weights (c, k) what all classes share: softmax ignores it, and so must explanations."""
    return coefficients - coefficients.mean(0) if len(coefficients) > 1 else coefficients


@dataclass(frozen=True, eq=False)
class FactoredMaps:
    r"""Rows' maps :math:`W_{ir} = (V_{0r} + A_{ir} B) / l_{ir}`, by their factors.

    `along` is how `A` changes along the first rows' random directions v.
    """

    network: LowRankNetwork
    X: Tensor
    A: Tensor
    along: Tensor
    length: Tensor
    Z: Tensor

    @classmethod
    def of(cls, network: LowRankNetwork, X: Tensor, v: Tensor) -> FactoredMaps:
        r"""Let the network answer; :math:`l^2 = |V_0|^2 + 2 A (B V_0^\top) + A (B B^\top) A^\top`."""
        base, basis = network.base, network.basis
        A, along = network.factors_along(X, v)
        square = base.square().sum(1) + (A * (A @ (basis @ basis.mT) + 2.0 * (base @ basis.mT))).sum(2)
        length = square.clamp(min=0.0).add(EPSILON**2).sqrt()
        z = X @ base.mT + (A @ (X @ basis.mT)[:, :, None]).squeeze(2)
        return cls(network, X, A, along, length, z / length)

    def drift(self) -> Tensor:
        r"""Return :math:`(J - W) v = \dot W x` of the rows that have a direction, (n, k).

        With :math:`\dot V = \dot A B` it is
        :math:`(\dot V x - z \langle V, \dot V \rangle / l) / l`.
        """
        n, (base, basis) = len(self.along), (self.network.base, self.network.basis)
        A, X, Z, length = self.A[:n], self.X[:n], self.Z[:n], self.length[:n]
        ahead = (self.along @ (X @ basis.mT)[:, :, None]).squeeze(2)
        stretch = (self.along * (A @ (basis @ basis.mT) + base @ basis.mT)).sum(2)
        return (ahead - Z * stretch / length) / length

    def slopes(self, coefficients: Tensor) -> Tensor:
        r"""Return :math:`\psi_i = \beta W_i`, concatenated over classes, (n, c * m)."""
        weights = contrasts(coefficients) / self.length[:, None, :]
        mixed = torch.cat([weights, weights @ self.A], dim=2)
        return (mixed @ torch.cat([self.network.base, self.network.basis])).flatten(1)
