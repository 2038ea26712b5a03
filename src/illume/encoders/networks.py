"""The networks behind the encoders: row to raw map, and latents to logits."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from illume.encoders.binned import Binned
from illume.encoders.low_rank import WIDTH
from illume.encoders.options import hidden_widths
from illume.encoders.passes import Passed, pass_through
from illume.encoders.soft_bins import HEIGHT, SoftBins

BASE_LENGTH = 0.3  # of a low-rank map's constant directions, drawn at random
LED_LENGTH = 1.0  # of those that `lead` gave


def _initialised(n_in: int, n_out: int, generator: torch.Generator) -> nn.Linear:
    """Return a linear layer with torch's usual bounds, drawn from our own generator."""
    layer = nn.utils.skip_init(nn.Linear, n_in, n_out)
    bound = 1 / math.sqrt(n_in)
    nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
    nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
    return layer


class MetaNetwork(nn.Module):
    """A fully connected net of three linear layers, (n, m) to raw maps (n, k, m).

    The first layer sees rows beside their `bins`. `calm` scales the last layer's weights at the start: near
    0, all rows begin with one map. Hidden layers are at least `width` wide.
    """

    def __init__(
        self,
        n_inputs: int,
        n_latents: int,
        generator: torch.Generator,
        *,
        calm: float = 1.0,
        width: int = 0,
        bins: SoftBins | None = None,
    ) -> None:
        super().__init__()
        first, second = hidden_widths(n_inputs, n_latents, width)
        self.shape = (n_latents, n_inputs)
        self.binned = Binned(bins or SoftBins.none(), HEIGHT)
        one = _initialised(n_inputs + len(self.binned), first, generator)
        two = _initialised(first, second, generator)
        three = _initialised(second, n_latents * n_inputs, generator)
        self.layers = nn.Sequential(one, nn.ReLU(), two, nn.ReLU(), three)
        with torch.no_grad():
            three.weight.mul_(calm)

    def forward(self, X: Tensor) -> Tensor:
        """Return the raw maps, not yet scaled to unit directions."""
        return self.layers(self.binned(X)).unflatten(1, self.shape)

    def passed(self, X: Tensor, v: Tensor, alpha: int) -> Passed:
        """Return maps, latents and drift along v, from one product a layer."""
        linear = [layer for layer in self.layers if isinstance(layer, nn.Linear)]
        return pass_through(linear, self.shape, self.binned.stacked(X, v), len(X), alpha)


class LowRankNetwork(nn.Module):
    r"""Raw maps :math:`V_0 + A(x) B` (n, k, m), where a net of fixed width answers with A (k, r) alone.

    V0 (`base`) and B (`basis`) are trained along and the same for all rows. At the start the basis is
    orthonormal. `bins` and `calm` are as in `MetaNetwork`.
    """

    def __init__(
        self,
        n_inputs: int,
        n_latents: int,
        generator: torch.Generator,
        *,
        rank: int,
        calm: float = 1.0,
        width: int = WIDTH,
        bins: SoftBins | None = None,
    ) -> None:
        super().__init__()
        self.shape = (n_latents, rank)
        self.binned = Binned(bins or SoftBins.none(), HEIGHT)
        one = _initialised(n_inputs + len(self.binned), width, generator)
        two = _initialised(width, width, generator)
        three = _initialised(width, n_latents * rank, generator)
        self.layers = nn.Sequential(one, nn.ReLU(), two, nn.ReLU(), three)
        Q, _ = torch.linalg.qr(torch.randn(n_inputs, rank, generator=generator))
        self.basis = nn.Parameter(Q.mT.contiguous())
        base = torch.randn(n_latents, n_inputs, generator=generator)
        self.base = nn.Parameter(BASE_LENGTH * base / math.sqrt(n_inputs))
        with torch.no_grad():
            three.weight.mul_(calm)

    @torch.no_grad()
    def lead(self, directions: Tensor) -> None:
        """Let the constant directions start near given ones (c, m) of unit length, taken in turn.

        Half of each stays random, so that latents differ; where a given one is 0, all of it.
        """
        led = directions[torch.arange(self.shape[0]) % len(directions)].to(self.base)
        mixed = functional.normalize(self.base, dim=1) + led
        found = led.square().sum(1, keepdim=True) > 0
        self.base.copy_(torch.where(found, LED_LENGTH * functional.normalize(mixed, dim=1), self.base))

    def forward(self, X: Tensor) -> Tensor:
        """Return the raw maps, not yet scaled to unit directions."""
        return self.base + self.factors(X) @ self.basis

    def factors(self, X: Tensor) -> Tensor:
        """Return A (n, k, r), all that differs from row to row."""
        return self.layers(self.binned(X)).unflatten(1, self.shape)

    def factors_along(self, X: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Return A (n, k, r) and, for the first rows, its derivative along their directions v."""
        hidden, change = self.binned.stacked(X, v).tensor_split([len(X)])
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                hidden, change = layer(hidden), functional.linear(change, layer.weight)
            else:
                change = change * (hidden[: len(v)] > 0)
                hidden = layer(hidden)
        return hidden.unflatten(1, self.shape), change.unflatten(1, self.shape)


class ConstantMap(nn.Module):
    """One matrix for all rows: (n, m) to the same raw map (n, k, m)."""

    def __init__(self, n_inputs: int, n_latents: int, generator: torch.Generator) -> None:
        super().__init__()
        self.map = nn.Parameter(torch.randn(n_latents, n_inputs, generator=generator))

    def forward(self, X: Tensor) -> Tensor:
        """Return the one raw map, once per row."""
        return self.map.expand(len(X), -1, -1)


def head(n_latents: int, n_classes: int, generator: torch.Generator) -> nn.Linear:
    """Return the joint head: one log-odds for two classes, one logit a class for more."""
    return _initialised(n_latents, 1 if n_classes == 2 else n_classes, generator)
