"""The training of an encoder from arrays to arrays: torch begins and ends here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from tqdm.auto import tqdm

from illume._typing import FloatArray
from illume.data.checkpoints import Slot
from illume.data.threads import is_out_of_memory
from illume.encoders.base import Head
from illume.encoders.batches import Model, Rows
from illume.encoders.forward import LARGEST
from illume.encoders.networks import LowRankNetwork, head
from illume.encoders.options import Training
from illume.encoders.soft_bins import SoftBins
from illume.encoders.starts import linear_directions
from illume.encoders.trained import Lesson
from illume.encoders.training import Trainer
from illume.errors import OutOfMemoryError
from illume.results.history import History

BATCHES = 0x5EED  # tells the random numbers of batches from those of weights


@dataclass(frozen=True, eq=False)
class Learned:
    """What a training leaves behind: weights by name, inputs per latent, the joint head, bins, the epochs."""

    weights: dict[str, FloatArray]
    alpha: int
    head: Head | None
    bins: SoftBins
    history: History


class Learning:
    """The training of one encoder: it can be looked at, and brought to its end.

    `rows` are those of the lesson as tensors, which several trainings may share.
    """

    def __init__(self, encoder: Any, lesson: Lesson, rows: tuple[Rows, Rows], slot: Slot | None) -> None:
        self.encoder, self.training, self.bins = encoder, lesson.training, lesson.bins
        (X, P), objective = (rows[0].X, rows[0].P), lesson.objective
        generator = torch.Generator().manual_seed(lesson.seed)
        maps = encoder._network(X.shape[1], objective, generator, lesson.bins)
        if isinstance(maps, LowRankNetwork) and objective.joint:
            maps.lead(torch.from_numpy(linear_directions(*lesson.rows[0])))
        self.maps = maps.to(X.device)
        classes = P.shape[1]
        self.head = head(encoder.n_latents, classes, generator).to(X.device) if objective.joint else None
        onehot = torch.zeros(X.shape[1], dtype=torch.bool, device=X.device)
        onehot[list(encoder.onehot)] = True
        self.trainer = Trainer(
            Model(self.maps, self.head, encoder._constant),
            objective,
            lesson.training,
            rows,
            onehot=onehot,
            # one of its own, so that encoders of all sizes see the same batches
            generator=torch.Generator().manual_seed(lesson.seed ^ BATCHES),
            slot=slot,
        )

    @classmethod
    def of(cls, encoder: Any, lesson: Lesson, slot: Slot | None = None) -> Learning:
        """Begin a training by itself."""
        return cls(encoder, lesson, rows_of(encoder, lesson), slot)

    def finish(self) -> Learned:
        """Go on to the end."""
        words = f"training, {self.encoder.n_latents} latents"
        with progress(words, "epoch", self) as bar, enough_memory(self.training):
            return self.learned(self.trainer.run(bar))

    def learned(self, history: History | None = None) -> Learned:
        """Return what has been learned so far."""
        trainer = self.trainer
        if history is None:
            history = History(tuple(trainer.epochs), trainer.at.best, trainer.at.ended)
        weights = {name: array(tensor) for name, tensor in self.maps.state_dict().items()}
        found = None if self.head is None else Head(*(array(p) for p in self.head.parameters()))
        return Learned(weights, trainer.alpha, found, self.bins, history)


def progress(words: str, unit: str, learning: Learning) -> tqdm[None]:
    """Return a progress bar, as the encoder wants it, of the first process only."""
    verbose, rank = learning.encoder.verbose, learning.trainer.ranks.rank
    return tqdm(desc=words, unit=unit, disable=rank > 0 or (None if verbose is None else not verbose))


@contextmanager
def enough_memory(training: Training) -> Iterator[None]:
    """Say what to do where memory runs out."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise OutOfMemoryError(
            f"memory ran out while training on batches of {training.batch_size} rows ({error}); "
            f"use smaller ones, Training(batch_size=…), or device='cpu'"
        ) from error


def rows_of(encoder: Any, lesson: Lesson) -> tuple[Rows, Rows]:
    """Bring the rows of a lesson to the device that the encoder is trained on."""
    device = torch.device(_device(encoder.device))
    first, second = (_rows(*rows, device) for rows in lesson.rows)
    return first, second


def array(tensor: torch.Tensor) -> FloatArray:
    """Return a tensor's values in memory of their own."""
    return tensor.detach().cpu().numpy().copy()


def _rows(X: FloatArray, P: FloatArray, device: torch.device) -> Rows:
    def tensor(A: FloatArray) -> torch.Tensor:
        with np.errstate(over="ignore"):  # what is too large is clipped
            small = A.astype(np.float32)
        return torch.from_numpy(np.clip(small, -LARGEST, LARGEST, out=small)).to(device)

    return Rows(tensor(X), tensor(P))


def _device(name: str) -> str:
    if name != "auto":
        try:
            return str(torch.device(name))
        except RuntimeError as error:
            raise ValueError(f"device {name!r} is not known: {error}") from error
    return "cuda" if torch.cuda.is_available() else "cpu"
