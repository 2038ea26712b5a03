"""Ask the black box, once: answers that a checkpoint holds are not asked for again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from illume._typing import FloatArray
from illume.data.black_box import BlackBox
from illume.data.checkpoints import Slot, Stage
from illume.data.frames import Frame
from illume.data.sampling import evenly_spaced
from illume.data.stored_arrays import ArrayWriter
from illume.encoders.ranks import ranks
from illume.errors import BlackBoxError, CheckpointError, FormatError
from illume.explanations.fitted import AnsweredFrame, compare_answers

CHECKED_ROWS = 16


def ask_once(
    black_box: BlackBox, frame: Frame, slot: Slot | None = None, *, check: bool = False
) -> FloatArray:
    """Return the answers to all rows, from the checkpoint if it has them.

    With `check`, the model is asked again about a few of these rows, and must answer the same. Where several
    processes fit together, the first one asks for all.
    """

    def ask() -> tuple[FloatArray, int]:
        stage = None if slot is None else slot.load()
        if stage is None:
            P = black_box(frame)
            _save(slot, black_box, [P])
            return P, black_box.n_asked
        P, n_asked = _load(stage, len(frame))
        if check:
            _require_same_model(black_box, AnsweredFrame(frame, P))
        return P, n_asked

    P, black_box.n_asked = ranks().from_first(ask)
    return P


class QueryAsker:
    """Asks the model about made-up rows in several batches, and keeps all answers in one checkpoint."""

    def __init__(self, black_box: BlackBox, slot: Slot | None) -> None:
        self.black_box, self.slot = black_box, slot
        stage = None if slot is None else slot.load()
        self.known: FloatArray | None = None
        self.n_asked = 0
        if stage is not None:
            self.known, self.n_asked = _load(stage, None)
        self.used, self.answers = 0, list[FloatArray]()

    def __call__(self, frame: Frame) -> FloatArray:
        """Return the model's answers."""
        if self.known is not None:
            P = self.known[self.used : self.used + len(frame)]
            self.used += len(frame)
            return P
        with naming_queries():
            P = self.black_box(frame)
        if self.slot is not None:
            self.answers.append(P)
        return P

    def save(self) -> None:
        """Write the answers to the checkpoint."""
        if self.known is not None:
            self.black_box.n_asked = self.n_asked
        else:
            _save(self.slot, self.black_box, self.answers)


@contextmanager
def naming_queries() -> Iterator[None]:
    """Make errors of the model say that they are about made-up rows."""
    try:
        yield
    except BlackBoxError as error:
        message = f"on made-up rows, which queries=0 does without, {error.message}"
        raise BlackBoxError(message, error.rows, error.more) from error.__cause__


def _save(slot: Slot | None, black_box: BlackBox, answers: list[FloatArray]) -> None:
    if slot is not None:
        arrays = ArrayWriter()
        arrays.add("answers", np.concatenate(answers))
        slot.save({"n_asked": black_box.n_asked}, arrays)


def _load(stage: Stage, n_rows: int | None) -> tuple[FloatArray, int]:
    try:
        return stage.arrays.take("answers", np.float64, (n_rows, None)), int(stage.values["n_asked"])
    except (FormatError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"the model's answers in the checkpoint do not match the rows: {error}"
        ) from error


def _require_same_model(black_box: BlackBox, known: AnsweredFrame) -> None:
    some = evenly_spaced(len(known.frame), CHECKED_ROWS)
    try:
        change = compare_answers(black_box, known.take(some))
    except BlackBoxError as error:
        raise CheckpointError(f"{error.message}; use another folder, or remove the checkpoint") from error
    if change.n_changed:
        raise CheckpointError(
            f"the model's answers have changed since the checkpoint was made, on {change.n_changed} of "
            f"{change.n_rows} rows, by up to {change.largest:.2g}; use another folder, or remove the "
            f"checkpoint to start again"
        )
