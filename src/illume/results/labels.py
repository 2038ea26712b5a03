"""The names behind a result's axes."""

from __future__ import annotations

from dataclasses import dataclass

from illume._typing import FloatArray, IntArray


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
