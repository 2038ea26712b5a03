"""What a model answers: probabilities of classes, or one or several numbers.

Everything that depends on the kind of answer asks one of these objects: the scale that contributions add up
on, when two answers agree, how answers become decisions, and the words for them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from scipy.special import expit, softmax  # type: ignore[import-untyped]

from illume._typing import BoolArray, FloatArray, IntArray

LEAST, MOST = 1e-6, 1e-2  # bounds of what a probability of 0 counts as
TOLERANCE = 0.1  # standard deviations of the predictions, within which two numbers agree
N_BANDS = 16  # that predictions are divided into
LINKS = ("identity", "log")


class Scale(Protocol):
    """A scale on which contributions add up."""

    pooled: bool  # whether all outputs have the same unit

    def __call__(self, P: FloatArray) -> FloatArray:
        """Return scores (n, s) of answers (n, c)."""
        ...


@dataclass(frozen=True)
class LogOdds:
    """Log-odds of probabilities, which are clipped to `least` and `1 - least`.

    For two classes the log-odds of the second, (n, 1); for more, the logarithm of each class's probability
    less the mean of all logarithms, (n, c).

    >>> LogOdds()(np.array([[0.5, 0.5], [0.2, 0.8]])).round(3)
    array([[0.   ],
           [1.386]])
    """

    least: float = LEAST
    pooled: ClassVar[bool] = True

    @classmethod
    def fit(cls, P: FloatArray) -> LogOdds:
        """Choose what a probability of exactly 0 counts as: half the smallest other one that was answered.

        A forest of 100 trees that answers in steps of 0.01 has 0.005; a model that never answers 0 or 1
        is clipped at 0.000001.

        >>> LogOdds.fit(np.array([[0.0, 1.0], [0.99, 0.01]])).least
        0.005
        """
        if not (P <= 0).any():
            return cls()
        smallest = float(P[P > 0].min())
        return cls(min(max(smallest / 2, LEAST), MOST))

    def __call__(self, P: FloatArray) -> FloatArray:
        """Return the log-odds of probabilities (n, c)."""
        clipped = np.clip(P, self.least, 1.0 - self.least)
        if P.shape[1] == 2:
            return np.log(clipped[:, 1:] / clipped[:, :1])
        logs = np.log(clipped)
        return np.asarray(logs - logs.mean(1, keepdims=True))


@dataclass(frozen=True)
class NumberScale:
    """The model's numbers themselves, or with `link="log"` their logarithms."""

    link: str = "identity"
    pooled: ClassVar[bool] = False

    def __call__(self, P: FloatArray) -> FloatArray:
        """Return scores (n, c) of numbers (n, c)."""
        return np.log(P) if self.link == "log" else P

    def inverse(self, S: FloatArray) -> FloatArray:
        """Return the numbers (n, c) that have these scores."""
        return np.exp(S) if self.link == "log" else S


class Question(Protocol):
    """How answers become decisions, which rules and counterfactuals are about."""

    @property
    def names(self) -> tuple[str, ...]:
        """What to call each decision."""
        ...

    @property
    def intervals(self) -> bool:
        """Whether rules end in an interval of numbers instead of a decision."""
        ...

    def decide(self, P: FloatArray) -> IntArray:
        """Return the decision (n,) on each answer, as a position in `names`."""
        ...

    def holds(self, P: FloatArray, decision: int) -> BoolArray:
        """Return for which answers a decision is right, (n,); with intervals, several may be."""
        ...


@dataclass(frozen=True)
class MostLikely:
    """The class with the largest probability."""

    names: tuple[str, ...]
    intervals: ClassVar[bool] = False

    def decide(self, P: FloatArray) -> IntArray:
        """See `Question`."""
        return P.argmax(1)

    def holds(self, P: FloatArray, decision: int) -> BoolArray:
        """See `Question`."""
        return np.asarray(P.argmax(1) == decision)


@dataclass(frozen=True)
class Threshold:
    """Whether a number is below a threshold, or at least the threshold.

    >>> Threshold(0, 2.5).decide(np.array([[2.0], [2.5]]))
    array([0, 1])
    """

    output: int
    threshold: float
    intervals: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, str]:
        """See `Question`."""
        text = format_number(self.threshold)
        return f"below {text}", f"at least {text}"

    def decide(self, P: FloatArray) -> IntArray:
        """See `Question`."""
        return (P[:, self.output] >= self.threshold).astype(np.intp)

    def holds(self, P: FloatArray, decision: int) -> BoolArray:
        """See `Question`."""
        return np.asarray(self.decide(P) == decision)


@dataclass(frozen=True)
class Bands:
    """Bands of similar numbers, from edge to edge.

    A number belongs to one band; it counts as similar to the numbers in half of each neighbouring band, too.

    >>> bands = Bands(0, (0.0, 1.0, 2.0, 3.0))
    >>> bands.decide(np.array([[-0.5], [1.0], [9.0]]))
    array([0, 1, 2])
    >>> bands.holds(np.array([[0.4], [0.6], [2.4], [2.6]]), 1)
    array([False,  True,  True, False])
    """

    output: int
    edges: tuple[float, ...]
    intervals: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        """See `Question`."""
        ends = [format_number(edge) for edge in self.edges]
        return tuple(f"{low} to {high}" for low, high in pairwise(ends))

    def decide(self, P: FloatArray) -> IntArray:
        """See `Question`."""
        return np.searchsorted(self.edges[1:-1], P[:, self.output], side="right")

    def holds(self, P: FloatArray, decision: int) -> BoolArray:
        """See `Question`."""
        middle = [(a + b) / 2 for a, b in zip(self.edges, self.edges[1:], strict=False)]
        low, high = [-math.inf, *middle][decision], [*middle, math.inf][decision + 1]
        y = P[:, self.output]
        return np.asarray((y >= low) & (y <= high))


@dataclass(frozen=True)
class Outputs(ABC):
    """What a model answers, column by column."""

    names: tuple[str, ...]
    task: ClassVar[str]

    def __len__(self) -> int:
        return len(self.names)

    @property
    @abstractmethod
    def explained(self) -> tuple[str, ...]:
        """The outputs that contributions are to."""

    @property
    @abstractmethod
    def scale_name(self) -> str:
        """The scale that contributions add up on, in a word or two."""

    @abstractmethod
    def describe_scale(self, i: int = 0) -> str:
        """Describe what the contributions to an explained output add up to."""

    @abstractmethod
    def fit_scale(self, P: FloatArray) -> Scale:
        """Return the scale of contributions, fitted on all answers (n, c)."""

    @abstractmethod
    def answers(self, S: FloatArray) -> FloatArray:
        """Return the answers (n, c) that have these scores."""

    @abstractmethod
    def targets(self, P: FloatArray) -> FloatArray:
        """Return what encoders learn from answers: probabilities, or scores."""

    @abstractmethod
    def question(self, output: int | str | None = None, threshold: float | None = None) -> Question:
        """Return how answers become decisions."""

    @abstractmethod
    def alike(self, P: FloatArray, Q: FloatArray) -> BoolArray:
        """Return which rows of two sets of answers (n, c) agree, (n,)."""

    @abstractmethod
    def error(self, P: FloatArray, Q: FloatArray) -> FloatArray:
        """Return how far two sets of answers (n, c) are apart, row by row, (n,)."""

    @abstractmethod
    def first(self, P: FloatArray) -> IntArray:
        """Return the explained output to read first, row by row, (n,)."""

    @abstractmethod
    def headline(self, p: FloatArray) -> str:
        """Describe one answer (c,)."""

    @abstractmethod
    def short(self, p: FloatArray) -> str:
        """Describe one answer (c,) in a word or a number."""

    @abstractmethod
    def format_score(self, score: float) -> str:
        """Return a contribution or score as text, with its sign."""

    @abstractmethod
    def format_error(self, error: float) -> str:
        """Return an error on the scale of contributions as text."""

    @abstractmethod
    def columns(self, P: FloatArray) -> dict[str, np.ndarray[Any, Any]]:
        """Return answers as named columns of a frame."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, from which `load_outputs` makes the same object."""


@dataclass(frozen=True)
class Classes(Outputs):
    """Probabilities of classes.

    With `labels_only`, the model answers with decisions alone: each has probability 1.
    """

    labels_only: bool = False
    task: ClassVar[str] = "classification"
    scale_name: ClassVar[str] = "log-odds"

    @property
    def explained(self) -> tuple[str, ...]:
        """The second of two classes, or every class."""
        return self.names[1:] if len(self.names) == 2 else self.names

    def describe_scale(self, i: int = 0) -> str:
        """Describe log-odds.

        >>> Classes(("no", "yes")).describe_scale()
        "log-odds of 'yes' against 'no'"
        """
        if len(self.names) == 2:
            return f"log-odds of {self.names[1]!r} against {self.names[0]!r}"
        return f"log-odds of {self.names[i]!r} against the mean of {len(self.names)} classes"

    def fit_scale(self, P: FloatArray) -> Scale:
        """See `Outputs`."""
        return LogOdds.fit(P)

    def answers(self, S: FloatArray) -> FloatArray:
        """Convert log-odds to probabilities: the logistic function for one column, else softmax.

        >>> Classes(("no", "yes")).answers(np.array([[0.0]]))
        array([[0.5, 0.5]])
        """
        if S.shape[1] == 1:
            return np.column_stack([expit(-S[:, 0]), expit(S[:, 0])])
        return np.asarray(softmax(S, axis=1))

    def targets(self, P: FloatArray) -> FloatArray:
        """See `Outputs`."""
        return P

    def question(self, output: int | str | None = None, threshold: float | None = None) -> Question:
        """See `Outputs`."""
        if threshold is not None or output is not None:
            raise ValueError(
                "threshold and output are for models that answer with numbers; this one answers with "
                f"probabilities of {list(self.names)}"
            )
        return MostLikely(self.names)

    def alike(self, P: FloatArray, Q: FloatArray) -> BoolArray:
        """Return where the same class is the most likely."""
        return np.asarray(P.argmax(1) == Q.argmax(1))

    def error(self, P: FloatArray, Q: FloatArray) -> FloatArray:
        """Return total variations."""
        return np.asarray(0.5 * np.abs(P - Q).sum(1))

    def first(self, P: FloatArray) -> IntArray:
        """Return the decided class, or the only output of two classes."""
        return np.zeros(len(P), dtype=np.intp) if len(self.names) == 2 else P.argmax(1)

    def headline(self, p: FloatArray) -> str:
        """See `Outputs`.

        >>> Classes(("no", "yes")).headline(np.array([0.25, 0.75]))
        "'yes' with probability 0.750"
        """
        return f"{self.short(p)!r} with probability {p.max():.3f}"

    def short(self, p: FloatArray) -> str:
        """Return the decided class."""
        return self.names[int(p.argmax())]

    def format_score(self, score: float) -> str:
        """See `Outputs`."""
        return f"{score:+.3f}"

    def format_error(self, error: float) -> str:
        """See `Outputs`."""
        return f"{error:.3f}"

    def columns(self, P: FloatArray) -> dict[str, np.ndarray[Any, Any]]:
        """Return the decision and its probability."""
        names = np.array(self.names, dtype=object)
        return {"decision": names[P.argmax(1)], "probability": P.max(1, initial=0.0)}

    def to_dict(self) -> dict[str, Any]:
        """See `Outputs`."""
        return {"task": self.task, "names": list(self.names), "labels_only": self.labels_only}


@dataclass(frozen=True)
class Numbers(Outputs):
    """One or several numbers.

    Parameters
    ----------
    link
        `identity`: contributions add up to the number itself; `log`: to its logarithm, so that they are
        factors of the number.
    spread
        The standard deviation of each output on the fitted rows.
    edges
        Where each output is divided into bands of similar numbers.
    """

    link: str = "identity"
    spread: tuple[float, ...] = ()
    edges: tuple[tuple[float, ...], ...] = ()
    task: ClassVar[str] = "regression"

    def fit(self, P: FloatArray) -> Self:
        """Measure how far answers (n, c) to the fitted rows are spread."""
        spread = tuple(float(each) if each > 0 else 1.0 for each in P.std(0))
        return replace(self, spread=spread, edges=tuple(band_edges(y) for y in P.T))

    @property
    def scale(self) -> NumberScale:
        """The scale that contributions add up on."""
        return NumberScale(self.link)

    @property
    def explained(self) -> tuple[str, ...]:
        """All of them."""
        return self.names

    @property
    def scale_name(self) -> str:
        """See `Outputs`."""
        if self.link == "log":
            return "logarithm of the prediction"
        return self.names[0] if len(self.names) == 1 else "units of each output"

    def describe_scale(self, i: int = 0) -> str:
        """See `Outputs`.

        >>> Numbers(("price",), link="log").describe_scale()
        'logarithm of price'
        """
        return f"logarithm of {self.names[i]}" if self.link == "log" else self.names[i]

    def fit_scale(self, P: FloatArray) -> Scale:
        """See `Outputs`."""
        return self.scale

    def answers(self, S: FloatArray) -> FloatArray:
        """See `Outputs`."""
        return self.scale.inverse(S)

    def targets(self, P: FloatArray) -> FloatArray:
        """See `Outputs`."""
        return self.scale(P)

    def position(self, output: int | str | None) -> int:
        """Return the position of an output, given by its name or position; None for the only one."""
        if output is None and len(self.names) == 1:
            return 0
        if isinstance(output, str) and output in self.names:
            return self.names.index(output)
        if isinstance(output, (int, np.integer)) and -len(self) <= output < len(self):
            return int(output) % len(self)
        raise ValueError(f"output must be one of {list(self.names)}, found {output!r}")

    def question(self, output: int | str | None = None, threshold: float | None = None) -> Question:
        """See `Outputs`."""
        at = self.position(output)
        if threshold is None:
            return Bands(at, self.edges[at])
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float, np.number)):
            raise ValueError(f"threshold must be a number, found {threshold!r}")
        if not math.isfinite(threshold):
            raise ValueError(f"threshold must be finite, found {threshold!r}")
        return Threshold(at, float(threshold))

    def alike(self, P: FloatArray, Q: FloatArray) -> BoolArray:
        """Return where all numbers are within a tenth of a standard deviation."""
        return np.asarray((np.abs(P - Q) <= TOLERANCE * np.array(self.spread)).all(1))

    def error(self, P: FloatArray, Q: FloatArray) -> FloatArray:
        """Return absolute differences; of several outputs the mean, each in its standard deviations."""
        if len(self) == 1:
            return np.abs(P - Q)[:, 0]
        return np.asarray((np.abs(P - Q) / np.array(self.spread)).mean(1))

    def first(self, P: FloatArray) -> IntArray:
        """Return the first output."""
        return np.zeros(len(P), dtype=np.intp)

    def format(self, number: float, i: int = 0) -> str:
        """Return a number as text, with as many decimals as its spread calls for.

        >>> Numbers(("price",), spread=(5e4,)).format(212345.678)
        '212,346'
        >>> Numbers(("x",), spread=(0.5,)).format(1 / 3)
        '0.333'
        """
        return f"{number:,.{self.decimals(i)}f}"

    def decimals(self, i: int = 0) -> int:
        """Return how many decimals numbers of an output are shown with."""
        spread = self.spread[i] if self.spread else 1.0
        return int(np.clip(2 - math.floor(math.log10(max(spread, 1e-12))), 0, 9))

    def headline(self, p: FloatArray) -> str:
        """See `Outputs`.

        >>> Numbers(("price",), spread=(50.0,)).headline(np.array([212.3]))
        'price = 212.3'
        """
        return ", ".join(f"{name} = {self.format(p[i], i)}" for i, name in enumerate(self.names))

    def short(self, p: FloatArray) -> str:
        """See `Outputs`."""
        return ", ".join(self.format(each, i) for i, each in enumerate(p))

    def format_score(self, score: float) -> str:
        """Return a contribution as text; with a link, as a factor.

        >>> Numbers(("price",), spread=(50.0,)).format_score(12.34)
        '+12.3'
        >>> Numbers(("price",), link="log").format_score(np.log(2))
        '+0.693'
        """
        return f"{score:+.3f}" if self.link == "log" else f"{score:+,.{self.decimals()}f}"

    def format_error(self, error: float) -> str:
        """See `Outputs`."""
        return f"{error:.3f}" if self.link == "log" else f"{error:,.{self.decimals()}f}"

    def columns(self, P: FloatArray) -> dict[str, np.ndarray[Any, Any]]:
        """Return the prediction; with several outputs, one column for each."""
        if len(self) == 1:
            return {"prediction": P[:, 0]}
        return {f"prediction: {name}": P[:, i] for i, name in enumerate(self.names)}

    def to_dict(self) -> dict[str, Any]:
        """See `Outputs`."""
        edges = [list(each) for each in self.edges]
        return {
            "task": self.task,
            "names": list(self.names),
            "link": self.link,
            "spread": list(self.spread),
            "edges": edges,
        }


def load_outputs(values: Mapping[str, Any]) -> Outputs:
    """Return the outputs that `to_dict` describes.

    >>> load_outputs(Classes(("no", "yes")).to_dict())
    Classes(names=('no', 'yes'), labels_only=False)
    """
    names = tuple(str(name) for name in values["names"])
    if values["task"] == Classes.task:
        return Classes(names, bool(values["labels_only"]))
    if values["task"] != Numbers.task or values["link"] not in LINKS:
        raise ValueError(f"unknown outputs: {values['task']!r}, link {values.get('link')!r}")
    edges = tuple(tuple(float(edge) for edge in each) for each in values["edges"])
    spread = tuple(float(each) for each in values["spread"])
    if len(edges) != len(names) or len(spread) != len(names):
        raise ValueError(f"{len(names)} outputs, but {len(edges)} sets of edges and {len(spread)} spreads")
    return Numbers(names, str(values["link"]), spread, edges)


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


def default_names(n: int, given: Sequence[Any] | None) -> tuple[str, ...]:
    """Return the names of numbers: those given, or `prediction`, or `output 0`, `output 1` and so on.

    >>> default_names(1, None), default_names(2, None)
    (('prediction',), ('output 0', 'output 1'))
    """
    if given is not None:
        return tuple(str(name) for name in given)
    return ("prediction",) if n == 1 else tuple(f"output {i}" for i in range(n))
