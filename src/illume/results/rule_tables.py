"""Rules as frames."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from illume.data.frames import Origin
from illume.results.conditions import Interval

if TYPE_CHECKING:
    from illume.results.rules import Rules


def frame(rules: Rules, layout: str) -> Any:
    """Lay rules out in a frame, `wide` or `long`."""
    if layout == "wide":
        return rules.origin.frame(_wide(rules))
    if layout == "long":
        return Origin(rules.origin.backend).frame(_long(rules))
    raise ValueError(f"layout must be 'wide' or 'long', found {layout!r}")


def _wide(rules: Rules) -> dict[str, Any]:
    low, high = rules.precision_interval
    names = np.array(rules.class_names, dtype=object)
    return {
        "decision": names[rules.decisions].tolist(),
        "probability": rules.probabilities[np.arange(len(rules)), rules.decisions],
        "rule": [" and ".join(map(str, rules.bounds.conditions(i))) for i in range(len(rules))],
        "n_conditions": rules.n_conditions,
        "precision": rules.precision,
        "precision_low": low,
        "precision_high": high,
        "coverage": rules.coverage,
        "n_covered": rules.n_covered,
        "polished": rules.polished,
        "status": rules.refinement.status.tolist(),
        "outside": rules.outside,
    }


def _long(rules: Rules) -> dict[str, Any]:
    index = rules.origin.index
    row = np.arange(len(rules)) if index is None else np.asarray(index)
    columns: dict[str, list[Any]] = {
        name: [] for name in ("row", "feature", "low", "high", "values", "condition")
    }
    for i in range(len(rules)):
        for condition in rules.bounds.conditions(i):
            interval = condition if isinstance(condition, Interval) else None
            columns["row"].append(row[i])
            columns["feature"].append(condition.name)
            columns["low"].append(interval.low if interval else math.nan)
            columns["high"].append(interval.high if interval else math.nan)
            values = "" if interval else ", ".join(map(str, condition.to_dict()["allowed"]))
            columns["values"].append(values)
            columns["condition"].append(str(condition))
    return columns
