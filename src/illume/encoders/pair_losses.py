"""The terms of training on pairs, and how steady slopes are among neighbours."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from illume.encoders.losses import FAR, unit


def score_error(found: Tensor, wanted: Tensor, scale: float) -> Tensor:
    """Huber loss of scores in units of their spread, mean over rows and outputs.

    >>> score_error(torch.tensor([[6.0]]), torch.tensor([[0.0]]), 2.0)  # 3 - 1/2
    tensor(2.5000)
    """
    return functional.smooth_l1_loss(found / scale, wanted / scale)


def missed_change(predicted: Tensor, change: Tensor, scale: float) -> Tensor:
    r"""Mean square of :math:`f(x + d) - f(x) - \psi(x) d`, in units of the scores' spread.

    >>> missed_change(torch.tensor([[1.0]]), torch.tensor([[3.0]]), 2.0)
    tensor(1.)
    """
    return (change - predicted).square().mean() / scale**2


def steadiness(slopes: Tensor, near: Tensor) -> float:
    """Return the paper's robustness: for each K the least cosine to the K nearest rows, mean over K and rows.

    Slopes are (n, m); `near` (n, K) names each row's neighbours, nearest first, itself where there are none.

    >>> slopes = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> steadiness(slopes, torch.tensor([[1, 2], [0, 2], [0, 1]]))  # (1 + 0)/2, (1 + 0)/2, 0
    0.3333333432674408
    """
    U = unit(slopes)
    alike = (U[:, None] * U[near]).sum(2)
    return float(alike.cummin(1).values.mean())


def neighbours(distance: Tensor, decisions: Tensor, most: int) -> Tensor:
    """Return each row's nearest rows of the same decision (n, k), nearest first, itself where there are none.

    >>> distance = torch.tensor([[0.0, 4.0, 1.0], [4.0, 0.0, 9.0], [1.0, 9.0, 0.0]])
    >>> neighbours(distance, torch.tensor([0, 0, 1]), 2)
    tensor([[1, 0],
            [0, 1],
            [2, 2]])
    """
    n = len(distance)
    own = torch.arange(n, device=distance.device)
    other = (decisions[:, None] != decisions[None, :]) | (own[:, None] == own[None, :])
    found, index = distance.masked_fill(other, -FAR).topk(min(most, n), dim=1, largest=False)
    return torch.where(found < -FAR, index, own[:, None])
