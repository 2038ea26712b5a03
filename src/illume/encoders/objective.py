"""The training objective: which terms count how much, and their sum on one batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from illume.encoders import distances, losses
from illume.encoders.distances import Columns
from illume.encoders.factored import FactoredMaps, contrasts
from illume.encoders.networks import LowRankNetwork
from illume.encoders.sparsity import keep_largest, normalised
from illume.encoders.stability import instability, maps_and_drift


@dataclass(frozen=True)
class Objective:
    """Weights of the loss terms; 0 leaves a term out, and it is then not computed.

    Parameters
    ----------
    lambda_x, lambda_w
        Latents keep the structure of the inputs; maps keep the structure of the latents.
    lambda_y
        Latents keep the structure of the decisions (0 is the paper's `uc`).
    lambda_st
        A row's map is the derivative of its latents (0 is the paper's `us`).
    lambda_so, lambda_co
        Latent directions use distinct inputs; latents are uncorrelated.
    lambda_g
        A linear head on the latents is trained along with the encoder and becomes the surrogate.
    lambda_l
        The head's log-odds are as large as the black box's, so that sure rows do not run away.
    lambda_e, lambda_n
        Slopes are as close as decisions are; the nearest rows of one decision share their slopes.
    lambda_py, lambda_pn
        The same two for contributions. These five need the head, `lambda_g > 0`.
    alpha
        How many inputs a latent direction may use; None is all.
    calm
        Factor on the last layer at the start: near 0, the map starts global and bends where it must.
    width
        Hidden layers are at least so wide; the paper's, geometric between m and m * k, are too
        narrow for data of few columns.
    """

    lambda_x: float = 1.0
    lambda_w: float = 1.0
    lambda_y: float = 1.0
    lambda_st: float = 1.0
    lambda_so: float = 0.0
    lambda_co: float = 1.0
    lambda_g: float = 0.0
    lambda_l: float = 0.0
    lambda_e: float = 0.0
    lambda_n: float = 0.0
    lambda_py: float = 0.0
    lambda_pn: float = 0.0
    alpha: int | None = None
    calm: float = 1.0
    width: int = 0

    def __post_init__(self) -> None:
        """Refuse weights that mean nothing."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name != "alpha" and not 0 <= value < float("inf"):
                raise ValueError(f"{field.name} must be a finite number >= 0, found {value!r}")
        if self.alpha is not None and self.alpha < 1:
            raise ValueError(f"alpha must be at least 1 input per latent, found {self.alpha!r}")
        if (self.aligns or self.lambda_l) and not self.joint:
            raise ValueError("lambda_l, lambda_e, lambda_n, lambda_py and lambda_pn need lambda_g > 0")

    @property
    def joint(self) -> bool:
        """Whether a linear head is trained along with the encoder."""
        return self.lambda_g > 0

    @property
    def aligns(self) -> bool:
        """Whether explanations themselves are part of the loss, which takes a head."""
        return any((self.lambda_e, self.lambda_n, self.lambda_py, self.lambda_pn))

    def unconditioned(self) -> Objective:
        """Return the same objective without the terms that need the black box's answers.

        Latents then keep at least the structure of the inputs.
        """
        return replace(
            self,
            lambda_x=self.lambda_x or 1.0,
            lambda_y=0.0,
            lambda_g=0.0,
            lambda_l=0.0,
            lambda_e=0.0,
            lambda_n=0.0,
            lambda_py=0.0,
            lambda_pn=0.0,
        )

    def softened(self, alignment: float) -> Objective:
        """Return the same objective with the four terms on explanations weighted by `alignment`."""
        return replace(
            self,
            lambda_e=alignment * self.lambda_e,
            lambda_n=alignment * self.lambda_n,
            lambda_py=alignment * self.lambda_py,
            lambda_pn=alignment * self.lambda_pn,
        )

    @classmethod
    def preset(cls, name: str) -> Objective:
        """Return a named objective.

        `co` and `so` are the paper's best for attributions and for rules (two inputs per latent);
        `joint` adds the head to `co`. `aligned`, the default, is the head, whose log-odds are kept
        to the size of the black box's, steady maps and, for neighbours of one decision, the same slopes,
        without the paper's terms on neighbourhoods: slopes then follow the model itself more closely, at
        half the cost of a step. Terms that tie
        explanations to decisions (`lambda_e`, `lambda_py`) are not part of it: they make contributions
        follow the decision at the cost of following the model.

        >>> Objective.preset("so").alpha
        2
        """
        if name not in PRESETS:
            raise ValueError(f"objective {name!r} is not known; choose one of {sorted(PRESETS)}")
        return PRESETS[name]


PRESETS = {
    "co": Objective(),
    "so": Objective(lambda_co=0.0, lambda_so=1.0, alpha=2),
    "joint": Objective(lambda_g=1.0, width=128),
    "aligned": Objective(
        lambda_x=0.0,
        lambda_w=0.0,
        lambda_y=0.0,
        lambda_co=0.0,
        lambda_st=10.0,
        lambda_g=3.0,
        lambda_l=0.1,
        lambda_n=0.1,
        width=128,
    ),
}


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
    objective: Objective, model: Maps, batch: Batch, columns: Columns, alpha: int
) -> dict[str, Tensor]:
    """Compute each wanted term, unweighted, by the name of its weight without `lambda_`."""
    W, Z, drift, slopes_of = _views(objective, model, batch, alpha)
    between = _Distances(batch, columns)
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
    if isinstance(model.maps, LowRankNetwork) and not whole:
        maps = FactoredMaps.of(model.maps, batch.X, batch.v)
        return Views(None, maps.Z, maps.drift() if objective.lambda_st else None, maps.slopes)
    W, drift = _maps(objective, model, batch, alpha)
    Z = (W @ batch.X[:, :, None]).squeeze(-1)
    return Views(W, Z, drift, partial(slopes, W))


def _maps(objective: Objective, model: Maps, batch: Batch, alpha: int) -> tuple[Tensor, Tensor | None]:
    """Return the maps of a batch and, where the stability term is wanted, their drift along v."""
    n = len(batch.v)
    if not objective.lambda_st or model.constant:
        return normalised(keep_largest(model.maps(batch.X), alpha)[0])[0], None
    W, drift = maps_and_drift(model.maps, batch.X[:n], batch.v, alpha)
    if n < len(batch.X):
        rest, _ = normalised(keep_largest(model.maps(batch.X[n:]), alpha)[0])
        W = torch.cat([W, rest])
    return W, drift


class _Distances:
    """What a batch's inputs and decisions say about its pairs, each worked out once, on first need."""

    def __init__(self, batch: Batch, columns: Columns) -> None:
        self.batch, self.columns = batch, columns

    @cached_property
    def inputs(self) -> Tensor:
        return distances.mixed(self.batch.X, self.columns)

    @cached_property
    def log_X(self) -> Tensor:
        return losses.log_neighbours(self.inputs)

    @cached_property
    def log_Y(self) -> Tensor:
        return losses.log_neighbours(distances.cosine(self.batch.P))


def _structure_terms(
    objective: Objective, between: _Distances, W: Tensor | None, Z: Tensor
) -> dict[str, Tensor]:
    terms: dict[str, Tensor] = {}
    if not (objective.lambda_x or objective.lambda_y or (objective.lambda_w and W is not None)):
        return terms
    log_Z = losses.log_neighbours(distances.cosine(Z))
    if objective.lambda_x:
        terms["x"] = losses.divergence(between.log_X, log_Z)
    if objective.lambda_w and W is not None:
        terms["w"] = losses.divergence(log_Z, losses.log_neighbours(distances.maps(W)))
    if objective.lambda_y:
        terms["y"] = losses.divergence(between.log_Y, log_Z)
    return terms


def _explanation_terms(objective: Objective, between: _Distances, psi: Tensor) -> dict[str, Tensor]:
    terms = {}
    X, decisions = between.batch.X, between.batch.P.argmax(1)
    phi = psi * X.repeat(1, psi.shape[1] // X.shape[1])
    for explanation, like_decisions, like_neighbours in ((psi, "e", "n"), (phi, "py", "pn")):
        wants_decisions = getattr(objective, f"lambda_{like_decisions}")
        wants_neighbours = getattr(objective, f"lambda_{like_neighbours}")
        if not (wants_decisions or wants_neighbours):
            continue
        apart = distances.cosine(explanation)
        if wants_decisions:
            terms[like_decisions] = losses.divergence(between.log_Y, losses.log_neighbours(apart))
        if wants_neighbours:
            terms[like_neighbours] = losses.neighbour_spread(apart, between.inputs, decisions)
    return terms
