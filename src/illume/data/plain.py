"""Rows of plain values, as JSON brings them; the model's own kind of frame is made when it is asked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.frames import Frame, IsFrame, Mixer, Origin, as_frame
from illume.data.values import Storage, numbers_of_values, storage_of_values

Values = list[Hashable | None]
NUMBERS = {int, float, bool, type(None)}


@dataclass(frozen=True, eq=False)
class PlainFrame(IsFrame):
    """Columns of plain values, None where one is missing.

    Single rows get through this far faster than through a data frame. `build` makes a frame of the library
    that the explainer was fitted with; that happens once, when `native` is asked for.

    >>> frame = PlainFrame({"age": [41, None], "town": ["Ulm", "Bonn"]}, build=dict)
    >>> frame.numbers("age"), frame.labels("town"), len(frame)
    (array([41., nan]), ['Ulm', 'Bonn'], 2)
    """

    columns: Mapping[str, Values]
    build: Callable[[Mapping[str, Values]], Any]
    backend: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.columns)

    @cached_property
    def native(self) -> Any:
        """What a model is asked with."""
        return self.build(self.columns)

    @property
    def origin(self) -> Origin:
        """The library that results go back to; the rows have no index."""
        return Origin(self.backend)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def storage(self, name: str) -> Storage:
        """Return how a column is stored."""
        return storage_of_values(self.columns[name])

    def numbers(self, name: str) -> FloatArray:
        """Return a column as numbers, NaN where one is missing."""
        return numbers_of_values(name, self.columns[name])

    def block(self, names: Sequence[str]) -> FloatArray | None:
        """Return some columns as one array of numbers, if they hold nothing else."""
        columns = [self.columns[name] for name in names]
        if not {type(value) for values in columns for value in values} <= NUMBERS:
            return None
        return np.array(columns, dtype=np.float64).T

    def labels(self, name: str) -> Values:
        """Return a column's values, None where one is missing."""
        return list(self.columns[name])

    def select(self, names: Sequence[str]) -> PlainFrame:
        """Keep some columns, in this order."""
        if tuple(names) == self.names:
            return self
        return replace(self, columns={name: self.columns[name] for name in names})

    def slice(self, start: int, stop: int) -> PlainFrame:
        """Keep the rows from `start` to before `stop`."""
        if start <= 0 and stop >= len(self):
            return self
        return replace(self, columns={name: values[start:stop] for name, values in self.columns.items()})

    def take(self, index: IntArray) -> Frame:
        """Keep some rows by their positions."""
        return as_frame(self.native).take(index)

    def with_columns(self, columns: Mapping[str, FloatArray | Frame]) -> Frame:
        """Replace columns."""
        return as_frame(self.native).with_columns(columns)

    def mixer(self, other: Frame) -> Mixer:
        """Return what makes rows of this frame with values of another's."""
        return as_frame(self.native).mixer(other)
