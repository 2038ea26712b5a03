"""The training objective: distances between the rows of a batch, its terms, and their weighted sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from illume.encoders.base import EPSILON
from illume.encoders.batches import Batch
from illume.encoders.networks import EncodedBatch, EncoderModel
from illume.encoders.options import Objective

if TYPE_CHECKING:
    from illume.encoders.targets import Targets


class OneHot(NamedTuple):
    """The one-hot columns: a mask (m,), and how many there are, counted once (a GPU would synchronise)."""

    mask: Tensor
    n_columns: int


def unit(A: Tensor) -> Tensor:
    """Scale the last axis to unit length; a zero vector stays zero.

    >>> unit(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    tensor([[0.6000, 0.8000],
            [0.0000, 0.0000]])
    """
    return functional.normalize(A, dim=-1, eps=EPSILON)


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


def input_distances(X: Tensor, onehot: OneHot) -> Tensor:
    r"""Input distance: :math:`(m-h)/m\, d_{cos} + h/m\, d_{hamming}`, (n, m) to (n, n).

    Of the m columns, h are one-hot. Columns of the other kind are set to 0, not left out, so that no shape
    depends on the data.

    >>> X = torch.tensor([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
    >>> input_distances(X, OneHot(torch.tensor([False, True, True]), 2))[0, 1]  # 1/3 * 2 + 2/3 * 0
    tensor(0.6667)
    """
    # PAPER: the paper prints (h - m)/m for the numeric part, a slip of sign.
    m, (mask, h) = X.shape[1], onehot
    if h == 0:
        return cosine(X)
    if h == m:
        return hamming(X)
    return (m - h) / m * cosine(X * ~mask) + h / m * hamming(X * mask, h)


def map_distances(W: Tensor) -> Tensor:
    r"""All pairs of the mean over r of :math:`d_{cos}(W_{ir}, W_{jr})`, unit maps (n, k, m) to (n, n).

    >>> W = torch.stack([torch.eye(2), torch.tensor([[1.0, 0.0], [0.0, -1.0]])])
    >>> map_distances(W)[0, 1]  # the first direction is shared, the second is reversed
    tensor(1.)
    """
    flat = W.flatten(1)
    return 1.0 - flat @ flat.mT / W.shape[1]


FAR = -1e9  # a log-weight whose exponential is 0 in float32, finite so that no gradient is NaN


def log_neighbours(distance: Tensor, temperature: float = 1.0) -> Tensor:
    r"""Log of :math:`S_{ij} = e^{-d_{ij}^2/\tau} / \sum_{v \ne i} e^{-d_{iv}^2/\tau}`, (n, n) to (n, n).

    The diagonal is not part of the distribution; it is 0 in the result.

    >>> log_neighbours(torch.tensor([[0.0, 1.0, 1.0], [1.0, 0.0, 5.0], [1.0, 5.0, 0.0]]))[0].exp()
    tensor([1.0000, 0.5000, 0.5000])
    """
    # PAPER: the authors' code keeps the diagonal in the sum; the paper, and we, leave it out.
    diagonal = torch.eye(len(distance), dtype=torch.bool, device=distance.device)
    weights = (distance.square() * (-1.0 / temperature)).masked_fill(diagonal, FAR)
    return weights.log_softmax(1).masked_fill(diagonal, 0.0)


def divergence(log_A: Tensor, log_B: Tensor) -> Tensor:
    r"""Mean over rows of :math:`\sum_{j \ne i} S_{ij}(A) \log (S_{ij}(A) / S_{ij}(B))`.

    >>> same = log_neighbours(torch.rand(4, 4))
    >>> divergence(same, same)
    tensor(0.)
    """
    terms = log_A.exp() * (log_A - log_B)  # the diagonal is e^0 * (0 - 0)
    return terms.sum() / len(log_A)


def orthogonality(W: Tensor) -> Tensor:
    r"""Mean square entry of :math:`|W_i| |W_i|^\top - I`.

    Zero when the latents of a row share no input and have unit length. W is (n, k, m).

    >>> orthogonality(torch.eye(2, 3).expand(5, 2, 3))
    tensor(0.)
    """
    # PAPER: absolute values first, so that overlaps count whatever their sign.
    A, identity = W.abs(), torch.eye(W.shape[1], dtype=W.dtype, device=W.device)
    return (A @ A.mT - identity).square().mean()


def collinearity(Z: Tensor) -> Tensor:
    r"""Mean square entry of :math:`|C| - I`, C the Pearson matrix of the latents. Z is (n, k).

    A latent that is constant in the batch correlates with nothing, itself included.

    >>> collinearity(torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]))
    tensor(0.)
    """
    centred = Z - Z.mean(0)
    direction = functional.normalize(centred, dim=0, eps=EPSILON)
    correlation = direction.mT @ direction
    identity = torch.eye(Z.shape[1], dtype=Z.dtype, device=Z.device)
    return (correlation.abs() - identity).square().mean()


def nearest(distance: Tensor, decisions: Tensor, n_neighbours: int = 3) -> Tensor:
    """Return a matrix (n, n) that is 1 at each row's nearest rows of the same decision, else 0.

    Rows with fewer such neighbours keep the ones they have.

    >>> distance = torch.tensor([[0.0, 4.0, 1.0], [4.0, 0.0, 9.0], [1.0, 9.0, 0.0]])
    >>> nearest(distance, torch.tensor([0, 0, 1]))
    tensor([[0., 1., 0.],
            [1., 0., 0.],
            [0., 0., 0.]])
    """
    other = decisions[:, None] != decisions[None, :]
    other = other | torch.eye(len(other), dtype=torch.bool, device=other.device)
    reachable = distance.masked_fill(other, torch.inf)
    n_neighbours = min(n_neighbours, len(distance))
    found, index = reachable.topk(n_neighbours, dim=1, largest=False)
    return torch.zeros_like(distance).scatter_(1, index, found.isfinite().to(distance.dtype))


def instability(drift: Tensor, n_inputs: int) -> Tensor:
    r"""Estimate the mean square entry of :math:`J - W` from :math:`(J - W) v` (s, k), :math:`v \sim N(0, I)`.

    :math:`E_v |(J - W) v|^2 = |J - W|_F^2`, so the mean over rows and latents divided by the number of
    inputs is unbiased.
    """
    # PAPER: the paper computes the whole Jacobian; one random direction a row needs no backward passes.
    return drift.square().mean() / n_inputs


def neighbour_spread(A: Tensor, near: Tensor) -> Tensor:
    r"""Mean cosine distance between rows of A (n, d) and their neighbours, `near` (n, n) of 0 and 1.

    With unit rows u this needs only :math:`\sum_i u_i \cdot \sum_j N_{ij} u_j`. It is 0 without neighbours.

    >>> A = torch.tensor([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]])
    >>> neighbour_spread(A, torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    tensor(1.5000)
    """
    U, n_pairs = unit(A), near.sum()
    return (n_pairs - (U * (near @ U)).sum()) / n_pairs.clamp(min=1)


USED = 0.1  # length of an input's weights at which it counts as used
INPUT_PENALTY, MANY_INPUTS = 6e-4, 120  # in full from so many inputs on, in proportion below


def input_penalty(model: EncoderModel) -> Tensor | float:
    """Return the penalty on the inputs that a network with a head uses."""
    # PAPER: not in the paper. Without it, a network that sees hundreds of inputs learns noise by those that
    # matter little.
    if model.maps.rank == 0 or model.head is None:
        return 0.0
    weight, column = model.maps.layers.get_parameter("0.weight"), model.maps.bins.column
    n_inputs = weight.shape[1] - len(column)
    return INPUT_PENALTY * min(1.0, n_inputs / MANY_INPUTS) * input_use(weight, column)


def input_use(weight: Tensor, column: Tensor) -> Tensor:
    r"""Return about how many inputs a first layer uses: :math:`\sum_j \log(1 + |w_j| / 0.1)`.

    The weights of an input j are those in `weight` (h, m + d) of the input and of its bins; `column` (d,)
    says which input a bin is of. The logarithm takes weights of inputs that matter little to 0 and hardly
    shrinks the others.

    >>> input_use(torch.tensor([[0.0, 0.3, 0.0], [0.0, 0.0, 0.4]]), torch.tensor([1]))  # 0 and log(1 + 5)
    tensor(1.7918)
    """
    m = weight.shape[1] - len(column)
    square = weight[:, :m].square().sum(0)
    square = square.index_add(0, column, weight[:, m:].square().sum(0))
    return torch.log1p((square + EPSILON**2).sqrt() / USED).sum()


def loss_terms(
    objective: Objective, model: EncoderModel, batch: Batch, onehot: OneHot, alpha: int, *, targets: Targets
) -> dict[str, Tensor]:
    """Return each term with a weight above 0, unweighted, by its name in `Objective.weights`."""
    constant = model.maps.rank == 0
    stable = objective.lambda_st > 0 and not constant
    whole = objective.lambda_w > 0 or objective.lambda_so > 0
    encoded = EncodedBatch(model.maps, batch.X, batch.v if stable else batch.v[:0], alpha, whole)
    W = encoded.W if objective.lambda_w and not constant else None
    terms = _structure_terms(objective, batch, onehot, targets, (W, encoded.Z))
    if stable:
        terms["st"] = instability(encoded.drift, batch.X.shape[1])
    if objective.lambda_so:
        terms["so"] = orthogonality(encoded.W)
    if objective.lambda_co:
        terms["co"] = collinearity(encoded.Z)
    if model.head is not None:
        logits = model.head(encoded.Z)
        terms["g"] = targets.mimicry(logits, batch.P)
    return terms


def _structure_terms(
    objective: Objective, batch: Batch, onehot: OneHot, targets: Targets, latent: tuple[Tensor | None, Tensor]
) -> dict[str, Tensor]:
    """Return the KL divergences between neighbourhoods, of maps W (n, k, m) and latents Z (n, k) too."""
    W, Z = latent
    terms: dict[str, Tensor] = {}
    if not (objective.lambda_x or objective.lambda_y or W is not None):
        return terms
    log_Z = log_neighbours(cosine(Z))
    if objective.lambda_x:
        terms["x"] = divergence(log_neighbours(input_distances(batch.X, onehot)), log_Z)
    if W is not None:
        terms["w"] = divergence(log_Z, log_neighbours(map_distances(W)))
    if objective.lambda_y:
        terms["y"] = divergence(log_neighbours(targets.distances(batch.P)), log_Z)
    return terms


def weighted_sum(objective: Objective, terms: dict[str, Tensor]) -> Tensor:
    """Return the weighted sum of the terms."""
    if not terms:
        raise ValueError("no loss term is left to train on; give the objective a weight above 0")
    weights = objective.weights
    return torch.stack([weights[name] * term for name, term in terms.items()]).sum()
