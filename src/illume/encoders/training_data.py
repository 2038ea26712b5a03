"""What an encoder is trained on: rows, their standardised answers, rows to validate on, and options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from illume._typing import FloatArray
from illume.encoders.forward import SoftBins
from illume.encoders.options import Objective, Training
from illume.encoders.targets import Targets

VALIDATION_SHARE = 0.15


class TargetRows(NamedTuple):
    """Rows X (n, m) and standardised answers P (n, c), the same of validation rows, and their kind."""

    X: FloatArray
    P: FloatArray
    validation: tuple[FloatArray, FloatArray]
    targets: Targets


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows and options of a training."""

    rows: TargetRows
    objective: Objective
    training: Training
    bins: SoftBins
    seed: int


def read_rows(
    kind: type[Targets],
    X: FloatArray,
    y: Any,
    validation: tuple[FloatArray, Any] | None,
    rng: np.random.RandomState,
) -> TargetRows:
    """Read the answers y to rows X, and hold rows out if there are none to validate on.

    Without answers, all rows have the same.
    """

    def read(X: FloatArray, answers: Any) -> FloatArray:
        return np.full((len(X), 2), 0.5) if y is None else kind.read(answers)

    P = read(X, y)
    if len(P) != len(X):
        raise ValueError(f"X has {len(X)} rows, y has {len(P)}")
    if validation is None:
        order = rng.permutation(len(X))
        held_out = order[: max(1, round(VALIDATION_SHARE * len(X)))]
        kept = np.setdiff1d(order, held_out)
        X, P, held_X, held_P = X[kept], P[kept], X[held_out], P[held_out]
    else:
        held_X, held_P = validation[0], read(*validation)
    if held_P.shape != (len(held_X), P.shape[1]):
        raise ValueError(
            f"the answers to {len(held_X)} validation rows have shape {held_P.shape}, those to the training "
            f"rows {P.shape}; pass one row of {P.shape[1]} answers for each"
        )
    targets = kind.fit(P)
    return TargetRows(X, targets.standardise(P), (held_X, targets.standardise(held_P)), targets)
