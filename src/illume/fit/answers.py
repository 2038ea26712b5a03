"""Ask the black box once, and never again about rows whose answers a checkpoint holds."""

from __future__ import annotations

import numpy as np

from illume._typing import FloatArray
from illume.data.black_box import BlackBox
from illume.data.checkpoints import Slot, Stage
from illume.data.frames import Frame
from illume.data.stored_arrays import ArrayWriter
from illume.encoders.ranks import ranks
from illume.errors import CheckpointError, FormatError

CHECKED_ROWS = 16
TOLERANCE = 1e-6


def asked_once(black_box: BlackBox, frame: Frame, slot: Slot | None, *, checked: bool) -> FloatArray:
    """Return the answers to all rows, those in the slot if there are any.

    `checked` asks about a few of these rows once more: another model's answers are of no use.
    Where several processes fit together, the first one asks for all.
    """

    def asked() -> tuple[FloatArray, int]:
        return _asked(black_box, frame, slot, checked=checked), black_box.n_asked

    P, black_box.n_asked = ranks().from_first(asked)
    return P


def _asked(black_box: BlackBox, frame: Frame, slot: Slot | None, *, checked: bool) -> FloatArray:
    stage = None if slot is None else slot.load()
    if stage is None:
        P = black_box(frame)
        if slot is not None:
            arrays = ArrayWriter()
            arrays.add("answers", P)
            slot.save({"n_asked": black_box.n_asked}, arrays)
        return P
    P, n_asked = _stored(stage, len(frame))
    if checked:
        _require_same_model(black_box, frame, P)
    black_box.n_asked = n_asked
    return P


def _stored(stage: Stage, n_rows: int) -> tuple[FloatArray, int]:
    try:
        return stage.arrays.take("answers", np.float64, (n_rows, None)), int(stage.values["n_asked"])
    except (FormatError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"the model's answers in the checkpoint do not fit the rows: {error}"
        ) from error


def _require_same_model(black_box: BlackBox, frame: Frame, P: FloatArray) -> None:
    some = np.unique(np.linspace(0, len(frame) - 1, CHECKED_ROWS).astype(np.intp))
    now = black_box(frame.take(some))
    if now.shape[1] == P.shape[1]:
        off = np.abs(now - P[some]).max(1)
        if not (off > TOLERANCE).any():
            return
        found = f"on {int((off > TOLERANCE).sum())} of {len(some)} rows, by up to {off.max():.2g}"
    else:
        found = f"with {now.shape[1]} classes instead of {P.shape[1]}"
    raise CheckpointError(
        f"the model answers otherwise than when the checkpoint was made, {found}; use another folder, or "
        f"remove the checkpoint to begin again"
    )
