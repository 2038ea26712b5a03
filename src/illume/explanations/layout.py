"""Where numbers and categories stand among the inputs, for all that works on boxes of inputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.encoding import Encoding
from illume.data.number_scaling import standardise


@dataclass(frozen=True, eq=False)
class Layout:
    """The inputs of an encoding.

    Parameters
    ----------
    owner, onehot
        Which feature an input belongs to, and whether it stands for a category, (m,).
    mean, scale
        What was subtracted from an input, and what it was then divided by, (m,).
    low, high
        The range of each input that was seen, (m,).
    """

    owner: IntArray
    onehot: BoolArray
    mean: FloatArray
    scale: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, encoding: Encoding) -> Layout:
        """Read the layout off an encoding."""
        features = [encoding.schema.features[j] for j in encoding.owner]
        seen = np.array([(f.low, f.high) if f.numeric else (0.0, 1.0) for f in features]).reshape(-1, 2)
        low, high = standardise(seen.T, encoding.mean, encoding.scale)
        return cls(encoding.owner, encoding.onehot, encoding.mean, encoding.scale, low, high)

    @property
    def n_inputs(self) -> int:
        """The number of inputs, m."""
        return len(self.owner)

    @cached_property
    def numbers(self) -> IntArray:
        """Positions of the inputs that are numbers."""
        return np.flatnonzero(~self.onehot)

    @cached_property
    def categorical(self) -> tuple[slice, ...]:
        """Where the inputs of each categorical feature stand."""
        _, starts, counts = np.unique(self.owner, return_index=True, return_counts=True)
        return tuple(slice(s, s + c) for s, c in zip(starts, counts, strict=True) if self.onehot[s])

    def own(self, X: FloatArray) -> BoolArray:
        """Return which categories the rows have, (n, m); False for numbers."""
        return self.onehot & (X + self.mean > 0.5)

    def admissible(self, X: FloatArray) -> BoolArray:
        """Return which categories a box around a row must allow: its own, or all where it is none of them."""
        own = self.own(X)
        for inputs in self.categorical:
            own[:, inputs] |= ~own[:, inputs].any(1, keepdims=True)
        return own
