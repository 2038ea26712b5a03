"""Distances between all pairs of rows of a batch: of inputs, latents, decisions and maps."""

from __future__ import annotations

import torch
from torch import Tensor

from illume.encoders.base import EPSILON


def unit(A: Tensor) -> Tensor:
    """Scale the last axis to unit length; a zero vector stays zero.

    >>> unit(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    tensor([[0.6000, 0.8000],
            [0.0000, 0.0000]])
    """
    return torch.nn.functional.normalize(A, dim=-1, eps=EPSILON)


def cosine(A: Tensor) -> Tensor:
    r"""All pairs of :math:`1 - a_i \cdot a_j / (|a_i| |a_j|)`, (n, d) to (n, n).

    A row of zeros is at distance 1 from all others.

    >>> cosine(torch.tensor([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]]))
    tensor([[0., 1., 2.],
            [1., 0., 1.],
            [2., 1., 0.]])
    """
    U = unit(A)
    return 1.0 - U @ U.mT


def hamming(onehot: Tensor, n_onehot: int | None = None) -> Tensor:
    r"""All pairs of the share of one-hot columns that differ, (n, h) to (n, n).

    One-hot columns differ by 0 or 1, centred or not, so the share is :math:`|a_i - a_j|^2 / h`. Columns
    beyond `n_onehot` are zeros.

    >>> hamming(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    tensor([[0., 1., 0.],
            [1., 0., 1.],
            [0., 1., 0.]])
    """
    square = onehot.square().sum(1)
    distance = square[:, None] + square[None, :] - 2.0 * (onehot @ onehot.mT)
    return distance.clamp(min=0.0) / (n_onehot or onehot.shape[1])


def mixed(X: Tensor, onehot: Tensor, h: int) -> Tensor:
    r"""Input distance: :math:`(m-h)/m\, d_{cos} + h/m\, d_{hamming}`, (n, m) to (n, n).

    `onehot` is a mask (m,) of the h one-hot columns. Columns of the other kind are set to 0, not left out, so
    that no shape depends on the data.

    >>> X = torch.tensor([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
    >>> mixed(X, torch.tensor([False, True, True]), 2)[0, 1]  # 1/3 * 2 + 2/3 * 0
    tensor(0.6667)
    """
    # PAPER: the paper prints (h - m)/m for the numeric part, a slip of sign.
    m = X.shape[1]
    if h == 0:
        return cosine(X)
    if h == m:
        return hamming(X)
    return (m - h) / m * cosine(X * ~onehot) + h / m * hamming(X * onehot, h)


def maps(W: Tensor) -> Tensor:
    r"""All pairs of the mean over r of :math:`d_{cos}(W_{ir}, W_{jr})`, unit maps (n, k, m) to (n, n).

    >>> W = torch.stack([torch.eye(2), torch.tensor([[1.0, 0.0], [0.0, -1.0]])])
    >>> maps(W)[0, 1]  # the first direction is shared, the second is reversed
    tensor(1.)
    """
    flat = W.flatten(1)
    return 1.0 - flat @ flat.mT / W.shape[1]
