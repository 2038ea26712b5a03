"""How far a row's map is from the derivative of its latents: neighbours should share a map."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from illume.encoders.passes import Passed
from illume.encoders.sparsity import keep_largest, normalised

RawMaps = Callable[[Tensor], Tensor]


def passed(raw_maps: RawMaps, X: Tensor, v: Tensor, alpha: int) -> Passed:
    """Return maps and latents of rows X (n, m), and (J - W) v of the first rows, as many as v has.

    A network that knows a quicker way has a method `passed`; others are differentiated by torch.
    """
    own = getattr(raw_maps, "passed", None)
    if own is not None:
        found: Passed = own(X, v, alpha)
        return found
    if len(v) == 0:
        W, _ = normalised(keep_largest(raw_maps(X), alpha)[0])
        drift = X.new_zeros(0, W.shape[1])
    else:
        W, drift = maps_and_drift(raw_maps, X[: len(v)], v, alpha)
        if len(v) < len(X):
            W = torch.cat([W, normalised(keep_largest(raw_maps(X[len(v) :]), alpha)[0])[0]])
    return Passed(W, (W @ X[:, :, None]).squeeze(-1), drift)


def maps_and_drift(raw_maps: RawMaps, X: Tensor, v: Tensor, alpha: int) -> tuple[Tensor, Tensor]:
    r"""Return every row's map W (n, k, m) and :math:`(J - W) v` (n, k) from one forward-mode product.

    `raw_maps` gives the unscaled maps V(x). With :math:`z = W(x) x` the derivative is
    :math:`J v = W v + \dot W x`, so what is left over is :math:`\dot W x`, where :math:`\dot W` is the
    change of the scaled and sparsified map along v.
    """
    V, V_dot = torch.func.jvp(raw_maps, (X,), (v,))  # type: ignore[misc]
    kept, mask = keep_largest(V, alpha)
    W, length = normalised(kept)
    V_dot = V_dot * mask
    W_dot = (V_dot - W * (W * V_dot).sum(-1, keepdim=True)) / length
    return W, (W_dot @ X[:, :, None]).squeeze(-1)


def instability(drift: Tensor, n_inputs: int) -> Tensor:
    r"""Estimate the mean square entry of :math:`J - W` from :math:`(J - W) v`, :math:`v \sim N(0, I)`.

    :math:`E_v |(J - W) v|^2 = |J - W|_F^2`, hence the mean over rows and latents divided by the
    number of inputs is unbiased.
    """
    return drift.square().mean() / n_inputs


def exact_instability(raw_maps: RawMaps, X: Tensor, alpha: int) -> Tensor:
    """Mean square entry of J - W with the whole Jacobian: k backward passes, for reference only."""

    def latents(x: Tensor) -> Tensor:
        V = raw_maps(x[None])
        _, mask = keep_largest(V.detach(), alpha)
        W, _ = normalised(V * mask)
        return (W[0] @ x[:, None]).squeeze(-1)

    J = torch.func.vmap(torch.func.jacrev(latents))(X)
    kept, _ = keep_largest(raw_maps(X), alpha)
    return (J - normalised(kept)[0]).square().mean()
