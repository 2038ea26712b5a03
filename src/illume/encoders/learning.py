"""The training of an encoder from arrays to arrays: torch begins and ends here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from tqdm.auto import tqdm

from illume._chunks import is_out_of_memory
from illume._typing import FloatArray
from illume.encoders.base import Head
from illume.encoders.batches import Model, Rows
from illume.encoders.forward import LARGEST
from illume.encoders.networks import LowRankNetwork, head
from illume.encoders.options import Objective, Training
from illume.encoders.starts import linear_directions
from illume.encoders.training import Trainer
from illume.errors import OutOfMemoryError
from illume.results.history import History
from illume.storage.checkpoints import Slot

Answered = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Learned:
    """What a training leaves behind: weights by name, inputs per latent, the joint head, and the epochs."""

    weights: dict[str, FloatArray]
    alpha: int
    head: Head | None
    history: History


def learn(
    encoder: Any,
    training: Training,
    objective: Objective,
    rows: tuple[Answered, Answered],
    *,
    seed: int,
    slot: Slot | None = None,
) -> Learned:
    """Train the network of an encoder on rows (X, P); the second of them decide when to stop."""
    device = torch.device(_device(encoder.device))
    (X, P), n_latents = rows[0], encoder.n_latents
    generator = torch.Generator().manual_seed(seed)
    maps = encoder._network(X.shape[1], objective, generator)
    if isinstance(maps, LowRankNetwork) and objective.joint:
        maps.lead(torch.from_numpy(linear_directions(X, P)))
    maps = maps.to(device)
    joint = head(n_latents, P.shape[1], generator).to(device) if objective.joint else None
    onehot = torch.zeros(X.shape[1], dtype=torch.bool, device=device)
    onehot[list(encoder.onehot)] = True
    trainer = Trainer(
        Model(maps, joint, encoder._constant),
        objective,
        training,
        (_rows(*rows[0], device), _rows(*rows[1], device)),
        onehot=onehot,
        generator=generator,
        slot=slot,
    )
    disable = trainer.ranks.rank > 0 or (None if encoder.verbose is None else not encoder.verbose)
    with tqdm(desc=f"training, {n_latents} latents", unit="epoch", disable=disable) as bar:
        try:
            history = trainer.run(bar)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            raise OutOfMemoryError(
                f"memory ran out while training on batches of {training.batch_size} rows ({error}); "
                f"use smaller ones, Training(batch_size=…), or device='cpu'"
            ) from error
    weights = {name: array(tensor) for name, tensor in maps.state_dict().items()}
    found = None if joint is None else Head(*(array(p) for p in joint.parameters()))
    return Learned(weights, trainer.alpha, found, history)


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
