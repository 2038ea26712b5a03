"""The training objective: its terms and their weighted sum on one batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from illume.encoders import losses
from illume.encoders.batches import Batch
from illume.encoders.networks import EncodedBatch, EncoderModel
from illume.encoders.options import Objective


@dataclass(frozen=True, eq=False)
class OneHot:
    """The one-hot columns: a mask (m,), and how many there are, counted once (a GPU would synchronise)."""

    mask: Tensor
    count: int


class PairwiseCache:
    """Relations between the rows of a batch that do not depend on the model, each computed on first use."""

    def __init__(self, batch: Batch, onehot: OneHot) -> None:
        self.batch, self.onehot = batch, onehot

    @cached_property
    def inputs(self) -> Tensor:
        """Distances of inputs (n, n)."""
        return losses.input_distances(self.batch.X, self.onehot.mask, self.onehot.count)

    @cached_property
    def log_Y(self) -> Tensor:
        """Log of the neighbourhoods by decisions (n, n)."""
        return losses.log_neighbours(losses.cosine(self.batch.P))

    @cached_property
    def near(self) -> Tensor:
        """The nearest rows of the same decision, 0 or 1, (n, n)."""
        return losses.nearest(self.inputs, self.batch.P.argmax(1))


def loss_terms(
    objective: Objective, model: EncoderModel, batch: Batch, onehot: OneHot, alpha: int
) -> dict[str, Tensor]:
    """Return each term with a weight above 0, unweighted, by its name in `Objective.weights`."""
    constant = model.maps.rank == 0
    stable = objective.lambda_st > 0 and not constant
    whole = objective.lambda_w > 0 or objective.lambda_so > 0
    encoded = EncodedBatch(model.maps, batch.X, batch.v if stable else batch.v[:0], alpha, whole)
    pairs = PairwiseCache(batch, onehot)
    W = encoded.W if objective.lambda_w and not constant else None
    terms = _structure_terms(objective, pairs, W, encoded.Z)
    if stable:
        terms["st"] = losses.instability(encoded.drift, batch.X.shape[1])
    if objective.lambda_so:
        terms["so"] = losses.orthogonality(encoded.W)
    if objective.lambda_co:
        terms["co"] = losses.collinearity(encoded.Z)
    if model.head is not None:
        logits = model.head(encoded.Z)
        terms["g"] = losses.mimicry(logits, batch.P)
        if objective.lambda_l:
            terms["l"] = losses.excess(logits, batch.P)
        if objective.aligns:
            terms |= _explanation_terms(objective, pairs, encoded.slopes(model.head.weight))
    return terms


def total(objective: Objective, terms: dict[str, Tensor]) -> Tensor:
    """Return the weighted sum of the terms."""
    if not terms:
        raise ValueError("no loss term is left to train on; give the objective a weight above 0")
    weights = objective.weights
    return torch.stack([weights[name] * term for name, term in terms.items()]).sum()


def _structure_terms(
    objective: Objective, pairs: PairwiseCache, W: Tensor | None, Z: Tensor
) -> dict[str, Tensor]:
    """Return the KL divergences between neighbourhoods."""
    terms: dict[str, Tensor] = {}
    if not (objective.lambda_x or objective.lambda_y or W is not None):
        return terms
    log_Z = losses.log_neighbours(losses.cosine(Z))
    if objective.lambda_x:
        terms["x"] = losses.divergence(losses.log_neighbours(pairs.inputs), log_Z)
    if W is not None:
        terms["w"] = losses.divergence(log_Z, losses.log_neighbours(losses.map_distances(W)))
    if objective.lambda_y:
        terms["y"] = losses.divergence(pairs.log_Y, log_Z)
    return terms


def _explanation_terms(objective: Objective, pairs: PairwiseCache, psi: Tensor) -> dict[str, Tensor]:
    """Return the terms on slopes psi (n, c * m) and on contributions, slopes times inputs."""
    terms = {}
    if objective.lambda_e:
        terms["e"] = losses.divergence(pairs.log_Y, losses.log_neighbours(losses.cosine(psi)))
    if objective.lambda_n:
        terms["n"] = losses.neighbour_spread(psi, pairs.near)
    if not (objective.lambda_py or objective.lambda_pn):
        return terms
    X = pairs.batch.X
    contributions = psi * X.repeat(1, psi.shape[1] // X.shape[1])
    if objective.lambda_py:
        apart = losses.log_neighbours(losses.cosine(contributions))
        terms["py"] = losses.divergence(pairs.log_Y, apart)
    if objective.lambda_pn:
        terms["pn"] = losses.neighbour_spread(contributions, pairs.near)
    return terms
