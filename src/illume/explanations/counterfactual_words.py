"""What counterfactuals were asked for, in words: what stays, and how the rest may change."""

from __future__ import annotations

import math
from typing import Any

from illume.errors import SchemaError
from illume.explanations.counterfactual_limits import SIGNS, parse_range
from illume.explanations.counterfactual_request import CounterfactualRequest
from illume.explanations.fitted import Fitted
from illume.results.dictionary import DataDictionary


def describe_constraints(request: CounterfactualRequest, fitted: Fitted) -> tuple[str, ...]:
    """Return all limits of a request; columns are given by their names."""
    known, vary = fitted.dictionary, request.features_to_vary
    ways: dict[str, list[str]] = {"only up": [], "only down": []}
    orders = []
    for name, way in (request.direction or {}).items():
        if isinstance(way, str):
            ways["only up" if SIGNS[way] > 0 else "only down"].append(name)
        else:
            order = " → ".join(known.quoted(name, each) for each in way)
            orders.append(f"{known.label(name)} only on: {order}")
    named = {
        "kept fixed": list(request.immutable or ()),
        "may change": [] if isinstance(vary, str) else list(vary),
        **ways,
    }
    probability = f"probability at least {request.min_probability:g}"
    return (
        *(f"{what}: {', '.join(map(known.label, names))}" for what, names in named.items() if names),
        *orders,
        *(_describe_range(name, wish, fitted) for name, wish in (request.permitted_range or {}).items()),
        *([] if request.max_changes is None else [f"changed features: at most {request.max_changes}"]),
        *([probability] if request.min_probability else []),
    )


def _describe_range(name: str, wish: Any, fitted: Fitted) -> str:
    known: DataDictionary = fitted.dictionary
    label = known.label(name)
    if not fitted.schema[name].numeric:
        return f"{label} only: {', '.join(known.quoted(name, value) for value in wish)}"
    low, high = parse_range(wish, "permitted_range", SchemaError)
    ends = [f"from {known.bound(name, low)}"] * math.isfinite(low)
    ends += [f"to {known.bound(name, high)}"] * math.isfinite(high)
    return f"{label} only {' '.join(ends)}" if ends else f"{label} to any number"
