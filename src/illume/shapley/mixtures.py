"""Rows to ask the model about: features of one row with the rest of another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Frame
from illume.shapley.codes import Codes
from illume.shapley.walks import Walks, first_features

AT_ONCE = 32_768  # rows that are put together and asked about at a time


@dataclass(frozen=True, eq=False)
class Mixtures:
    """Mixed rows: features `from_row` (n, f) of `row` (n,), the others of `background` row (n,)."""

    row: IntArray
    background: IntArray
    from_row: BoolArray

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, rows: Any) -> Mixtures:
        return Mixtures(self.row[rows], self.background[rows], self.from_row[rows])

    @classmethod
    def concatenate(cls, parts: list[Mixtures]) -> Mixtures:
        """Put several sets of mixed rows together."""
        return cls(
            np.concatenate([part.row for part in parts]),
            np.concatenate([part.background for part in parts]),
            np.concatenate([part.from_row for part in parts]),
        )

    @classmethod
    def draw(cls, rows: IntArray, background: IntArray, f: int, n: int, rng: np.random.Generator) -> Mixtures:
        """Draw n mixed rows; every number of features from the first row, 0 to f, is as likely."""
        size = rng.integers(f + 1, size=(n, 1))
        rank = rng.random((n, f), dtype=np.float32).argsort(1).argsort(1)
        return cls(rng.choice(rows, n), rng.choice(background, n), rank < size)

    @classmethod
    def along_walks(cls, rows: IntArray, walks: Walks, background: IntArray) -> Mixtures:
        """Return all points of walks and of the reversed walks but their ends, step by step."""
        f = walks.order.shape[1]
        masks = [mask for k in range(1, f) for mask in _and_reverse(first_features(walks.order, k))]
        times = len(masks)
        every = np.concatenate(masks) if masks else np.empty((0, f), dtype=bool)
        return cls(np.tile(rows, times), np.tile(background[walks.background], times), every)

    def codes(self, rows: Codes, background: Codes, features: IntArray) -> Codes:
        """Return the codes of the mixed rows; `features` says which of the mask's columns have codes."""
        keep = self.from_row[:, features]
        at = np.where(keep, rows.at[self.row], background.at[self.background])
        return Codes(at, np.where(keep, rows.part[self.row], background.part[self.background]))


def _and_reverse(mask: BoolArray) -> tuple[BoolArray, BoolArray]:
    return mask, ~mask


def walk_values(points: FloatArray, start: FloatArray, end: FloatArray, order: IntArray) -> FloatArray:
    """Return the mean change that each feature makes on a walk and its reverse, (n, f, c).

    `points` are the values at what `Mixtures.along_walks` gives, `start` and `end` (n, c) those of the
    background rows and of the rows themselves.

    >>> order = np.array([[1, 0]])
    >>> f = lambda a, b: a + 10 * b + 100 * a * b
    >>> points = np.array([[f(0, 1)], [f(1, 0)]])
    >>> walk_values(points, np.array([[f(0, 0)]]), np.array([[f(1, 1)]]), order)
    array([[[51.],
            [60.]]])
    """
    n, f = order.shape
    steps = points.reshape(f - 1, 2, n, -1)
    there = np.concatenate([start[None], steps[:, 0], end[None]])
    back = np.concatenate([end[None], steps[:, 1], start[None]])
    change = 0.5 * (there[1:] - there[:-1] + back[:-1] - back[1:])
    values = np.empty((n, f, points.shape[-1]))
    np.put_along_axis(values, order[:, :, None], change.transpose(1, 0, 2), axis=1)
    return values


@dataclass(frozen=True, eq=False)
class MixedFrames:
    """Puts mixed rows together as frames of the user's own kind.

    `columns` (f,) says where the features stand among the frame's columns; columns that are no feature
    come from the row itself.
    """

    frame: Frame
    background: Frame
    columns: IntArray

    @classmethod
    def of(cls, frame: Frame, background: Frame, names: tuple[str, ...]) -> MixedFrames:
        """Mix the features of these names."""
        columns = np.array([frame.names.index(name) for name in names], dtype=np.intp)
        return cls(frame, background.select(frame.names), columns)

    def answers(self, mixtures: Mixtures, ask: Callable[[Frame], FloatArray]) -> FloatArray:
        """Ask about mixed rows, so many at a time."""
        mixer = self.frame.mixer(self.background)
        answers = []
        for start in range(0, len(mixtures), AT_ONCE):
            part = mixtures[start : start + AT_ONCE]
            source = np.full((len(part), len(self.frame.names)), -1, dtype=np.intp)
            source[:, self.columns] = np.where(part.from_row, -1, part.background[:, None])
            answers.append(ask(mixer(part.row, source)))
        return np.concatenate(answers) if answers else ask(self.frame.slice(0, 0))


def probes(codes: FloatArray, rows: IntArray, n: int, rng: np.random.Generator) -> Mixtures:
    """Return for each feature n rows in which it alone has another row's, and another, value.

    `codes` (n_rows, f) tell values apart. The other row's value is drawn so that rare values come as often
    as common ones. Features of one value have no probes.
    """
    f = codes.shape[1]
    parts = []
    for j in range(f):
        distinct, first, inverse = np.unique(codes[rows, j], return_index=True, return_inverse=True)
        if len(distinct) < 2:
            continue
        mine = rng.integers(len(rows), size=n)
        other = (inverse[mine] + rng.integers(1, len(distinct), size=n)) % len(distinct)
        from_row = np.ones((n, f), dtype=bool)
        from_row[:, j] = False
        parts.append(Mixtures(rows[mine], rows[first[other]], from_row))
    return Mixtures.concatenate(parts)
