"""The training objective: its terms and their sum on one batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from illume.encoders import distances, losses
from illume.encoders.distances import Columns
from illume.encoders.factored import FactoredMaps, contrasts
from illume.encoders.networks import LowRankNetwork
from illume.encoders.options import Objective
from illume.encoders.stability import instability, passed


class Maps(Protocol):
    """What is trained: raw maps of rows, whether they are one for all rows, and a head or none."""

    @property
    def maps(self) -> nn.Module:
        """The network from rows (n, m) to raw maps (n, k, m)."""

    @property
    def head(self) -> nn.Linear | None:
        """The linear head on the latents of a joint objective."""

    @property
    def constant(self) -> bool:
        """Whether all rows share one map."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows with the black box's answers, and random directions v for the first of them.

    The stability term is estimated on the rows that have a direction.
    """

    X: Tensor
    P: Tensor
    v: Tensor


def slopes(W: Tensor, coefficients: Tensor) -> Tensor:
    r""":math:`\psi_i = \beta W_i`, concatenated over classes: (n, k, m) and (c, k) to (n, c * m)."""
    return (contrasts(coefficients) @ W).flatten(1)


class Views(NamedTuple):
    """What the terms are made of: maps, where they are asked for, latents, drift, and slopes of weights."""

    W: Tensor | None
    Z: Tensor
    drift: Tensor | None
    slopes: Callable[[Tensor], Tensor]


def loss_terms(
    objective: Objective,
    model: Maps,
    batch: Batch,
    columns: Columns,
    alpha: int,
    *,
    between: Between | None = None,
) -> dict[str, Tensor]:
    """Compute each wanted term, unweighted, by the name of its weight without `lambda_`.

    What lies `between` the rows of a batch may have been worked out for another model already.
    """
    between = between or Between(batch, columns)
    W, Z, drift, slopes_of = _views(objective, model, batch, alpha)
    terms = _structure_terms(objective, between, None if model.constant else W, Z)
    if drift is not None:
        terms["st"] = instability(drift, batch.X.shape[1])
    if objective.lambda_so and W is not None:
        terms["so"] = losses.orthogonality(W)
    if objective.lambda_co:
        terms["co"] = losses.collinearity(Z)
    if model.head is not None:
        logits = model.head(Z)
        terms["g"] = losses.mimicry(logits, batch.P)
        if objective.lambda_l:
            terms["l"] = losses.excess(logits, batch.P)
        if objective.aligns:
            terms |= _explanation_terms(objective, between, slopes_of(model.head.weight))
    return terms


def total(objective: Objective, terms: dict[str, Tensor]) -> Tensor:
    """Return the weighted sum of the terms."""
    if not terms:
        raise ValueError("no loss term is left to train on; give the objective a weight above 0")
    weighted = [getattr(objective, f"lambda_{name}") * term for name, term in terms.items()]
    return torch.stack(weighted).sum()


def _views(objective: Objective, model: Maps, batch: Batch, alpha: int) -> Views:
    """Look at a batch; low-rank maps are made whole only where a term is about their single weights."""
    whole = objective.lambda_w or objective.lambda_so or alpha < batch.X.shape[1]
    steady = bool(objective.lambda_st) and not model.constant
    if isinstance(model.maps, LowRankNetwork) and not whole:
        maps = FactoredMaps.of(model.maps, batch.X, batch.v)
        return Views(None, maps.Z, maps.drift() if steady else None, maps.slopes)
    W, Z, drift = passed(model.maps, batch.X, batch.v if steady else batch.v[:0], alpha)
    return Views(W, Z, drift if steady else None, partial(slopes, W))


class Between:
    """What a batch's inputs and decisions say about its pairs, each worked out once, on first need."""

    def __init__(self, batch: Batch, columns: Columns) -> None:
        self.batch, self.columns = batch, columns

    @cached_property
    def inputs(self) -> Tensor:
        """How far apart inputs are (n, n)."""
        return distances.mixed(self.batch.X, self.columns)

    @cached_property
    def log_X(self) -> Tensor:
        """Log of who is near whom by inputs (n, n)."""
        return losses.log_neighbours(self.inputs)

    @cached_property
    def log_Y(self) -> Tensor:
        """Log of who is near whom by decisions (n, n)."""
        return losses.log_neighbours(distances.cosine(self.batch.P))

    @cached_property
    def near(self) -> Tensor:
        """The nearest rows of the same decision, 0 or 1, (n, n)."""
        return losses.nearest(self.inputs, self.batch.P.argmax(1))

    def prepare(self, objectives: Sequence[Objective]) -> None:
        """Work out all that some objectives will ask for."""
        wanted = {"log_X": ("x",), "log_Y": ("y", "e", "py"), "near": ("n", "pn")}
        for name, terms in wanted.items():
            if any(getattr(each, f"lambda_{term}") for each in objectives for term in terms):
                getattr(self, name)


def _structure_terms(
    objective: Objective, between: Between, W: Tensor | None, Z: Tensor
) -> dict[str, Tensor]:
    terms: dict[str, Tensor] = {}
    if not (objective.lambda_x or objective.lambda_y or (objective.lambda_w and W is not None)):
        return terms
    log_Z = losses.log_neighbours(distances.cosine(Z))
    if objective.lambda_x:
        terms["x"] = losses.divergence(between.log_X, log_Z)
    if objective.lambda_w and W is not None:
        terms["w"] = losses.divergence(log_Z, losses.log_neighbours(distances.unit_maps(W)))
    if objective.lambda_y:
        terms["y"] = losses.divergence(between.log_Y, log_Z)
    return terms


def _explanation_terms(objective: Objective, between: Between, psi: Tensor) -> dict[str, Tensor]:
    terms = {}
    X = between.batch.X
    for like_decisions, like_neighbours in (("e", "n"), ("py", "pn")):
        wants_decisions = getattr(objective, f"lambda_{like_decisions}")
        wants_neighbours = getattr(objective, f"lambda_{like_neighbours}")
        if not (wants_decisions or wants_neighbours):
            continue
        contributions = like_decisions == "py"
        told = psi * X.repeat(1, psi.shape[1] // X.shape[1]) if contributions else psi
        if wants_decisions:
            apart = losses.log_neighbours(distances.cosine(told))
            terms[like_decisions] = losses.divergence(between.log_Y, apart)
        if wants_neighbours:
            terms[like_neighbours] = losses.neighbour_spread(told, between.near)
    return terms
