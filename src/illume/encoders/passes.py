"""One pass through a network of linear layers and ReLUs that carries directions along with the rows.

Rows and directions go through every layer as one matrix product: a direction sees the same weights, no
bias, and passes where its row passed. Forward and backward pass are written out by hand, for what torch
would record are a few hundred small operations, which take longer than the products themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd import Function

from illume.encoders.distances import EPSILON


class Passed(NamedTuple):
    """Unit maps W (n, k, m), latents Z (n, k), and (J - W) v (s, k) of the first s rows."""

    W: Tensor
    Z: Tensor
    drift: Tensor


def pass_through(
    layers: Sequence[nn.Linear], shape: tuple[int, int], stacked: Tensor, n: int, alpha: int
) -> Passed:
    r"""Return maps, latents and drift of n rows, `stacked` over directions v for the first s of them.

    The first m columns are the inputs x, on which the maps act; others, such as bins, are for the network
    alone. The last layer gives the raw maps V, of shape (k, m); ReLUs stand between layers. A map is V with
    all but the `alpha` largest weights of every direction set to 0, and scaled to unit length. The drift is
    :math:`\dot W x` with :math:`\dot W` the change of the map along v. Gradients pass straight through what
    was set to 0.
    """
    parameters = [p for layer in layers for p in (layer.weight, layer.bias)]
    return Passed(*_Pass.apply(stacked, n, shape, alpha, *parameters))


class _Pass(Function):
    """All that is trained on, from rows over directions, stacked; their latents and drift come out."""

    @staticmethod
    def forward(
        ctx: Any, stacked: Tensor, n: int, shape: tuple[int, int], alpha: int, *parameters: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        weights, biases = parameters[::2], parameters[1::2]
        s, X = len(stacked) - n, stacked[:n, : shape[1]]
        hidden = [stacked]
        for weight, bias in zip(weights, biases, strict=True):
            out = hidden[-1] @ weight.T
            out[:n] += bias
            hidden.append(out)
            if weight is not weights[-1]:
                out[:n].relu_()
                out[n:] *= out[:s] > 0
        maps = hidden.pop().view(-1, *shape)
        mask = _cut(maps, n, alpha) if alpha < shape[1] else None
        W, V_dot = maps[:n], maps[n:]
        length = torch.linalg.vector_norm(W, dim=-1).square_().add_(EPSILON**2).sqrt_()
        W /= length[:, :, None]
        Z = torch.bmm(W, X[:, :, None]).squeeze(-1)
        along = (W[:s] * V_dot).sum(-1)
        drift = torch.bmm(V_dot, X[:s, :, None]).squeeze(-1)
        drift.addcmul_(Z[:s], along, value=-1).div_(length[:s])
        ctx.save_for_backward(maps, length, Z, along, drift, *hidden, *weights)
        ctx.n, ctx.mask, ctx.n_layers = n, mask, len(weights)
        ctx.set_materialize_grads(False)
        return W, Z, drift

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        maps, length, Z, along, drift, *others = ctx.saved_tensors
        hidden, weights = others[: ctx.n_layers], others[ctx.n_layers :]
        found = _Gradients(hidden[0], maps, length, Z, along, drift, ctx.mask)(ctx.n, *gradients)
        return None, None, None, None, *_through_layers(found.flatten(1), ctx.n, hidden, weights)


def _cut(maps: Tensor, n: int, alpha: int) -> Tensor:
    """Set all but the largest weights of each direction to zero, in place; return which were kept."""
    index = maps[:n].abs().topk(alpha, dim=-1).indices
    mask = torch.zeros_like(maps[:n]).scatter_(-1, index, 1.0)
    maps[:n] *= mask
    maps[n:] *= mask[: len(maps) - n]
    return mask


class _Gradients(NamedTuple):
    """What the gradient of the raw maps, rows over directions, is worked out from."""

    stacked: Tensor
    maps: Tensor
    length: Tensor
    Z: Tensor
    along: Tensor
    drift: Tensor
    mask: Tensor | None

    def __call__(self, n: int, of_W: Tensor | None, of_Z: Tensor | None, of_drift: Tensor | None) -> Tensor:
        """Return the gradient (n + s, k, m) from those of the maps, the latents and the drift."""
        s = len(self.maps) - n
        W, V_dot, length = self.maps[:n], self.maps[n:], self.length
        X = self.stacked[:n, : W.shape[2]]
        found = torch.empty_like(self.maps)
        of_V, of_change = found[:n], found[n:]
        of_Z = torch.zeros_like(self.Z) if of_Z is None else of_Z
        of_length = torch.zeros_like(length)
        if of_drift is None:
            of_change.zero_()
            torch.mul(of_Z[:, :, None], X[:, None, :], out=of_V)
        else:
            scaled = of_drift / length[:s]
            of_Z = of_Z.clone()
            of_Z[:s].addcmul_(scaled, self.along, value=-1)
            of_along = -scaled * self.Z[:s]
            of_length[:s].addcmul_(scaled, self.drift, value=-1)
            torch.mul(of_Z[:, :, None], X[:, None, :], out=of_V)
            of_V[:s].addcmul_(of_along[:, :, None], V_dot)
            torch.mul(scaled[:, :, None], X[:s, None, :], out=of_change)
            if self.mask is not None:
                of_change *= self.mask[:s]
            of_change.addcmul_(of_along[:, :, None], W[:s])
        if of_W is not None:
            of_V += of_W
        of_length.mul_(length).sub_((of_V * W).sum(-1))
        of_V.addcmul_(W, of_length[:, :, None]).div_(length[:, :, None])
        return found


def _through_layers(found: Tensor, n: int, hidden: list[Tensor], weights: list[Tensor]) -> list[Tensor]:
    """Return the gradients of all weights and biases, first layer first."""
    gradients: list[Tensor] = []
    s = len(found) - n
    for i in reversed(range(len(weights))):
        gradients = [found.T @ hidden[i], found[:n].sum(0), *gradients]
        if i:
            open_ = hidden[i][:n] > 0
            found = found @ weights[i]
            found[:n] *= open_
            found[n:] *= open_[:s]
    return gradients
