"""What every twin can be asked."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self

from illume._typing import FloatArray
from illume.data.encoding import Encoded
from illume.data.frames import Frame


class Contributions(NamedTuple):
    """Shapley values and their standard errors, (n, n_features, s)."""

    values: FloatArray
    errors: FloatArray


class Pairs(NamedTuple):
    """Interaction values (n, k, k, s) of k features, given by their positions, and their standard errors."""

    features: Any
    values: FloatArray
    errors: FloatArray


class Twin(Protocol):
    """Stands for the model: answers like it, and gives Shapley values of its scores.

    Scores are on the scale that contributions add up on. Values are interventional: the game's value of a set
    of features is the mean score over background rows whose features of that set are the row's.
    """

    @property
    def exact(self) -> bool:
        """Whether it was read from the model, and equals it."""
        ...

    @property
    def base_values(self) -> FloatArray:
        """The mean score of the background rows, (s,)."""
        ...

    def read(self, frame: Frame, encoded: Encoded) -> Any:
        """Return rows as this twin reads them."""
        ...

    def scores(self, rows: Any) -> FloatArray:
        """Return the twin's scores (n, s)."""
        ...

    def values(self, rows: Any, P: FloatArray) -> Contributions:
        """Return the values of rows that the model answers with P (n, c)."""
        ...

    def pairs(self, rows: Any, P: FloatArray, most: int | None) -> Pairs:
        """Return interaction values; with `most`, of the features with the largest contributions."""
        ...

    def against(self, frame: Frame, encoded: Encoded, P: FloatArray) -> Self:
        """Return the same twin with other background rows, which the model answers with P."""
        ...
