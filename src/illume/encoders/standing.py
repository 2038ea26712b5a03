"""Where a training stands: all that it takes to go on from there, to arrays and back."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from illume.data.checkpoints import Stage
from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.data.typed_json import dump, read
from illume.errors import CheckpointError, FormatError
from illume.results.history import Epoch

DENSE, THINNING, SPARSE, FINISHED = range(4)
DIVERGED = "the loss became NaN; the best weights before that were kept"
NOTHING = "the loss was NaN from the first epoch on, and nothing was learned"
MOMENTS = ("exp_avg", "exp_avg_sq")

Weights = dict[str, Tensor]


@dataclass
class Standing:
    """How far the training is: the phase, its epochs done, and the best so far of this phase."""

    phase: int = DENSE
    done: int = 0
    best_loss: float = math.inf
    best: int = 0
    ended: str = ""
    weights: Weights = field(default_factory=dict)

    @property
    def diverged(self) -> bool:
        """Whether the loss became NaN."""
        return self.ended in (DIVERGED, NOTHING)

    def remember(self, loss: float, epoch: int, modules: nn.Module) -> None:
        """Keep the weights of the best epoch."""
        self.best_loss, self.best, self.weights = loss, epoch, weights_of(modules)


def weights_of(modules: nn.Module) -> Weights:
    """Return a copy of all weights."""
    return copy.deepcopy(modules.state_dict())


@dataclass(frozen=True)
class Place:
    """The part of a standing that JSON holds."""

    phase: int
    done: int
    best_loss: float
    best: int
    ended: str
    alpha: int
    epochs: tuple[Epoch, ...]


@dataclass(frozen=True, eq=False)
class Parts:
    """What a training changes as it goes on, beside its standing."""

    modules: nn.Module
    optimiser: torch.optim.Adam
    generator: torch.Generator


def dump_standing(at: Standing, alpha: int, epochs: list[Epoch], parts: Parts) -> tuple[Any, ArrayWriter]:
    """Return a standing as JSON values and arrays."""
    place = Place(at.phase, at.done, at.best_loss, at.best, at.ended, alpha, tuple(epochs))
    arrays = ArrayWriter()
    _add(arrays, "model", parts.modules.state_dict())
    if at.phase != FINISHED:
        _add(arrays, "best", at.weights)
        arrays.add("generator", parts.generator.get_state().numpy())
        for i, moments in enumerate(parts.optimiser.state.values()):
            _add(arrays, f"adam.{i}", moments)
    return dump(Place, place), arrays


def restore(stage: Stage, parts: Parts) -> tuple[Standing, Place]:
    """Bring model, optimiser and random generator to where they were; return the standing."""
    try:
        place: Place = read(Place, stage.values, "training")
        arrays, now = stage.arrays, parts.modules.state_dict()
        parts.modules.load_state_dict(_take(arrays, "model", now))
        at = Standing(place.phase, place.done, place.best_loss, place.best, place.ended)
        if place.phase != FINISHED:
            at.weights = _take(arrays, "best", now)
            _restore_optimiser(arrays, parts.optimiser)
            parts.generator.set_state(torch.from_numpy(arrays.take("generator", np.uint8, (None,))))
        arrays.finish()
    except FormatError as error:
        raise CheckpointError(f"the checkpoint of a training does not fit it: {error}") from error
    return at, place


def _restore_optimiser(arrays: ArrayReader, adam: torch.optim.Adam) -> None:
    """Fill in Adam's moments; before the first step it has none."""
    parameters = [p for group in adam.param_groups for p in group["params"]]
    if "adam.0.step" not in arrays:
        return
    for i, parameter in enumerate(parameters):
        step = torch.from_numpy(arrays.take(f"adam.{i}.step", np.float32, (None,))).reshape(()).clone()
        like = dict.fromkeys(MOMENTS, parameter)
        capturable = adam.param_groups[0]["capturable"]
        adam.state[parameter] = {
            "step": step.to(parameter.device) if capturable else step,
            **_take(arrays, f"adam.{i}", like),
        }


def _add(arrays: ArrayWriter, prefix: str, tensors: Mapping[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        arrays.add(f"{prefix}.{name}", tensor.detach().cpu().numpy())


def _take(arrays: ArrayReader, prefix: str, like: Mapping[str, Tensor]) -> Weights:
    """Return tensors with the shapes and on the device of others, in memory of their own."""
    found = {}
    for name, tensor in like.items():
        array = arrays.take(f"{prefix}.{name}", np.float32, tuple(tensor.shape), finite=False)
        found[name] = torch.from_numpy(np.ascontiguousarray(array)).to(tensor.device, copy=True)
    return found
