"""Rows to ask the model about: features of one row with the rest of another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Frame
from illume.shapley.network_arrays import Codes
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
    def draw(
        cls,
        rows: IntArray,
        n_background: int,
        features: IntArray,
        f: int,
        *,
        n: int,
        rng: np.random.Generator,
    ) -> Mixtures:
        """Draw n mixed rows; every number of `features` from the row is as likely, others never are."""
        size = rng.integers(len(features) + 1, size=(n, 1))
        rank = rng.random((n, len(features)), dtype=np.float32).argsort(1).argsort(1)
        from_row = np.zeros((n, f), dtype=bool)
        from_row[:, features] = rank < size
        return cls(rng.choice(rows, n), rng.choice(np.arange(n_background), n), from_row)

    @classmethod
    def along_walks(
        cls, rows: IntArray, walks: Walks, cuts: Sequence[int], features: IntArray, f: int
    ) -> Mixtures:
        """Return the points of walks and of their reverses after `cuts` numbers of changes, cut by cut."""
        first = [first_features(walks.order, cut) for cut in cuts]
        masks = [each for mask in first for each in (mask, ~mask)]
        from_row = np.zeros((len(masks) * len(rows), f), dtype=bool)
        from_row[:, features] = np.concatenate(masks)
        return cls(np.tile(rows, len(masks)), np.tile(walks.background, len(masks)), from_row)

    def codes(self, rows: Codes, background: Codes, features: IntArray) -> Codes:
        """Return the codes of the mixed rows; `features` says which of the mask's columns have codes."""
        return rows[self.row].mix(background[self.background], self.from_row[:, features])


def walk_changes(points: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """Return the mean change that each step makes on a walk and on its reverse, (n, steps, c).

    `points` are the values at what `Mixtures.along_walks` gives, `start` and `end` (n, c) those of the
    background rows and of the rows themselves.

    >>> f = lambda a, b: a + 10 * b + 100 * a * b
    >>> points = np.array([[f(0, 1)], [f(1, 0)]])  # b changes first
    >>> walk_changes(points, np.array([[f(0, 0)]]), np.array([[f(1, 1)]]))
    array([[[60.],
            [51.]]])
    """
    steps = points.reshape(-1, 2, *end.shape)
    there = np.concatenate([start[None], steps[:, 0], end[None]])
    back = np.concatenate([end[None], steps[:, 1], start[None]])
    return 0.5 * np.diff(there - back, axis=0).transpose(1, 0, 2)


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
    def from_names(cls, frame: Frame, background: Frame, names: tuple[str, ...]) -> MixedFrames:
        """Mix the features of these names."""
        columns = np.array([frame.names.index(name) for name in names], dtype=np.intp)
        return cls(frame, background.select(frame.names), columns)

    def answers(self, mixtures: Mixtures, ask: Callable[[Frame], FloatArray]) -> FloatArray:
        """Ask about mixed rows in chunks."""
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
