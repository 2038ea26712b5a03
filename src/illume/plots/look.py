"""How a model's answers look in plots: in words, ticks and colours."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from illume._typing import FloatArray
from illume.plots.style import Axes
from illume.results.attributions import Attribution, Attributions
from illume.results.latents import LatentRow, Latents

LONGEST_LINE = 54  # of a caption, in characters
Key = tuple[list[Any], list[str]]  # handles and labels of a legend


@dataclass(frozen=True)
class Look(ABC):
    """What a kind of answer looks like; the names of `outputs` are short enough for labels."""

    outputs: Any
    key_title: ClassVar[str | None] = None
    """The title of a legend of answers."""
    key_place: ClassVar[dict[str, Any]] = {}
    """Where such a legend is, if not right of the axes."""
    disagreement: ClassVar[str]
    """What a surrogate does that disagrees."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of outputs."""
        return tuple(self.outputs.names)

    @abstractmethod
    def scale(self, i: int) -> tuple[str, ...]:
        """Return what contributions to an explained output add up to, in parts between which a line may end.

        The first two are enough to say what contributions are to.
        """

    def target(self, i: int) -> str:
        """Return what contributions to an explained output are to, in short."""
        return " ".join(self.scale(i)[:2])

    @abstractmethod
    def describe_strength(self, batch: Attributions) -> str:
        """Return what mean absolute contributions are in, if all outputs are taken together."""

    @abstractmethod
    def owner(self, batch: Attributions) -> str:
        """Return whose answers contributions are to, or nothing where that goes without saying."""

    @abstractmethod
    def answer(self, p: FloatArray) -> str:
        """Return one answer (c,) in words."""

    @abstractmethod
    def tick(self, score: float, i: int, total: bool) -> str:
        """Return a contribution, or a total, as the label of a tick."""

    @abstractmethod
    def draw_rows(self, ax: Axes, places: FloatArray, P: FloatArray, i: int, size: float) -> Key:
        """Draw rows (n, 2) in the colours of their answers; return what the legend has to say."""

    @abstractmethod
    def line_colours(self, ax: Axes, P: FloatArray, i: int) -> tuple[Any, Key]:
        """Return a colour for each answer, and what the legend has to say."""

    @abstractmethod
    def draw_regions(self, ax: Axes, latents: Latents, Z: FloatArray, i: int, **place: Any) -> None:
        """Shade the surrogate's answers on a grid of latents Z (rows, columns, k)."""

    @abstractmethod
    def draw_answers(self, ax: Axes, row: LatentRow) -> list[str]:
        """Draw the answers of black box and surrogate as bars and diamonds; return the labels."""

    @abstractmethod
    def arrow_colour(self, before: FloatArray, after: FloatArray, i: int) -> str:
        """Return the colour of what changes an answer (c,)."""

    @abstractmethod
    def answer_range(self, i: int) -> tuple[float, float]:
        """Return the range of answers in the fitted rows."""

    @abstractmethod
    def draw_quality(self, axes: Any, attributions: Attributions, i: int, n_bins: int) -> str:
        """Draw on two axes how the surrogate stands in for the black box; return the agreement in words."""

    def contribution(self, batch: Attributions, i: int) -> str:
        """Say what contributions contribute to."""
        return _in_two_lines(f"contribution to {self.owner(batch)}".rstrip(), *self.scale(i)[:2])

    def total(self, batch: Attributions, i: int) -> str:
        """Say what contributions add up to."""
        first, *rest = self.scale(i)
        return _in_two_lines(f"{self.owner(batch)}{first}", *rest)

    def row(self, attribution: Attribution) -> str:
        """Say what the model answers to a row; and the surrogate, if contributions are the surrogate's."""
        batch = attribution.batch
        answer = self.answer(batch.predictions[0])
        if batch.kind == "shapley":
            return answer
        said = self.outputs.surrogate_short(batch.predictions[0], batch.surrogate_predictions[0])
        return f"{answer}\n(surrogate {said}, {attribution.verdict})"

    def weight_groups(self, outputs: list[int]) -> list[list[int]]:
        """Return which outputs' weights can be compared, and have one colour scale."""
        return [outputs]

    def show_total(self, score: float, i: int) -> str:
        """Return a total as text."""
        return str(self.outputs.format_total(score, i))

    def format_axis(self, axis: Any, i: int, *, total: bool = False, most: int | None = None) -> None:
        """Write ticks of contributions, or of totals, in their unit, `most` at most."""
        if most is not None:
            axis.get_major_locator().set_params(nbins=most)
        upright = axis.axis_name == "x"

        def label(score: float, _: Any) -> str:
            words = self.tick(score, i, total).replace("-", "−")
            return words.replace(" (", "\n(") if upright else words

        axis.set_major_formatter(label)


def _in_two_lines(*parts: str) -> str:
    """Join parts of a caption; the last one stands below the others where all are too long for a line."""
    *start, last = parts
    line = " ".join(parts)
    return f"{' '.join(start)}\n{last}" if start and len(line) >= LONGEST_LINE else line


def plain_number(number: float) -> str:
    """Return a number of an axis with thousands separators.

    >>> plain_number(0.1 + 0.2), plain_number(1e6)
    ('0.3', '1,000,000')
    """
    return f"{number + 0.0:,.10g}"


def tick_label(number: float, _: Any = None) -> str:
    """Return the label of a tick at a number.

    >>> tick_label(-2000.0)
    '−2,000'
    """
    return plain_number(number).replace("-", "−")


def aligned(limit: float) -> Callable[[float], str]:
    """Return how to write numbers up to a limit, all with the same decimals, about three digits.

    >>> aligned(2.5)(-1.234), aligned(12345.6)(9876.5)
    ('-1.23', '9,876')
    """
    decimals = int(np.clip(2 - np.floor(np.log10(max(abs(limit), 1e-12))), 0, 9))
    return lambda number: f"{number:z,.{decimals}f}"
