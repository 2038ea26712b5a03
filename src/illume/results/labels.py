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
