"""A twin that is read from the model: trees and linear models, whose values are exact."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.encoding import Encoded
from illume.data.frames import Frame
from illume.twin.features import FeatureCodes
from illume.twin.forest import Forest, ForestValues
from illume.twin.twin import Contributions, Pairs


class Values(Protocol):
    """Shapley values against background rows."""

    @property
    def base(self) -> FloatArray: ...
    @property
    def bytes(self) -> int: ...
    def __call__(self, rows: Any) -> FloatArray: ...
    def pairs(self, rows: Any) -> FloatArray: ...


class Sum(Protocol):
    """A sum of trees, or of terms, over features."""

    @property
    def n_outputs(self) -> int: ...
    def read(self, frame: Frame) -> Any: ...
    def scores(self, rows: Any) -> FloatArray: ...
    def against(self, background: Any) -> Values: ...


@dataclass(frozen=True, eq=False)
class Trees:
    """A forest, how rows are coded for it, and what all its trees are added to, (s,)."""

    forest: Forest
    codes: FeatureCodes
    start: FloatArray

    @property
    def n_outputs(self) -> int:
        """How many raw scores there are."""
        return self.forest.n_outputs

    def read(self, frame: Frame) -> IntArray:
        """Return the codes (n_features, n) of a frame's rows."""
        return self.codes(frame)

    def scores(self, rows: IntArray) -> FloatArray:
        """Return raw scores (n, s)."""
        return self.forest.scores(rows) + self.start

    def against(self, background: IntArray) -> Values:
        """Return what gives Shapley values against background rows."""
        return _TreeValues(self, ForestValues(self.forest, background), background)


@dataclass(frozen=True, eq=False)
class _TreeValues:
    trees: Trees
    values: ForestValues
    background: IntArray

    @property
    def base(self) -> FloatArray:
        return self.values.base + self.trees.start

    @property
    def bytes(self) -> int:
        return self.values.bytes

    def __call__(self, rows: IntArray) -> FloatArray:
        return self.values(rows)

    def pairs(self, rows: IntArray) -> FloatArray:
        return self.values.interactions(rows, self.background)


@dataclass(frozen=True, eq=False)
class ExactTwin:
    """A sum that was read from the model and found equal to it; its Shapley values have no error.

    Parameters
    ----------
    parts
        The sum itself.
    centred
        Whether scores are raw ones less their mean over all classes, of which softmax makes probabilities.
    background
        The rows that values are against, as `parts` reads them.
    """

    parts: Sum
    centred: bool
    background: Any
    exact: bool = True

    @cached_property
    def _values(self) -> Values:
        return self.parts.against(self.background)

    def read(self, frame: Frame, encoded: Encoded) -> Any:
        """See `Twin`."""
        return self.parts.read(frame)

    def _center(self, array: FloatArray) -> FloatArray:
        return array - array.mean(-1, keepdims=True) if self.centred else array

    @property
    def base_values(self) -> FloatArray:
        """See `Twin`."""
        return self._center(self._values.base)

    @property
    def bytes(self) -> int:
        """How much memory its tables take."""
        return self._values.bytes

    def scores(self, rows: Any) -> FloatArray:
        """See `Twin`."""
        return self._center(self.parts.scores(rows))

    def values(self, rows: Any, P: FloatArray) -> Contributions:
        """See `Twin`; the model's answers are not needed, and errors are 0."""
        found = self._center(self._values(rows))
        return Contributions(found, np.zeros(found.shape, dtype=np.float32))

    def pairs(self, rows: Any, P: FloatArray, most: int | None = None) -> Pairs:
        """See `Twin`; a feature's row adds up to its contribution."""
        values: FloatArray = self._values(rows)
        found: FloatArray = self._values.pairs(rows) / 2
        diagonal = np.arange(found.shape[1])
        found[:, diagonal, diagonal] = values - found.sum(2)
        found = self._center(found)
        features = np.arange(found.shape[1])
        if most is not None and most < len(features):
            strength = np.abs(self._center(values)).mean(0).sum(1)
            features = np.argsort(-strength, kind="stable")[:most]
            found = found[:, features[:, None], features]
        return Pairs(features, found, np.zeros(found.shape, dtype=np.float32))

    def against(self, frame: Frame, encoded: Encoded, P: FloatArray) -> ExactTwin:
        """See `Twin`."""
        return replace(self, background=self.parts.read(frame))
