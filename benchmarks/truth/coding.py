"""Rows with one number per feature: numbers as they are, categories as their positions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from benchmarks.data.problem import Encoding
from illume._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Coding:
    """From frames to coded rows (n, features), and from there to what the model reads.

    Methods that know nothing of frames get coded rows: a category is one player, not a column per level.
    """

    encoding: Encoding

    @cached_property
    def level(self) -> IntArray:
        """Return which category of its feature a column stands for, (m,)."""
        owner = self.encoding.owner
        return np.arange(len(owner)) - np.searchsorted(owner, owner)

    @property
    def n_features(self) -> int:
        """Return how many players there are."""
        return len(self.encoding.features)

    @property
    def categorical(self) -> list[int]:
        """Return the positions of features that are categories."""
        return [j for j, name in enumerate(self.encoding.features) if name in self.encoding.categories]

    def codes(self, frame: pd.DataFrame) -> FloatArray:
        """Return the rows of a frame, (n, features)."""
        encoded = self.encoding.transform(frame)
        rows = np.full((len(frame), self.n_features), -1.0)
        for column, owner in enumerate(self.encoding.owner):
            if self.encoding.onehot[column]:
                rows[encoded[:, column] > 0, owner] = self.level[column]
            else:
                rows[:, owner] = frame[self.encoding.features[owner]].to_numpy(float)
        return rows

    def encode(self, codes: FloatArray) -> FloatArray:
        """Return coded rows as the model reads them, (n, m)."""
        taken = codes[:, self.encoding.owner]
        scaled = (taken - self.encoding.mean) / self.encoding.scale
        return np.where(self.encoding.onehot, taken == self.level, scaled)
