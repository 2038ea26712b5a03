"""From attributions to what shapash's `SmartExplainer.compile` takes as contributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from illume.data.frames import Origin

if TYPE_CHECKING:
    from illume.results.attributions import Attributions


def contributions(attributions: Attributions) -> dict[str, Any]:
    """Return contributions, a pandas frame or one per class, and base values, (n, n_classes).

    Of two classes shapash wants the second's contributions alone, and both base values.
    """
    values, base = attributions.values, attributions.base_values + attributions.offset + attributions.rest
    if values.ndim == 2:
        return {"contributions": _frame(attributions, values), "base_values": np.stack([-base, base], axis=1)}
    frames = [_frame(attributions, values[:, :, i]) for i in range(values.shape[2])]
    return {"contributions": frames, "base_values": np.ascontiguousarray(base)}


def _frame(attributions: Attributions, values: np.ndarray[Any, Any]) -> Any:
    columns = {name: values[:, j].copy() for j, name in enumerate(attributions.feature_names)}
    return Origin("pandas", attributions.origin.index).frame(columns)
