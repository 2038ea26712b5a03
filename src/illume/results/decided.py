"""What results of all kinds say about decisions, and what their features and classes are called."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.results.labels import Labels


def decisions_of(P: FloatArray) -> IntArray:
    """Return the class of largest probability (n,), the first of equals, from probabilities (n, c).

    >>> decisions_of(np.array([[0.5, 0.5], [0.2, 0.8]]))
    array([0, 1])
    """
    if P.shape[1] == 2:  # far faster than to look for the largest of two
        return (P[:, 1] > P[:, 0]).astype(np.intp)
    return P.argmax(1)


class Decided:
    """A batch of rows that black box and surrogate have answered."""

    labels: Labels
    probabilities: FloatArray
    surrogate_probabilities: FloatArray

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The features, in the order of `data`."""
        return self.labels.features

    @property
    def input_names(self) -> tuple[str, ...]:
        """The inputs behind the features, in the order in which the surrogate sees them."""
        return self.labels.inputs

    @property
    def class_names(self) -> tuple[str, ...]:
        """All classes of the black box."""
        return self.labels.classes

    @property
    def output_names(self) -> tuple[str, ...]:
        """The explained outputs: the second of two classes, or every class."""
        return self.labels.outputs

    @property
    def decisions(self) -> IntArray:
        """The black box's decision, as a position in `class_names`."""
        return decisions_of(self.probabilities)

    @property
    def surrogate_decisions(self) -> IntArray:
        """The surrogate's decision, as a position in `class_names`."""
        return decisions_of(self.surrogate_probabilities)

    def output(self, name: int | str) -> int:
        """Return the position of an output, given by its name or position."""
        return self.labels.output(name)


class DecidedRow:
    """One row of such a batch."""

    batch: Any

    @property
    def decision(self) -> str:
        """The black box's decision."""
        return str(self.batch.class_names[int(self.batch.decisions[0])])

    @property
    def probability(self) -> float:
        """The black box's probability of its decision."""
        return float(self.batch.probabilities[0].max())

    @property
    def surrogate_probability(self) -> float:
        """The surrogate's probability of the black box's decision."""
        return float(self.batch.surrogate_probabilities[0, int(self.batch.decisions[0])])

    @property
    def agreed(self) -> bool:
        """Whether surrogate and black box decide alike, before any refinement."""
        return bool(self.batch.agreed[0])
