"""The two networks behind Shapley values: one learns the model, the other its Shapley values."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from illume.shapley.codes import Coding

SPREAD = 1.5  # of a feature's embedding over its table, at the start


class FeatureTable(nn.Module):
    """Each feature's value as numbers: `main` (c of them) and an embedding (d of them).

    Entries of a number are steps from one knot to the next, so that neighbouring bins learn together.
    """

    is_step: Tensor
    start: Tensor

    def __init__(self, coding: Coding, n_main: int, n_embedding: int, generator: torch.Generator) -> None:
        super().__init__()
        self.n_main = n_main
        steps = torch.from_numpy(coding.steps)
        start = torch.from_numpy(coding.starts[coding.owner])
        widths = torch.from_numpy(coding.widths[coding.owner]).float()
        self.register_buffer("is_step", steps)
        self.register_buffer("start", start)
        scale = torch.where(steps, SPREAD / widths.sqrt(), torch.tensor(SPREAD / 2))
        embedding = torch.randn(coding.size, n_embedding, generator=generator) * scale[:, None]
        self.weights = nn.Parameter(torch.cat([torch.zeros(coding.size, n_main), embedding], 1))

    def nodes(self) -> Tensor:
        """Return the table itself, (size, c + d): steps added up."""
        up = torch.where(self.is_step[:, None], self.weights, 0.0).cumsum(0)
        level = self.weights[self.start] + up - up[self.start]
        return torch.where(self.is_step[:, None], level, self.weights)

    def forward(self, at: Tensor, part: Tensor) -> tuple[Tensor, Tensor]:
        """Return main values (n, m, c) and embeddings (n, m, d) of codes (n, m)."""
        nodes = self.nodes()
        rise = torch.cat([nodes[1:] - nodes[:-1], torch.zeros_like(nodes[:1])])
        width = nodes.shape[1]
        found = functional.embedding(at, torch.cat([nodes, rise], 1))
        values = found[..., :width] + part[..., None] * found[..., width:]
        return values[..., : self.n_main], values[..., self.n_main :]


def _linear(n_in: int, n_out: int, generator: torch.Generator, scale: float = 1.0) -> nn.Linear:
    layer = nn.utils.skip_init(nn.Linear, n_in, n_out)
    with torch.no_grad():
        layer.weight.copy_(scale * torch.randn(n_out, n_in, generator=generator) / n_in**0.5)
        layer.bias.zero_()
    return layer


def gate_units(hidden: Tensor) -> Tensor:
    """Return SiLU of the first half times the second half, on the last axis."""
    gate, value = hidden.chunk(2, -1)
    return functional.silu(gate) * value


class ModelNetwork(nn.Module):
    """The model's log-odds: main effects of each feature, and gated units of all embeddings together.

    The first layer is a sum over features, so that a walk that changes one feature at a time changes one
    summand at a time.
    """

    def __init__(
        self, coding: Coding, n_outputs: int, n_embedding: int, n_units: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.table = FeatureTable(coding, n_outputs, n_embedding, generator)
        self.first = _linear(coding.n_features * n_embedding, 2 * n_units, generator)
        self.last = _linear(n_units, n_outputs, generator, scale=0.0)

    def forward(self, at: Tensor, part: Tensor) -> Tensor:
        """Return outputs (n, c)."""
        main, embedding = self.table(at, part)
        return main.sum(1) + self.interacting(embedding)

    def interacting(self, embedding: Tensor) -> Tensor:
        """Return what the gated units add, (n, c)."""
        return self.last(gate_units(self.first(embedding.flatten(1))))


class ValueNetwork(nn.Module):
    r"""Shapley values: :math:`\phi_j = g_j(x_j) + \langle C_j(x), e_j(x_j) \rangle`.

    Each feature's own embedding times coefficients that depend on the whole row: a row has its own linear
    map of its features' embeddings.
    """

    def __init__(
        self, coding: Coding, n_outputs: int, n_embedding: int, n_units: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        m = coding.n_features
        self.shape = (m, n_embedding, n_outputs)
        self.table = FeatureTable(coding, n_outputs, n_embedding, generator)
        self.constant = nn.Parameter(torch.zeros(m, n_outputs))
        self.first = _linear(m * n_embedding, 3 * n_units, generator)
        self.last = _linear(2 * n_units, m * n_embedding * n_outputs, generator, scale=0.1)

    def forward(self, at: Tensor, part: Tensor) -> Tensor:
        """Return values (n, m, c)."""
        main, embedding = self.table(at, part)
        hidden = self.first(embedding.flatten(1))
        units = hidden.shape[1] // 3
        context = torch.cat([gate_units(hidden[:, : 2 * units]), hidden[:, 2 * units :]], 1)
        coefficients = self.last(context).unflatten(1, self.shape)
        return main + self.constant + (coefficients * embedding[..., None]).sum(2)
