"""The names behind a result's axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.schema import unknown_name


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
            raise ValueError(f"the feature asked for is {unknown_name(name, self.features)}")
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
