r"""The encoders in torch: :math:`z = W(x) x`, where a network gives every row x its own map W(x).

Training and export use this module; `forward.py` is the same in NumPy, for explaining.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import torch
from scipy.sparse.linalg import lsqr
from torch import Tensor, nn
from torch.nn import functional

from illume._typing import FloatArray
from illume.encoders.base import EPSILON
from illume.encoders.forward import HEIGHT, SoftBins

BASE_LENGTH = 0.3  # initial length of the constant directions of low-rank maps, drawn at random
LED_LENGTH = 1.0  # the same for directions that were given
BELOW_KNOT = 1 - 1e-6  # rounding: from here on, a row counts as being at the bin's upper knot


class BinLayer(nn.Module):
    """Rows beside their soft bins, (n, m) to (n, m + d); see `SoftBins`.

    Bins are centred and scaled to the range of `HEIGHT`. At a knot, the derivative is that of the bin above.
    Knots are not trained and not part of the state.

    >>> import numpy as np
    >>> bins = BinLayer(SoftBins.fit(np.array([[0.0], [1.0], [3.0]]), np.array([True])))
    >>> bins(torch.tensor([[0.5], [2.0]]))
    tensor([[ 0.5000,  0.0000, -0.1250],
            [ 2.0000,  0.1250,  0.0000]])
    """

    column: Tensor
    low: Tensor
    steepness: Tensor

    def __init__(self, bins: SoftBins) -> None:
        super().__init__()
        for name in ("column", "low", "steepness"):
            self.register_buffer(name, torch.from_numpy(getattr(bins, name)), persistent=False)

    def forward(self, X: Tensor) -> Tensor:
        """Return rows and bins (n, m + d)."""
        if not len(self.column):
            return X
        depth = (X.index_select(1, self.column) - self.low) * self.steepness
        return torch.cat([X, (depth.clamp(0, 1) - 0.5) * HEIGHT], 1)

    def derivative(self, X: Tensor, v: Tensor) -> Tensor:
        """Return the derivative of the output at rows X along directions v, (n, m + d)."""
        if not len(self.column):
            return v
        depth = (X.index_select(1, self.column) - self.low) * self.steepness
        rising = (depth >= 0) & (depth < BELOW_KNOT)
        return torch.cat([v, v.index_select(1, self.column) * (self.steepness * HEIGHT * rising)], 1)


class MapNetwork(nn.Module):
    r"""Raw maps V(x) of rows, (n, m) to (n, k, m).

    With `rank` None, three linear layers with ReLU between them give V(x) itself. With a rank r they give
    A(x) (k, r) only, and :math:`V(x) = V_0 + A(x) B`, where V0 (k, m) and B (r, m) are trained and shared by
    all rows: the number of weights then grows as m, not m². With rank 0, all rows share the map V0.

    With `level`, each row also has levels l(x) (k,), the last column of a map of [x; 1]: latents are then
    :math:`V(x) x / |V(x)| + l(x)`.

    `widths` are those of the two hidden layers. `calm` is a factor on the last layer's initial weights: near
    0, all rows start with the same map.
    """

    def __init__(
        self,
        n_inputs: int,
        n_latents: int,
        generator: torch.Generator | None = None,
        *,
        widths: tuple[int, int] = (0, 0),
        rank: int | None = None,
        calm: float = 1.0,
        bins: SoftBins | None = None,
        level: bool = False,
    ) -> None:
        super().__init__()
        self.rank = rank
        self.level: nn.Linear | None = None
        self.bins = BinLayer(bins or SoftBins.none())
        self.shape = (n_latents, n_inputs if rank is None else rank)
        if rank != 0:
            sizes = (n_inputs + len(self.bins.column), *widths, math.prod(self.shape))
            one, two, three = (linear(a, b, generator) for a, b in pairwise(sizes))
            self.layers = nn.Sequential(one, nn.ReLU(), two, nn.ReLU(), three)
            with torch.no_grad():
                three.weight.mul_(calm)
            self.level = linear(widths[1], n_latents, generator) if level else None
        if rank:
            Q, _ = torch.linalg.qr(torch.randn(n_inputs, rank, generator=generator))
            self.basis = nn.Parameter(Q.mT.contiguous())
        if rank is not None:
            base = torch.randn(n_latents, n_inputs, generator=generator)
            self.base = nn.Parameter(BASE_LENGTH * base / math.sqrt(n_inputs) if rank else base)

    def forward(self, X: Tensor) -> Tensor:
        """Return raw maps (n, k, m)."""
        if self.rank == 0:
            return self.base.expand(len(X), -1, -1)
        return self.whole(self.factors(X))

    def factors(self, X: Tensor) -> Tensor:
        """Return A(x) (n, k, r or m)."""
        return self.factors_and_level(X)[0]

    def factors_and_level(self, X: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return A(x) (n, k, r or m), and the levels (n, k) if there are any."""
        h = self.bins(X)
        *hidden, last = self.layers
        for layer in hidden:
            h = layer(h)
        return last(h).unflatten(1, self.shape), None if self.level is None else self.level(h)

    def factors_along(self, X: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        r"""Return A(x), and its derivative along directions v of the first s rows, (s, k, r or m).

        Equal to `torch.func.jvp` of `factors`, with which a training step takes 1.5 times as long.
        """
        h, h_dot = self.bins(X), self.bins.derivative(X[: len(v)], v)
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                h, h_dot = layer(h), functional.linear(h_dot, layer.weight)
            else:
                h = layer(h)
                h_dot = h_dot * (h[: len(v)] > 0)
        return h.unflatten(1, self.shape), h_dot.unflatten(1, self.shape)

    def whole(self, A: Tensor) -> Tensor:
        """Return raw maps (n, k, m) from A."""
        return self.base + A @ self.basis if self.rank else A

    @torch.no_grad()
    def start_at(self, directions: Tensor) -> None:
        """Turn the constant directions of low-rank maps halfway to given unit ones (c, m), taken in turn.

        The random half keeps latents apart; a direction of zeros leaves all of it random.
        """
        given = directions[torch.arange(self.shape[0]) % len(directions)].to(self.base)
        mixed = LED_LENGTH * functional.normalize(functional.normalize(self.base, dim=1) + given, dim=1)
        self.base.copy_(torch.where(given.any(1, keepdim=True), mixed, self.base))


class EncoderModel(nn.Module):
    """What is trained: the maps and, for a joint objective, a linear head on the latents."""

    def __init__(self, maps: MapNetwork, head: nn.Linear | None) -> None:
        super().__init__()
        self.maps, self.head = maps, head


class EncodedBatch:
    r"""Latents of a batch, :math:`z = W(x) x`, and what the loss needs of its maps W.

    Maps are kept by their factors, raw :math:`V = V_0 + A B` and their length; low-rank ones are made whole
    only if they are cut, or if the loss asks for W. In one run on a busy machine, a fit of 2,000
    rows of 1,000 inputs took 133 s by factors and 342 s whole.

    Maps of the first s rows are differentiated along v (s, m); `alpha` is the number of inputs per latent,
    and `whole` says whether W is needed.
    """

    def __init__(self, maps: MapNetwork, X: Tensor, v: Tensor, alpha: int, whole: bool) -> None:
        self.base: Tensor | None = maps.base if maps.rank else None
        self.basis: Tensor | None = maps.basis if maps.rank else None
        self.level: Tensor | None = None
        if maps.rank == 0:
            self.A, self.A_dot = maps(X), v.new_zeros(0, *maps.base.shape)
        elif not len(v):
            self.A, self.level = maps.factors_and_level(X)
            self.A_dot = self.A[:0]
        else:
            self.A, self.A_dot = maps.factors_along(X, v)
        cut = alpha < X.shape[1]
        if self.basis is not None and (cut or whole):
            self.A, self.A_dot = maps.whole(self.A), self.A_dot @ self.basis
            self.base = self.basis = None
        if cut:
            self.A, mask = keep_largest(self.A, alpha)
            self.A_dot = self.A_dot * mask[: len(v)]
        self._encode(X)

    def _encode(self, X: Tensor) -> None:
        r"""Compute the lengths :math:`|V|`, the latents :math:`V x / |V|` and the drift."""
        A, A_dot, s = self.A, self.A_dot, len(self.A_dot)
        if self.base is None or self.basis is None:
            x, inner = X, A
            square, z = A.square().sum(2), (A @ x[:, :, None]).squeeze(2)
        else:
            x, offset = X @ self.basis.mT, self.base @ self.basis.mT
            inner = A @ (self.basis @ self.basis.mT) + offset  # V B^T
            square = self.base.square().sum(1) + (A * (inner + offset)).sum(2)
            z = X @ self.base.mT + (A @ x[:, :, None]).squeeze(2)
        # PAPER: unit length is not in the paper; without it, shrinking W to 0 minimises the stability term.
        self.length = square.clamp(min=0.0).add(EPSILON**2).sqrt()
        self.Z = z / self.length
        # J v = W v + (dW/dv) x, so (J - W) v (s, k) is (dW/dv) x.
        stretch = (A_dot * inner[:s]).sum(2) / self.length[:s]
        ahead = (A_dot @ x[:s, :, None]).squeeze(2)
        self.drift = (ahead - self.Z[:s] * stretch) / self.length[:s]
        if self.level is not None:
            self.Z = self.Z + self.level

    def along(self, D: Tensor) -> Tensor:
        r"""Return :math:`W_i d_i` of steps d, (n, m) to (n, k)."""
        if self.base is None or self.basis is None:
            return (self.A @ D[:, :, None]).squeeze(2) / self.length
        turned = (self.A @ (D @ self.basis.mT)[:, :, None]).squeeze(2)
        return (D @ self.base.mT + turned) / self.length

    def slopes_of(self, coef: Tensor, rows: slice) -> Tensor:
        r"""Return :math:`\beta_i W_i` of some rows with weights of their own; the first of `coef` (n, k)."""
        length = self.length[rows]
        weights = (coef[: len(length)] / length)[:, None, :]
        psi = weights @ self.A[rows]
        if self.basis is not None:
            psi = psi @ self.basis + weights @ self.base
        return psi.squeeze(1)

    @property
    def W(self) -> Tensor:
        """Unit maps (n, k, m), if they are whole."""
        return self.A / self.length[:, :, None]


def keep_largest(V: Tensor, alpha: int) -> tuple[Tensor, Tensor]:
    """Set all but the `alpha` largest absolute weights of each direction to 0; return it and the mask.

    Gradients pass straight through, so that a weight that was cut can come back.

    >>> keep_largest(torch.tensor([[[3.0, -4.0, 1.0]]]), 2)
    (tensor([[[ 3., -4.,  0.]]]), tensor([[[1., 1., 0.]]]))
    """
    index = V.abs().topk(min(alpha, V.shape[-1]), dim=-1).indices
    mask = torch.zeros_like(V).scatter(-1, index, 1.0)
    return V + (V * mask - V).detach(), mask


def linear(n_in: int, n_out: int, generator: torch.Generator | None) -> nn.Linear:
    """Return a linear layer with torch's default initialisation, drawn from the generator."""
    layer = nn.utils.skip_init(nn.Linear, n_in, n_out)
    bound = 1 / math.sqrt(n_in)
    nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
    nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
    return layer


START_ROWS = 16_384
START_LARGEST = 10.0  # inputs are clipped to so many standard deviations, so that outliers do not decide
ITERATIONS = 8  # few: stopping early shrinks the solution, as ridge regression does


def linear_directions(X: FloatArray, S: FloatArray) -> FloatArray:
    """Return unit directions (s, m) in which scores S (n, s) grow with X; 0 where they are constant.

    >>> X = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    >>> linear_directions(X, np.array([[2.0], [-2.0], [2.0], [-2.0]])).round(6)
    array([[1., 0.]])
    """
    every = slice(None, None, -(-len(X) // START_ROWS))
    X, S = np.clip(X[every], -START_LARGEST, START_LARGEST), S[every]
    X -= X.mean(0)
    found = np.array([lsqr(X, y, iter_lim=ITERATIONS)[0] for y in (S - S.mean(0)).T])
    length = np.linalg.norm(found, axis=1, keepdims=True)
    return found / np.where(length > 0, length, 1.0)
