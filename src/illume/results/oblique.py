"""The oblique form of a rule: bounds on weighted sums of features, exact with the row's own map."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.results.numbers import short

SHOWN = 6


@dataclass(frozen=True, eq=False)
class ObliqueCondition:
    """`low < sum of weights times inputs <= high`, in the features' own units.

    An input is a number, or 1 for the category it names and 0 otherwise.
    """

    inputs: tuple[str, ...]
    weights: FloatArray
    low: float
    high: float

    def __str__(self) -> str:
        order = np.argsort(-np.abs(self.weights), kind="stable")
        order = order[self.weights[order] != 0]
        terms = [f"{self.weights[j]:+.3g}·[{self.inputs[j]}]" for j in order[:SHOWN]]
        more = f" … ({len(order) - SHOWN} more)" if len(order) > SHOWN else ""
        total = " ".join(terms) + more
        if math.isinf(self.low):
            return f"{total} ≤ {short(self.high)}"
        if math.isinf(self.high):
            return f"{total} > {short(self.low)}"
        return f"{short(self.low)} < {total} ≤ {short(self.high)}"

    def to_dict(self) -> dict[str, Any]:
        """Return weights by input, and bounds; an open side is None."""
        some = np.flatnonzero(self.weights)
        return {
            "weights": {self.inputs[j]: float(self.weights[j]) for j in some},
            "low": self.low if math.isfinite(self.low) else None,
            "high": self.high if math.isfinite(self.high) else None,
        }


@dataclass(frozen=True, eq=False)
class ObliqueRules:
    """Oblique conditions of many rules: `low < weights @ x <= high` on scaled, centred inputs.

    Parameters
    ----------
    latent
        Which latent each condition is about, (n, d); -1 for none.
    weights
        The rows' own directions, (n, d, n_inputs).
    low, high
        Bounds, (n, d).
    mean, scale
        What was subtracted from the inputs, and what they were then divided by, (n_inputs,).
    """

    latent: IntArray
    weights: FloatArray
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    scale: FloatArray
    inputs: tuple[str, ...]

    def __getitem__(self, rows: Any) -> ObliqueRules:
        return ObliqueRules(
            self.latent[rows],
            self.weights[rows],
            self.low[rows],
            self.high[rows],
            self.mean,
            self.scale,
            self.inputs,
        )

    def conditions(self, row: int) -> tuple[ObliqueCondition, ...]:
        """Return one rule's conditions in the features' own units."""
        found = []
        for d in np.flatnonzero(self.latent[row] >= 0):
            weights = self.weights[row, d] / self.scale
            shift = float(weights @ self.mean)
            found.append(
                ObliqueCondition(
                    self.inputs, weights, float(self.low[row, d]) + shift, float(self.high[row, d]) + shift
                )
            )
        return tuple(found)

    def satisfied(self, X: FloatArray) -> BoolArray:
        """Return whether encoded rows X (n, n_inputs), one per rule, satisfy all conditions of theirs."""
        value = (self.weights @ X[:, :, None])[:, :, 0]
        inside: BoolArray = (self.latent < 0) | ((value > self.low) & (value <= self.high))
        return np.asarray(inside.all(1))
