"""How far apart two rows are: in inputs, latents, decisions and maps."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import torch
from torch import Tensor
from torch.autograd import Function

from illume.encoders.base import EPSILON as EPSILON


def unit(A: Tensor) -> Tensor:
    """Scale the last axis to unit length; a zero vector stays zero and gives no NaN.

    >>> unit(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    tensor([[0.6000, 0.8000],
            [0.0000, 0.0000]])
    """
    return torch.nn.functional.normalize(A, dim=-1, eps=EPSILON)


def gram(A: Tensor) -> Tensor:
    r"""All inner products :math:`A A^\top`, (..., n, d) to (..., n, n).

    Its gradient is one product, not the two that torch makes of a product of two unrelated matrices.

    >>> gram(torch.tensor([[3.0, 4.0], [1.0, 0.0]]))
    tensor([[25.,  3.],
            [ 3.,  1.]])
    """
    found: Tensor = _Gram.apply(A)
    return found


class _Gram(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(A: Tensor) -> Tensor:
        return A @ A.mT

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (A,) = ctx.saved_tensors
        return (gradient + gradient.mT) @ A


def cosine(A: Tensor) -> Tensor:
    r"""All pairs of :math:`1 - a_i \cdot a_j / (|a_i| |a_j|)`, (n, d) to (n, n).

    A row of zero length is at distance 1 from all others.

    >>> cosine(torch.tensor([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]]))
    tensor([[0., 1., 2.],
            [1., 0., 1.],
            [2., 1., 0.]])
    """
    return 1.0 - gram(unit(A))


class Columns(NamedTuple):
    """Which inputs are one-hot columns, a boolean (m,) mask, and how many of them there are."""

    onehot: Tensor
    n_onehot: int

    @classmethod
    def of(cls, onehot: Tensor) -> Self:
        """Count once: a GPU would have to be waited for at every step."""
        return cls(onehot, int(onehot.sum()))


def hamming(onehot: Tensor, n_onehot: int | None = None) -> Tensor:
    r"""All pairs of the share of one-hot columns that differ, (n, h) to (n, n).

    Two one-hot columns differ by 0 or 1, centred or not, so the share is
    :math:`|a_i - a_j|^2 / h`: one matrix product. Columns beyond `n_onehot` are zeros.

    >>> hamming(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    tensor([[0., 1., 0.],
            [1., 0., 1.],
            [0., 1., 0.]])
    """
    square = onehot.square().sum(1)
    gram = onehot @ onehot.mT
    distance = square[:, None] + square[None, :] - 2.0 * gram
    return distance.clamp(min=0.0) / (n_onehot or onehot.shape[1])


def mixed(X: Tensor, columns: Columns) -> Tensor:
    r"""Input distance: :math:`(m-h)/m\, d_{cos} + h/m\, d_{hamming}`, (n, m) to (n, n).

    With columns of one kind only, that kind's distance stands alone. The other kind's columns are set
    to 0, not left out: the distances are the same, and no shape depends on the data.

    >>> X = torch.tensor([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
    >>> mixed(X, Columns.of(torch.tensor([False, True, True])))[0, 1]  # 1/3 * 2 + 2/3 * 0
    tensor(0.6667)
    """
    # PAPER: the paper prints (h - m)/m for the numeric part, a slip of sign.
    m, h = X.shape[1], columns.n_onehot
    if h == 0:
        return cosine(X)
    if h == m:
        return hamming(X)
    numbers, categories = X * ~columns.onehot, X * columns.onehot
    return (m - h) / m * cosine(numbers) + h / m * hamming(categories, h)


def maps(W: Tensor) -> Tensor:
    r"""All pairs of the mean over r of :math:`d_{cos}(W_{ir}, W_{jr})`, (n, k, m) to (n, n).

    With unit rows this is :math:`1 - \langle W_i, W_j \rangle / k`, one matrix product.

    >>> W = torch.stack([torch.eye(2), torch.tensor([[1.0, 0.0], [0.0, -1.0]])])
    >>> maps(W)[0, 1]  # the first direction is shared, the second is reversed
    tensor(1.)
    """
    return unit_maps(unit(W))


def unit_maps(W: Tensor) -> Tensor:
    """Return what `maps` does for maps whose directions have unit length already."""
    return 1.0 - gram(W.flatten(1)) / W.shape[1]
