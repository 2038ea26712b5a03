"""illume as a user calls it, with its effort, its extra asks per row, or the pullback of its surrogate."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.truth.case import Case
from illume import Explainer
from illume._typing import FloatArray

SETTINGS: dict[str, dict[str, str]] = {
    "illume": {"contributions": "shapley", "effort": "standard"},
    "illume-quick": {"contributions": "shapley", "effort": "quick"},
    "illume-thorough": {"contributions": "shapley", "effort": "thorough"},
    "illume-pullback": {"contributions": "pullback", "effort": "standard"},
}
REFINE = "illume-refine-"


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted explainer, and what the fit cost."""

    explainer: Any
    seconds: float
    asks: int


def parsed(method: str) -> tuple[str, int]:
    """Return which fit a method explains with, and how many more asks a row it may have.

    >>> parsed("illume-refine-64"), parsed("illume-thorough")
    (('illume', 64), ('illume-thorough', 0))
    """
    if method.startswith(REFINE):
        return "illume", int(method.removeprefix(REFINE))
    return method, 0


def fit(
    case: Case,
    name: str,
    *,
    seed: int = 0,
    train: pd.DataFrame | None = None,
    background: pd.DataFrame | None = None,
) -> Fitted:
    """Fit on the training rows of a case, or on those given, and count what the model is asked."""
    before, start = case.counted.asks, time.perf_counter()
    explainer = make(
        case, background=case.background if background is None else background, seed=seed, name=name
    )
    explainer.fit(case.problem.train if train is None else train)
    return Fitted(explainer, time.perf_counter() - start, case.counted.asks - before)


def make(case: Case, *, name: str, background: pd.DataFrame, seed: int) -> Any:
    """Return an explainer that is not fitted yet."""
    options: dict[str, Any] = dict(SETTINGS[name])
    if options.get("contributions") != "pullback":
        options["background"] = background
    device = os.environ.get("ILLUME_DEVICE", "cpu")
    return Explainer(
        case.frame_model, random_state=seed, device=device, unknown="ignore", verbose=False, **options
    )


def explained(explainer: Any, frame: pd.DataFrame, refine: int = 0) -> tuple[FloatArray, FloatArray | None]:
    """Return contributions and their standard errors, (n, features, outputs) each."""
    found = explainer(frame, refine=refine) if refine else explainer(frame)
    errors = getattr(found, "standard_errors", None)
    return as_outputs(found.values), None if errors is None else as_outputs(errors)


def as_outputs(values: Any) -> FloatArray:
    """Give values of one output an axis of their own.

    >>> as_outputs(np.zeros((5, 3))).shape
    (5, 3, 1)
    """
    values = np.asarray(values, dtype=float)
    return values[:, :, None] if values.ndim == 2 else values
