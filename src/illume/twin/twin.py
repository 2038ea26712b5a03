"""What every twin can be asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, Self

from illume._typing import BoolArray, FloatArray
from illume.data.encoding import Encoded, Encoding
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


class Mixing(NamedTuple):
    """What refining needs: background rows with the model's answers, and how often the model may be asked."""

    background: Frame
    P: FloatArray
    names: tuple[str, ...]
    ask: Callable[[Frame], FloatArray]
    n_asks: int


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

    def read_encoded(self, encoding: Encoding, X: FloatArray, imputed: BoolArray) -> Any:
        """Return made-up rows as this twin reads them: encoded, some of whose features are missing."""
        ...

    def scores(self, rows: Any) -> FloatArray:
        """Return the twin's scores (n, s)."""
        ...

    def values(self, rows: Any, P: FloatArray) -> Contributions:
        """Return the values of rows that the model answers with P (n, c)."""
        ...

    def refine(self, rows: Any, frame: Frame, P: FloatArray, mixing: Mixing) -> Contributions:
        """Return the values of a frame's rows, with errors made smaller by asking the model."""
        ...

    def pairs(self, rows: Any, P: FloatArray, most: int | None = None) -> Pairs:
        """Return interaction values; with `most`, of the features with the largest contributions."""
        ...

    def against(self, frame: Frame, encoded: Encoded, P: FloatArray) -> Self:
        """Return the same twin with other background rows, which the model answers with P."""
        ...
