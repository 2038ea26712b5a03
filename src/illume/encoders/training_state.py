"""The state of a training, and how checkpoints store it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from illume.data.checkpoints import Stage
from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.data.typed_json import dump, read
from illume.errors import CheckpointError, FormatError
from illume.results.diagnostics import Epoch

if TYPE_CHECKING:
    from illume.encoders.training import Trainer

DENSE, THINNING, SPARSE, FINISHED = range(4)
DIVERGED = "the loss became NaN; the best weights before that were kept"
NOTHING = "the loss was NaN from the first epoch on, and nothing was learned"
MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass
class TrainingState:
    """The phase of a training: epochs done in it, the best of them, and why it ended; and all epochs."""

    alpha: int
    phase: int = DENSE
    done: int = 0
    best_loss: float = math.inf
    best: int = 0
    ended: str = ""
    epochs: tuple[Epoch, ...] = ()

    @property
    def diverged(self) -> bool:
        """Whether the loss became NaN."""
        return self.ended in (DIVERGED, NOTHING)

    def begin(self, phase: int, best: int) -> None:
        """Begin another phase; `best` is the epoch to return to if none is better."""
        self.phase, self.done, self.best_loss, self.best, self.ended = phase, 0, math.inf, best, ""


def dump_state(trainer: Trainer) -> tuple[Any, ArrayWriter]:
    """Return the state of a training as JSON values and arrays."""
    arrays = ArrayWriter()
    _add(arrays, "model", trainer.model.state_dict())
    if trainer.state.phase != FINISHED:
        _add(arrays, "best", trainer.best)
        arrays.add("generator", trainer.generator.get_state().numpy())
        for i, moments in enumerate(trainer.optimizer.state.values()):
            _add(arrays, f"adam.{i}", moments)
    return dump(TrainingState, trainer.state), arrays


def restore_state(stage: Stage, trainer: Trainer) -> None:
    """Continue a training from a stored state."""
    try:
        trainer.state = read(TrainingState, stage.values, "training")
        arrays, now = stage.arrays, trainer.model.state_dict()
        trainer.model.load_state_dict(_take(arrays, "model", now))
        if trainer.state.phase != FINISHED:
            trainer.best = _take(arrays, "best", now)
            _restore_optimizer(arrays, trainer.optimizer)
            trainer.generator.set_state(torch.from_numpy(arrays.take("generator", np.uint8, (None,))))
        arrays.finish()
    except FormatError as error:
        raise CheckpointError(f"the checkpoint does not fit the training: {error}") from error


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


def _take(arrays: ArrayReader, prefix: str, like: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return copies of stored tensors with the shapes and on the device of others."""
    found = {}
    for name, tensor in like.items():
        array = arrays.take(f"{prefix}.{name}", np.float32, tuple(tensor.shape), finite=False)
        found[name] = torch.from_numpy(np.ascontiguousarray(array)).to(tensor.device, copy=True)
    return found
