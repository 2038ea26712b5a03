"""How a model's answers become decisions, which rules and counterfactuals are about."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray

N_BANDS = 16  # that predictions are divided into


class Question(ABC):
    """How answers become decisions, which rules and counterfactuals are about."""

    output: int  # that decisions are about
    intervals: ClassVar[bool] = False  # whether rules end in an interval of numbers instead of a decision

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """What to call each decision."""

    @abstractmethod
    def decide(self, P: FloatArray) -> IntArray:
        """Return the decision (n,) on each answer, as a position in `names`."""

    @abstractmethod
    def holds(self, P: FloatArray, decision: int | IntArray) -> BoolArray:
        """Return for which answers a decision, or a decision each, is right, (n,).

        With intervals, several decisions are right for an answer.
        """

    @property
    def of_shares(self) -> Question:
        """The question for shares of decisions, which a tree that was grown on decisions answers with."""
        return self

    @abstractmethod
    def is_sound(self, n_outputs: int) -> bool:
        """Whether a question read from a file fits a model with this number of outputs."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, from which `from_dict` makes the same object."""
        return {"kind": type(self).__name__, **asdict(self)}  # type: ignore[call-overload]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Question:
        """Return the question that `to_dict` describes.

        >>> Question.from_dict(Threshold(0, 2.5).to_dict())
        Threshold(output=0, threshold=2.5)
        """
        kinds = {kind.__name__: kind for kind in Question.__subclasses__()}
        if values["kind"] not in kinds:
            raise ValueError(f"kind is {values['kind']!r}, expected one of {sorted(kinds)}")
        given = {name: tuple(each) if isinstance(each, list) else each for name, each in values.items()}
        return kinds[str(given.pop("kind"))](**given)


@dataclass(frozen=True)
class MostLikely(Question):
    """The class with the largest probability."""

    classes: tuple[str, ...]
    output: ClassVar[int] = 0  # type: ignore[misc]  # all of them
    log_odds: ClassVar[float] = 0.0  # of the second of two classes, at which the decision changes

    @property
    def names(self) -> tuple[str, ...]:
        return self.classes

    def decide(self, P: FloatArray) -> IntArray:
        return P.argmax(1)

    def holds(self, P: FloatArray, decision: int | IntArray) -> BoolArray:
        return np.asarray(P.argmax(1) == decision)

    def is_sound(self, n_outputs: int) -> bool:
        return len(self.classes) == n_outputs and all(isinstance(name, str) for name in self.classes)


@dataclass(frozen=True)
class Cutoff(Question):
    """Of two classes the positive one where its probability is at least a threshold, else the other.

    >>> Cutoff(("no", "yes"), 1, 0.2).decide(np.array([[0.7, 0.3], [0.8, 0.2], [0.9, 0.1]]))
    array([1, 1, 0])
    """

    classes: tuple[str, str]
    positive: int
    threshold: float
    output: ClassVar[int] = 0  # type: ignore[misc]  # both of them

    @property
    def names(self) -> tuple[str, ...]:
        return self.classes

    def decide(self, P: FloatArray) -> IntArray:
        return np.where(P[:, self.positive] >= self.threshold, self.positive, 1 - self.positive)

    def holds(self, P: FloatArray, decision: int | IntArray) -> BoolArray:
        return np.asarray(self.decide(P) == decision)

    @property
    def of_shares(self) -> Question:
        """The class that most rows are decided for."""
        return MostLikely(self.classes)

    @property
    def log_odds(self) -> float:
        """The log-odds of the second class at which the decision changes."""
        return (1 if self.positive else -1) * math.log(self.threshold / (1 - self.threshold))

    def is_sound(self, n_outputs: int) -> bool:
        named = n_outputs == len(self.classes) == 2 and all(isinstance(name, str) for name in self.classes)
        return named and self.positive in (0, 1) and _are_numbers(self.threshold) and 0 < self.threshold < 1


@dataclass(frozen=True)
class Threshold(Question):
    """Whether a number is below a threshold, or at least the threshold.

    >>> Threshold(0, 2.5).decide(np.array([[2.0], [2.5]]))
    array([0, 1])
    """

    output: int
    threshold: float

    @property
    def names(self) -> tuple[str, str]:
        text = format_number(self.threshold)
        return f"below {text}", f"at least {text}"

    def decide(self, P: FloatArray) -> IntArray:
        return (P[:, self.output] >= self.threshold).astype(np.intp)

    def holds(self, P: FloatArray, decision: int | IntArray) -> BoolArray:
        return np.asarray(self.decide(P) == decision)

    def is_sound(self, n_outputs: int) -> bool:
        return self.output in range(n_outputs) and _are_numbers(self.threshold)


@dataclass(frozen=True)
class Bands(Question):
    """Bands of similar numbers, from edge to edge.

    A number belongs to one band; it counts as similar to the numbers in half of each neighbouring band, too.
    Rules do not tell numbers apart whose standard deviation is at most `close`.

    >>> bands = Bands(0, (0.0, 1.0, 2.0, 3.0))
    >>> bands.decide(np.array([[-0.5], [1.0], [9.0]]))
    array([0, 1, 2])
    >>> bands.holds(np.array([[0.4], [0.6], [2.4], [2.6]]), 1)
    array([False,  True,  True, False])
    """

    output: int
    edges: tuple[float, ...]
    close: float = 0.0
    intervals: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        ends = [format_number(edge) for edge in self.edges]
        return tuple(f"{low} to {high}" for low, high in pairwise(ends))

    def decide(self, P: FloatArray) -> IntArray:
        return np.searchsorted(self.edges[1:-1], P[:, self.output], side="right")

    def holds(self, P: FloatArray, decision: int | IntArray) -> BoolArray:
        low, high = self.window(decision)
        y = P[:, self.output]
        return np.asarray((y >= low) & (y <= high))

    def is_sound(self, n_outputs: int) -> bool:
        sound = self.output in range(n_outputs) and len(self.edges) > 1
        return sound and _are_numbers(self.close, *self.edges) and list(self.edges) == sorted(self.edges)

    def window(self, decision: int | IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the numbers from which and up to which a decision is right."""
        edges = np.array(self.edges)
        middle = (edges[:-1] + edges[1:]) / 2
        return np.append(-np.inf, middle)[decision], np.append(middle, np.inf)[np.asarray(decision) + 1]


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, (int, float)) and math.isfinite(value) for value in values)


def band_edges(y: FloatArray, n_bands: int = N_BANDS) -> tuple[float, ...]:
    """Divide numbers into bands: between equal numbers of rows and equal widths, at distinct numbers.

    Equal numbers of rows alone would put a whole tail into one band.

    >>> band_edges(np.array([0.0, 1.0, 2.0, 3.0]), 2)
    (0.0, 1.5, 3.0)
    """
    low, high = np.quantile(y, [0.01, 0.99])
    ordered = np.sort(y)
    rank = (np.arange(len(y)) + 0.5) / len(y)
    place = np.clip((ordered - low) / max(high - low, 1e-300), 0, 1)
    edges = np.interp(np.arange(1, n_bands) / n_bands, (rank + place) / 2, ordered)
    inside = np.unique(edges[(edges > ordered[0]) & (edges < ordered[-1])])
    return (float(ordered[0]), *map(float, inside), float(ordered[-1]))


def format_number(number: float) -> str:
    """Return a number of a question as text.

    >>> format_number(200000.0), format_number(0.25)
    ('200,000', '0.25')
    """
    return f"{number:,.0f}" if number == int(number) and abs(number) < 1e15 else f"{number:,.6g}"
