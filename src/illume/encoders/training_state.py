"""The state of a training, and how checkpoints store it."""

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

StateDict = dict[str, Tensor]


@dataclass
class Phase:
    """A phase of training: its epochs so far, and the best of them by validation loss."""

    kind: int = DENSE
    done: int = 0
    best_loss: float = math.inf
    best: int = 0
    ended: str = ""
    weights: StateDict = field(default_factory=dict)

    @property
    def diverged(self) -> bool:
        """Whether the loss became NaN."""
        return self.ended in (DIVERGED, NOTHING)

    def keep_best(self, loss: float, epoch: int, model: nn.Module) -> None:
        """Keep the weights of the best epoch."""
        self.best_loss, self.best, self.weights = loss, epoch, copy.deepcopy(model.state_dict())


@dataclass(frozen=True)
class Progress:
    """The part of the state that is stored as JSON."""

    phase: int
    done: int
    best_loss: float
    best: int
    ended: str
    alpha: int
    epochs: tuple[Epoch, ...]


@dataclass(frozen=True, eq=False)
class TrainingParts:
    """What changes with every step."""

    model: nn.Module
    optimizer: torch.optim.Adam
    generator: torch.Generator


def dump_state(
    phase: Phase, alpha: int, epochs: list[Epoch], parts: TrainingParts
) -> tuple[Any, ArrayWriter]:
    """Return the state of a training as JSON values and arrays."""
    progress = Progress(
        phase.kind, phase.done, phase.best_loss, phase.best, phase.ended, alpha, tuple(epochs)
    )
    arrays = ArrayWriter()
    _add(arrays, "model", parts.model.state_dict())
    if phase.kind != FINISHED:
        _add(arrays, "best", phase.weights)
        arrays.add("generator", parts.generator.get_state().numpy())
        for i, moments in enumerate(parts.optimizer.state.values()):
            _add(arrays, f"adam.{i}", moments)
    return dump(Progress, progress), arrays


def restore_state(stage: Stage, parts: TrainingParts) -> tuple[Phase, Progress]:
    """Restore model, optimizer and random generator in place; return the phase and the rest."""
    try:
        at: Progress = read(Progress, stage.values, "training")
        arrays, now = stage.arrays, parts.model.state_dict()
        parts.model.load_state_dict(_take(arrays, "model", now))
        phase = Phase(at.phase, at.done, at.best_loss, at.best, at.ended)
        if at.phase != FINISHED:
            phase.weights = _take(arrays, "best", now)
            _restore_optimizer(arrays, parts.optimizer)
            parts.generator.set_state(torch.from_numpy(arrays.take("generator", np.uint8, (None,))))
        arrays.finish()
    except FormatError as error:
        raise CheckpointError(f"the checkpoint does not fit the training: {error}") from error
    return phase, at


def _restore_optimizer(arrays: ArrayReader, adam: torch.optim.Adam) -> None:
    if "adam.0.step" not in arrays:  # no step was taken yet
        return
    on_device = adam.param_groups[0]["capturable"]
    for i, parameter in enumerate(adam.param_groups[0]["params"]):
        step = torch.from_numpy(arrays.take(f"adam.{i}.step", np.float32, (None,))).reshape(()).clone()
        adam.state[parameter] = {
            "step": step.to(parameter.device) if on_device else step,
            **_take(arrays, f"adam.{i}", dict.fromkeys(MOMENTS, parameter)),
        }


def _add(arrays: ArrayWriter, prefix: str, tensors: Mapping[str, Tensor]) -> None:
    for name, tensor in tensors.items():
        arrays.add(f"{prefix}.{name}", tensor.detach().cpu().numpy())


def _take(arrays: ArrayReader, prefix: str, like: Mapping[str, Tensor]) -> StateDict:
    """Return copies of stored tensors with the shapes and on the device of others."""
    found = {}
    for name, tensor in like.items():
        array = arrays.take(f"{prefix}.{name}", np.float32, tuple(tensor.shape), finite=False)
        found[name] = torch.from_numpy(np.ascontiguousarray(array)).to(tensor.device, copy=True)
    return found
