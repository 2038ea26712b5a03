"""Counterfactuals as frames that show only what changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from illume.data.frames import Origin
from illume.results.frames import rename_taken
from illume.results.predictions import decisions_of
from illume.results.text import plain_value

if TYPE_CHECKING:
    from illume.results.counterfactuals import Counterfactuals


def frame(counterfactuals: Counterfactuals, layout: str) -> Any:
    """Lay counterfactuals out in a frame, `wide` or `long`."""
    if layout not in ("wide", "long"):
        raise ValueError(f"layout must be 'wide' or 'long', found {layout!r}")
    columns = _wide(counterfactuals) if layout == "wide" else _long(counterfactuals)
    return Origin(counterfactuals.origin.backend).frame(columns)


def _about(found: Counterfactuals) -> dict[str, Any]:
    index = found.origin.index
    row = np.arange(len(found)) if index is None else np.asarray(index)
    number = np.arange(len(found.row)) - np.searchsorted(found.row, found.row)
    return {"row": row[found.row], "example": number}


def _wide(found: Counterfactuals) -> dict[str, Any]:
    names = np.array(found.class_names, dtype=object)
    decided = decisions_of(found.example_probabilities)
    about = _about(found) | {
        "decision": names[decided].tolist(),
        "probability": found.example_probabilities.max(1, initial=0.0),
        "n_changes": found.n_changes,
        "distance": found.distance,
        "plausibility": found.plausibility,
    }
    columns = rename_taken(about, found.feature_names)
    for j in np.flatnonzero(found.changed.any(0)):
        after = [plain_value(value) for value in found.after[:, j]]
        pairs = zip(after, found.changed[:, j], strict=True)
        columns[found.feature_names[j]] = [value if changed else None for value, changed in pairs]
    return columns


def _long(found: Counterfactuals) -> dict[str, Any]:
    e, j = np.nonzero(found.changed)
    about = {name: column[e] for name, column in _about(found).items()}
    return about | {
        "feature": [found.feature_names[k] for k in j],
        "before": [str(plain_value(value)) for value in found.before[found.row[e], j]],
        "after": [str(plain_value(value)) for value in found.after[e, j]],
    }
