"""A twin that is read from the model: trees and linear models, whose values are exact."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.encoding import Encoded, Encoding
from illume.data.frames import Frame
from illume.errors import LeftOutError
from illume.twin.features import FeatureCodes
from illume.twin.forest import Forest, ForestValues
from illume.twin.twin import Contributions, Mixing, Pairs


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
    @property
    def used(self) -> BoolArray: ...
    def read(self, frame: Frame) -> Any: ...
    def read_encoded(self, encoding: Encoding, X: FloatArray, imputed: BoolArray) -> Any: ...
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

    @property
    def used(self) -> BoolArray:
        """Which features any node tests, (n_features,)."""
        inner = self.forest.left >= 0
        return np.isin(np.arange(self.forest.n_features), self.forest.feature[inner])

    def read(self, frame: Frame) -> IntArray:
        """Return the codes (n_features, n) of a frame's rows."""
        return self.codes(frame)

    def read_encoded(self, encoding: Encoding, X: FloatArray, imputed: BoolArray) -> IntArray:
        """Return the codes of encoded rows."""
        return self.codes.of_encoded(encoding, X, imputed)

    def scores(self, rows: IntArray) -> FloatArray:
        """Return raw scores (n, s)."""
        return self.forest.scores(rows) + self.start

    def against(self, background: IntArray) -> Values:
        """Return what gives Shapley values against background rows."""
        return TreeValues(self, ForestValues(self.forest, background), background)


@dataclass(frozen=True, eq=False)
class TreeValues:
    """Values of trees against background rows, None where only their tables are there."""

    trees: Trees
    values: ForestValues
    background: IntArray | None

    @property
    def base(self) -> FloatArray:
        return self.values.base + self.trees.start

    @property
    def bytes(self) -> int:
        return self.values.bytes

    def __call__(self, rows: IntArray) -> FloatArray:
        return self.values(rows)

    def pairs(self, rows: IntArray) -> FloatArray:
        if self.background is None:
            raise LeftOutError("interactions need background rows; save the explainer with rows")
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
        The rows that values are against, as `parts` reads them; None where `stored` values are there instead.
    """

    parts: Sum
    centred: bool
    background: Any
    stored: Values | None = None
    exact: bool = True

    @cached_property
    def against_background(self) -> Values:
        """Values against the background rows; their tables are made when they are first needed."""
        return self.parts.against(self.background) if self.stored is None else self.stored

    def read(self, frame: Frame, encoded: Encoded) -> Any:
        return self.parts.read(frame)

    def read_encoded(self, encoding: Encoding, X: FloatArray, imputed: BoolArray) -> Any:
        return self.parts.read_encoded(encoding, X, imputed)

    def _center(self, array: FloatArray) -> FloatArray:
        return array - array.mean(-1, keepdims=True) if self.centred else array

    @property
    def base_values(self) -> FloatArray:
        return self._center(self.against_background.base)

    @property
    def bytes(self) -> int:
        """How much memory its tables take."""
        return self.against_background.bytes

    def scores(self, rows: Any) -> FloatArray:
        return self._center(self.parts.scores(rows))

    def values(self, rows: Any, P: FloatArray) -> Contributions:
        """See `Twin`; the model's answers are not needed, and errors are 0."""
        found = self._center(self.against_background(rows))
        return Contributions(found, np.zeros(found.shape, dtype=np.float32))

    def refine(self, rows: Any, frame: Frame, P: FloatArray, mixing: Mixing) -> Contributions:
        """See `Twin`; there is nothing to refine."""
        return self.values(rows, P)

    def pairs(self, rows: Any, P: FloatArray, most: int | None = None) -> Pairs:
        """See `Twin`; a feature's row adds up to its contribution."""
        values: FloatArray = self.against_background(rows)
        found: FloatArray = self.against_background.pairs(rows) / 2
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
        return replace(self, background=self.parts.read(frame), stored=None)
