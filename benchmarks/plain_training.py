"""A straightforward training loop for the paper's objective, which the library's own is measured against.

It is written as one reads the formulas: the Jacobian of the latents by one backward pass per latent, the
distances between maps by a loop over latents, every distance computed where it is used. Rows, batches,
optimiser, epochs and validation are those of the library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from illume.encoders.batches import Rows

EPSILON = 1e-8


def cosine_distance(A: Tensor, B: Tensor) -> Tensor:
    """All pairs of rows, (n, d) and (n, d) to (n, n)."""
    return 1 - (A / (A.norm(dim=1, keepdim=True) + EPSILON)) @ (B / (B.norm(dim=1, keepdim=True) + EPSILON)).T


def log_neighbours(distance: Tensor) -> Tensor:
    """Log of how likely row i takes row j for its neighbour; -inf for itself."""
    weights = -distance.square()
    weights = weights.masked_fill(torch.eye(len(weights), dtype=torch.bool), -math.inf)
    return weights.log_softmax(1)


def divergence(log_A: Tensor, log_B: Tensor) -> Tensor:
    """Kullback-Leibler divergence, mean over rows."""
    others = ~torch.eye(len(log_A), dtype=torch.bool)
    n = len(log_A)
    log_A, log_B = log_A[others].view(n, n - 1), log_B[others].view(n, n - 1)
    return (log_A.exp() * (log_A - log_B)).sum(1).mean()


def jacobian(Z: Tensor, X: Tensor) -> Tensor:
    """Return the derivative of every latent in every input (n, k, m), one backward pass per latent."""
    rows = [torch.autograd.grad(Z[:, r].sum(), X, create_graph=True)[0] for r in range(Z.shape[1])]
    return torch.stack(rows, dim=1)


def collinearity(Z: Tensor) -> Tensor:
    """Mean square entry of the absolute correlations less the identity."""
    return (torch.corrcoef(Z.T).abs() - torch.eye(Z.shape[1])).square().mean()


def terms(maps: nn.Module, X: Tensor, P: Tensor) -> dict[str, Tensor]:
    """Each term of the paper's objective `co` on a batch of numeric rows."""
    X = X.clone().requires_grad_()
    V = maps(X)
    W = V / V.norm(dim=2, keepdim=True)
    Z = torch.einsum("nkm,nm->nk", W, X)
    between_maps = [cosine_distance(W[:, r], W[:, r]) for r in range(W.shape[1])]
    d_W = torch.stack(between_maps).mean(0)
    return {
        "x": divergence(log_neighbours(cosine_distance(X, X)), log_neighbours(cosine_distance(Z, Z))),
        "w": divergence(log_neighbours(cosine_distance(Z, Z)), log_neighbours(d_W)),
        "y": divergence(log_neighbours(cosine_distance(P, P)), log_neighbours(cosine_distance(Z, Z))),
        "st": (jacobian(Z, X) - W).square().mean(),
        "co": collinearity(Z),
    }


@dataclass
class PlainTraining:
    """Adam on shuffled batches; after every epoch the loss on validation rows."""

    maps: nn.Module
    rows: Rows
    validation: Rows
    batch_size: int
    learning_rate: float
    generator: torch.Generator

    def run(self, n_epochs: int) -> list[float]:
        """Train, and return the validation loss after every epoch."""
        adam = torch.optim.Adam(self.maps.parameters(), lr=self.learning_rate)
        losses = []
        for _ in range(n_epochs):
            order = torch.randperm(len(self.rows), generator=self.generator)
            for index in torch.tensor_split(order, math.ceil(len(order) / self.batch_size)):
                adam.zero_grad()
                loss = torch.stack(self._terms(self.rows, index)).sum()
                loss.backward()
                adam.step()
            losses.append(self._validated())
        return losses

    def _terms(self, rows: Rows, index: Tensor) -> list[Tensor]:
        return list(terms(self.maps, rows.X[index], rows.P[index]).values())

    def _validated(self) -> float:
        everything = torch.arange(len(self.validation))
        total = 0.0
        for index in torch.tensor_split(everything, math.ceil(len(everything) / self.batch_size)):
            loss = torch.stack(self._terms(self.validation, index)).sum()
            total += float(loss.detach()) * len(index) / len(everything)
        return total
