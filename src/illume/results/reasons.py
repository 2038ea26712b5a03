"""Reasons of a row: the features that pushed it to its side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np

from illume.data.frames import Origin
from illume.data.number_text import count
from illume.results.by_label import HasRows
from illume.results.display import Shown, Table

SHOWN = 5
SURE = 1.96  # standard errors
UNSURE = "sign unsure"


class Line(NamedTuple):
    """One feature of one row: its name, its value as text, its contribution and standard error, or NaN.

    `label` is what the feature is called in texts.
    """

    name: str
    value: str
    contribution: float
    standard_error: float
    label: str

    @property
    def unsure(self) -> bool:
        """Whether the contribution may have the other sign: it is within 1.96 standard errors of 0."""
        return bool(abs(self.contribution) <= SURE * self.standard_error and self.standard_error > 0)

    def ties_with(self, other: Line) -> bool:
        """Whether either may be the larger one: they differ by at most 1.96 standard errors."""
        error = math.hypot(self.standard_error, other.standard_error)
        return abs(self.contribution - other.contribution) <= SURE * error

    @classmethod
    def rest(cls, name: str, contribution: float) -> Line:
        """Return a term of the score that is no feature."""
        return cls(name, "", contribution, math.nan, name)


@dataclass(frozen=True, eq=False, repr=False)
class Reasons(Shown, Sequence[Line]):
    """The features that pushed a row to its side, strongest first: a sequence of `Line`.

    `headline` is the answer that they are reasons of; `show` writes the contribution of a line, with its
    standard error where that is known. `left_out` is the strongest reason beyond the first n, if any.
    """

    lines: tuple[Line, ...]
    headline: str
    show: Callable[[Line], str]
    left_out: Line | None = None

    @property
    def ties(self) -> tuple[bool, ...]:
        """Whether each reason is too close to the next one to be ranked; after the last comes `left_out`."""
        following = [*self.lines[1:], *([self.left_out] if self.left_out else [])]
        tied = [line.ties_with(other) for line, other in zip(self.lines, following, strict=False)]
        return tuple(tied + [False] * (len(self.lines) - len(tied)))

    def __len__(self) -> int:
        return len(self.lines)

    @overload
    def __getitem__(self, i: int) -> Line: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[Line]: ...
    def __getitem__(self, i: Any) -> Any:
        return self.lines[i]

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Reasons | list | tuple) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def describe(self) -> Iterator[str | Table]:
        """Yield the answer, and the reasons as a chart."""
        yield f"{self.headline}, {'because of' if self.lines else 'for no reason among the features'}"
        cells = [
            [line.label, line.value, self.show(line), UNSURE if line.unsure else ""] for line in self.lines
        ]
        yield Table(cells, "<>><", [line.contribution for line in self.lines])
        if any(self.ties):
            yield f"too close to rank: {'; '.join(self._tied_names())}"

    def _tied_names(self) -> Iterator[str]:
        for k in np.flatnonzero(self.ties):
            last = self.left_out if k + 1 == len(self.lines) else None
            other = f"{last.label}, which is left out" if last else self.lines[k + 1].label
            yield f"{self.lines[k].label} and {other}"


@dataclass(frozen=True, eq=False, repr=False)
class BatchReasons(Shown, HasRows, Sequence[Reasons]):
    """The reasons of several rows, one `Reasons` for each, found when they are read."""

    find: Callable[[int], Reasons]
    row_labels: Any
    origin: Origin = Origin()  # noqa: RUF009 -- frozen

    def __len__(self) -> int:
        return len(self.row_labels)

    @overload
    def __getitem__(self, i: int) -> Reasons: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[Reasons]: ...
    def __getitem__(self, i: Any) -> Any:
        positions = np.arange(len(self))[i]
        return self.find(int(positions)) if np.ndim(positions) == 0 else list(map(self.find, positions))

    def describe(self) -> Iterator[str | Table]:
        """Yield the reasons of the first rows as a table."""
        yield f"Reasons of {count(len(self), 'row')}"
        shown = self[:SHOWN]
        if shown:
            cells = [["row", "answer", "reasons, strongest first"]]
            for label, each in zip(self.row_labels, shown, strict=False):
                reasons = (
                    f"{line.label} = {line.value} ({each.show(line)}{f', {UNSURE}' if line.unsure else ''})"
                    for line in each
                )
                cells.append([str(label), each.headline, ", ".join(reasons)])
            yield Table(cells, "<<<", head=True)
        if len(self) > SHOWN:
            yield f"  … and {len(self) - SHOWN} more"
