"""What all batches of results share: labels, predictions, indexing by row."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.schema import describe_unknown


@dataclass(frozen=True, eq=False)
class Labels:
    """What features, inputs and classes are called.

    `inputs` are the numbers behind the features: the feature itself, or `feature = value` for every
    category; `owner` says which feature an input belongs to, `unit` how much of the original unit
    one scaled unit is.
    """

    features: tuple[str, ...]
    inputs: tuple[str, ...]
    classes: tuple[str, ...]
    owner: IntArray
    unit: FloatArray

    @property
    def outputs(self) -> tuple[str, ...]:
        """The explained outputs: the second of two classes, or every class."""
        return self.classes[1:] if len(self.classes) == 2 else self.classes

    def feature(self, name: int | str) -> int:
        """Return the position of a feature, given by its name or position."""
        if isinstance(name, str) and name not in self.features:
            raise ValueError(f"the feature asked for is {describe_unknown(name, self.features)}")
        position = self.features.index(name) if isinstance(name, str) else int(name)
        if not -len(self.features) <= position < len(self.features):
            raise ValueError(f"there is no feature {position}; there are {len(self.features)}")
        return position % len(self.features)

    def categories(self, j: int) -> tuple[str, ...] | None:
        """Return the categories of feature j as text; None for a number, or a constant column."""
        mine = [self.inputs[i] for i in np.flatnonzero(self.owner == j)]
        if len(mine) < 2:
            return None
        return tuple(name.removeprefix(f"{self.features[j]} = ") for name in mine)

    def output(self, name: int | str) -> int:
        """Return the position of an output, given by its name or position."""
        names = self.outputs
        if isinstance(name, str) and name not in names:
            raise ValueError(f"output {name!r} is not known; choose one of {list(names)}{self._other(name)}")
        position = names.index(name) if isinstance(name, str) else int(name)
        if not -len(names) <= position < len(names):
            raise ValueError(f"output {position} is not known; there are {len(names)}: {list(names)}")
        return position % len(names)

    def _other(self, name: str) -> str:
        return "; contributions to the other class are the same with the opposite sign" * (
            name in self.classes
        )


def positions(rows: Any, n: int) -> tuple[Any, bool]:
    """Return what to index arrays of n rows with, and whether one single row was asked for.

    >>> positions(-1, 3)
    (slice(2, 3, None), True)
    """
    if isinstance(rows, (str, tuple)):
        raise TypeError(f"rows are taken by position, not by {rows!r}; for a feature use to_frame()")
    if isinstance(rows, (int, np.integer)):
        if not -n <= rows < n:
            raise IndexError(f"there are {n} rows, found {rows}")
        position = range(n)[int(rows)]
        return slice(position, position + 1), True
    if isinstance(rows, slice):
        return rows, False
    return np.asarray(rows if len(rows) else np.empty(0, dtype=np.intp)), False


class SavesResult:
    """Adds `save` to results."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of the result to a `.json` or `.parquet` file, which `illume.load_result` reads.

        Both hold the same: per row, every array of the result under its name (`values`, `trust.agreement`,
        …); names, units and all that rows share in a head, which says the format's version. In Parquet, a
        line is a row, an array of several numbers per row is a list, and the head is the JSON text under
        `illume` in the metadata of the schema. Values of rows that are not all numbers are JSON texts.
        """
        from illume.results.serialization import save

        save(self, path)


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
