"""Whether a model still answers as it did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume.data.black_box import BlackBox
from illume.explanations.fitted import AnsweredFrame
from illume.results.noise import Noise

TOLERANCE = 1e-6  # up to which a model's answers count as unchanged


@dataclass(frozen=True)
class AnswerChange:
    """On how many rows a model's answers changed, by how much at most, and how many decisions differ."""

    n_rows: int
    n_changed: int
    largest: float
    n_decisions: int


def compare_answers(black_box: BlackBox, known: AnsweredFrame, noise: Noise | None = None) -> AnswerChange:
    """Ask a model about rows that were answered before.

    A change is a difference above 1e-6 of the unit, or above twice the largest that noise alone had.
    """
    now = black_box(known.frame)
    outputs = black_box.require_outputs()
    off = np.abs(now - known.P)
    tolerance = TOLERANCE if noise is None else 2 * noise.largest
    changed, n_different = (off / outputs.unit).max(1) > tolerance, int((~outputs.alike(now, known.P)).sum())
    return AnswerChange(len(off), int(changed.sum()), float(off.max(initial=0.0)), n_different)
