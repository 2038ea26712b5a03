"""What a model answers: probabilities of classes, or one or several numbers.

Everything that depends on the kind of answer asks one of these objects: the scale that contributions add up
on, when two answers agree, how answers become decisions, and the words for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.questions import Question
from illume.data.scales import Scale
from illume.data.terminal_text import require_text


@dataclass(frozen=True)
class Outputs(ABC):
    """What a model answers, column by column."""

    names: tuple[str, ...]
    task: ClassVar[str]
    member: ClassVar[str]  # the word for one of the names
    members: ClassVar[str]
    decides: ClassVar[bool]  # whether an answer decides for one of the outputs
    choose_by_r2: ClassVar[bool] = False  # whether surrogates are chosen by R² alone
    takes_offset: ClassVar[bool] = False  # whether an offset turns the surrogate's answer into the model's
    takes_threshold: ClassVar[bool] = False  # whether a threshold of a probability can decide
    disagreement: ClassVar[str]  # what a surrogate does that does not agree

    def __post_init__(self) -> None:
        """Refuse names that cannot be written."""
        require_text(f"the {self.member}", *self.names)

    def __len__(self) -> int:
        return len(self.names)

    @abstractmethod
    def parse(self, raw: np.ndarray[Any, Any]) -> FloatArray:
        """Check what the model answered and return it as answers (n, c)."""

    def fit(self, P: FloatArray) -> Self:
        """Measure what must be known of the answers (n, c) to the fitted rows."""
        return self

    @property
    @abstractmethod
    def kind(self) -> str:
        """What the model answers, in words."""

    @property
    @abstractmethod
    def explained(self) -> tuple[str, ...]:
        """The outputs that contributions are to."""

    @property
    @abstractmethod
    def scale_name(self) -> str:
        """The scale that contributions add up on, in a word or two."""

    @property
    @abstractmethod
    def link(self) -> str:
        """How scores come from answers: `log-odds`, `identity` or `log`."""

    @property
    @abstractmethod
    def words(self) -> tuple[str, str]:
        """What scores and answers are called in exported graphs."""

    @abstractmethod
    def towards(self, positive_class: Any) -> Self:
        """Return the same with another positive class, which explanations are for; None changes nothing."""

    @abstractmethod
    def ask(self, positive_class: Any, threshold: float | None) -> Self:
        """Return the same with a positive class, and from which probability of it on it is decided for.

        None is the default of either.
        """

    def with_threshold(self, threshold: float | None) -> Self:
        """Return the same where a threshold decides between two classes; None changes nothing."""
        return self

    def turn(self, array: FloatArray) -> FloatArray:
        """Return scores or contributions in the direction of the explained output.

        Networks and surrogates have those of the second of two classes.
        """
        return array

    def turn_total(self, array: FloatArray) -> FloatArray:
        """Return scores, or base values, in the direction of the explained output; see `turn`."""
        return self.turn(array)

    def on_scale(self, scale: str) -> Self:
        """Return the same with contributions on a scale of `CLASS_SCALES`; numbers have one scale only."""
        return self

    def choose_scale(self, scale: str, P: FloatArray) -> str:
        """Return the scale of a model that is learned and answers with P (n, c); `scale` may be `auto`."""
        return scale

    def answers_of(self, S: FloatArray) -> FloatArray:
        """Return the answers (n, c) of scores (n, s) on the scale that contributions add up on."""
        return self.answers(S)

    @property
    @abstractmethod
    def error_unit(self) -> str:
        """What errors of contributions are measured in."""

    @property
    def strength_unit(self) -> str:
        """What sizes of contributions are measured in, if all outputs are added up."""
        return self.error_unit

    @abstractmethod
    def describe_scale(self, i: int = 0) -> str:
        """Describe what the contributions to an explained output add up to."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """What the model answers, in a line."""

    @abstractmethod
    def describe_scales(self) -> str:
        """Describe what the contributions of a batch add up to."""

    @abstractmethod
    def fit_scale(self, P: FloatArray) -> Scale:
        """Return the scale of contributions, fitted on all answers (n, c)."""

    @abstractmethod
    def read_scale(self, least: float, center: FloatArray, unit: FloatArray) -> Scale:
        """Return the scale with stored figures; raise ValueError if it cannot have these."""

    @abstractmethod
    def scale_of(self, link: str) -> str:
        """Return the scale of raw scores that a link turns into answers; empty if it is none of ours."""

    @abstractmethod
    def scores(self, P: FloatArray) -> FloatArray:
        """Return the scores (n, s) of answers (n, c), on the scale that contributions add up on."""

    @abstractmethod
    def answers(self, S: FloatArray) -> FloatArray:
        """Return the answers (n, c) that have these scores."""

    @property
    @abstractmethod
    def unit(self) -> FloatArray:
        """What counts as a large difference between two answers, column by column, (c,)."""

    @abstractmethod
    def targets(self, P: FloatArray) -> FloatArray:
        """Return what encoders learn from answers: probabilities, or scores."""

    @abstractmethod
    def normalize_weights(self, coef: FloatArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weights (s, k) and intercepts (s,) of a linear model in the form that is unique."""

    @abstractmethod
    def question(self, output: int | str | None = None, threshold: float | None = None) -> Question:
        """Return how answers become decisions."""

    @property
    def strata(self) -> Question:
        """Groups of similar answers, for drawing rows alike from all of them."""
        return self.question()

    @property
    def common_unit(self) -> FloatArray:
        """What contributions are divided by to compare them over outputs, (s,)."""
        return np.ones(1)

    @abstractmethod
    def require_variety(self, P: FloatArray) -> None:
        """Raise if the model gives all fitted rows the same answer."""

    def describe_monotony(self, P: FloatArray) -> str:
        """Say if the model decides alike for all rows, so that there is nothing to decide; else be empty."""
        return ""

    @abstractmethod
    def alike(self, P: FloatArray, Q: FloatArray) -> BoolArray:
        """Return which rows of two sets of answers (n, c) agree, (n,)."""

    @abstractmethod
    def error(self, P: FloatArray, Q: FloatArray) -> FloatArray:
        """Return how far two sets of answers (n, c) are apart, row by row, (n,)."""

    @abstractmethod
    def single(self, c: int) -> Outputs:
        """Return what one output alone is; classes only exist together."""

    @abstractmethod
    def belongs(self, P: FloatArray, c: int) -> BoolArray:
        """Return which rows the quality of one output is measured on, (n,)."""

    @abstractmethod
    def majority(self, P: FloatArray) -> float:
        """Return the agreement that the best constant answer has; NaN where that means nothing."""

    @property
    def shares_r2(self) -> bool:
        """Whether R² of one output is that of all: what one of two classes gains, the other loses."""
        return self.decides and len(self) == 2

    @property
    def edge(self) -> float | None:
        """The score at which a threshold changes the decision; None without a threshold."""
        return None

    @property
    def leading(self) -> int:
        """The explained output to show first of many rows."""
        return 0

    @abstractmethod
    def first(self, P: FloatArray) -> IntArray:
        """Return the explained output to read first, row by row, (n,)."""

    @abstractmethod
    def side(self, p: FloatArray, i: int, threshold: float | None, base: float) -> int:
        """Return 1 where contributions to an explained output that raise it led to the answer p (c,), or -1.

        `base` is the base value, on the scale of contributions.
        """

    @abstractmethod
    def headline(self, p: FloatArray) -> str:
        """Describe one answer (c,)."""

    @abstractmethod
    def brief(self, p: FloatArray) -> str:
        """Describe one answer (c,) in a few characters."""

    @abstractmethod
    def short(self, p: FloatArray) -> str:
        """Describe one answer (c,) in a word or a number."""

    def format_bound(self, number: float, i: int = 0) -> str:
        """Return an end of an interval as text."""
        return f"{number:,.{self.decimals(i)}f}"

    @abstractmethod
    def surrogate_short(self, p: FloatArray, q: FloatArray) -> str:
        """Describe the surrogate's answer q (c,) beside the black box's p."""

    def decimals(self, i: int = 0) -> int:
        """Return how many decimals numbers of an output are shown with."""
        return 3

    @abstractmethod
    def format_score(self, score: float, i: int = 0) -> str:
        """Return a contribution to an explained output as text, with its sign."""

    @abstractmethod
    def format_total(self, score: float, i: int = 0) -> str:
        """Return a score, or a base value, as text."""

    @abstractmethod
    def format_answer_error(self, error: float) -> str:
        """Return how far a surrogate's answer is off as text, see `error`."""

    def scale_notes(self, base: float, i: int = 0) -> Iterator[str]:
        """Yield what has to be said about the scale of contributions, given the base value."""
        yield from ()

    @abstractmethod
    def format_error(self, error: float) -> str:
        """Return an error on the scale of contributions as text."""

    def format_typical_error(self, error: float) -> str:
        """Return an error over all outputs, in `error_unit`, as text."""
        return self.format_error(error)

    @abstractmethod
    def probabilities(self, P: FloatArray) -> FloatArray:
        """Return answers as probabilities of classes; raise AttributeError if they are none."""

    @abstractmethod
    def plain(self, p: FloatArray) -> Any:
        """Return one answer (c,) as a Python value: a class, a number, or a number for each name."""

    @abstractmethod
    def columns(self, P: FloatArray) -> dict[str, np.ndarray[Any, Any]]:
        """Return answers as named columns of a frame."""

    @abstractmethod
    def surrogate_columns(self, P: FloatArray, Q: FloatArray) -> dict[str, np.ndarray[Any, Any]]:
        """Return the surrogate's answers Q as named columns, beside those of the black box P."""

    @abstractmethod
    def batch_dict(self, P: FloatArray) -> dict[str, Any]:
        """Return answers as plain lists."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, from which `from_dict` makes the same object."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Outputs:
        """Return the outputs that `to_dict` describes; raise ValueError or KeyError if it describes none.

        >>> from illume.data.class_outputs import Classes
        >>> Outputs.from_dict(Classes(("no", "yes")).to_dict())
        Classes(names=('no', 'yes'), labels_only=False, positive=None, cutoff=None, scale='log-odds')
        """
        kinds = {kind.task: kind for kind in Outputs.__subclasses__()}
        if values["task"] not in kinds:
            raise ValueError(f"task is {values['task']!r}, expected one of {sorted(kinds)}")
        names = tuple(values["names"])
        if not all(isinstance(name, str) for name in names) or isinstance(values["names"], str):
            raise ValueError(f"names is {values['names']!r}, expected a list of texts")
        return kinds[values["task"]]._read(names, values)

    @classmethod
    @abstractmethod
    def _read(cls, names: tuple[str, ...], values: Mapping[str, Any]) -> Self:
        """Return the outputs with these names."""

    @abstractmethod
    def is_valid(self, P: FloatArray) -> bool:
        """Whether finite numbers (n, c) can be answers."""
