"""Walks from a background row to a row, one feature at a time, and the mixed rows on the way.

The mean change that a feature makes on walks is an unbiased estimate of its Shapley value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Frame
from illume.data.threads import row_chunks
from illume.twin.network_arrays import Codes, ModelArrays

AT_ONCE = 2**17  # numbers that a step of a walk works on, so that they stay in the cache
MIXED_AT_ONCE = 32_768  # mixed rows that the model is asked about at a time
CORRECTION_ROWS = 2_000
MOST_TOTALS = 16  # directions of all outputs together that a background row is described by
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Walks:
    """Walks of many rows: `background` (n,) says where each begins, `order` (n, m) when features change."""

    background: IntArray
    order: IntArray

    @classmethod
    def draw(cls, n: int, m: int, n_background: int, rng: np.random.Generator) -> Walks:
        """Draw a background row and an order of features for each of n rows."""
        return cls(rng.integers(n_background, size=n), rng.random((n, m), dtype=np.float32).argsort(1))

    @classmethod
    def draw_by_row(cls, keys: IntArray, m: int, n_background: int, salt: int) -> Walks:
        """Draw a walk for each row that depends on the row's key alone, not on the rows around it."""
        numbers = row_numbers(keys, m + 1, salt)
        background = (numbers[:, 0] % np.uint64(n_background)).astype(np.intp)
        return cls(background, np.argsort(numbers[:, 1:], axis=1))


def row_keys(codes: Codes) -> IntArray:
    """Return a number for each row that depends on its values alone."""
    keys: IntArray = np.zeros(len(codes), dtype=np.uint64)
    for j in range(codes.at.shape[1]):
        bits = np.ascontiguousarray(codes.part[:, j]).view(np.uint32).astype(np.uint64)
        keys = _scramble(keys ^ (bits << np.uint64(32)) ^ codes.at[:, j].astype(np.uint64))
    return keys


def row_numbers(keys: IntArray, size: int, salt: int) -> IntArray:
    """Return pseudorandom whole numbers (n, size) for each key."""
    first = _scramble(keys ^ _scramble(np.full(1, salt, dtype=np.uint64)))
    return _scramble(first[:, None] + np.arange(1, size + 1, dtype=np.uint64) * GOLDEN)


def _scramble(x: IntArray) -> IntArray:
    """Mix the bits of whole numbers (the finaliser of SplitMix64)."""
    x = x + GOLDEN
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def network_walks(model: ModelArrays, rows: Codes, background: Codes, walks: Walks) -> FloatArray:
    """Return for each row the mean change that each feature makes on its walk and on the same walk reversed.

    (n, m, c), of the gated units alone; main effects are known without a walk.
    """
    n, m = walks.order.shape
    values = np.empty((n, m, model.last.shape[1]), dtype=np.float32)
    for part in row_chunks(n, max(1, AT_ONCE // model.first.shape[1])):
        mine = Walks(walks.background[part], walks.order[part])
        values[part] = _network_walks(model, rows[part], background, mine)
    return values


def _network_walks(model: ModelArrays, rows: Codes, background: Codes, walks: Walks) -> FloatArray:
    n, m = walks.order.shape
    change = model.summands(model.table.look_up(rows)[1])
    begin = model.summands(model.table.look_up(background[walks.background])[1])
    change -= begin
    low = begin.sum(0) + model.first_bias
    high = low + change.sum(0)
    each = np.arange(n)
    values = np.empty((n, m, model.last.shape[1]), dtype=np.float32)
    there = at_start = model.interaction_part(low)
    back = at_end = model.interaction_part(high)
    for k in range(m):
        feature = walks.order[:, k]
        step = change[feature, each]
        low += step
        high -= step
        last = k == m - 1
        there_next = at_end if last else model.interaction_part(low)
        back_next = at_start if last else model.interaction_part(high)
        values[each, feature] = 0.5 * (there_next - there + back - back_next)
        there, back = there_next, back_next
    return values


def first_features(order: IntArray, k: int) -> BoolArray:
    """Return which features (n, m) are among the first k of an order.

    >>> first_features(np.array([[2, 0, 1]]), 2)
    array([[ True, False,  True]])
    """
    mask = np.zeros(order.shape, dtype=bool)
    np.put_along_axis(mask, order[:, :k], True, axis=1)
    return mask


@dataclass(frozen=True, eq=False)
class BackgroundCorrection:
    """The part of a walk's values that its background row explains, by a regression.

    Subtracting it makes walks less noisy and keeps their mean. `known` (n, m, p) describes each background
    row and has mean 0; `effects` (m, p, c) are weights.
    """

    known: FloatArray
    effects: FloatArray

    @classmethod
    def fit(cls, model: ModelArrays, background: Codes) -> BackgroundCorrection:
        """Learn weights from walks between background rows."""
        _, embedding = model.table.look_up(background)
        n, m, _ = embedding.shape
        totals = _strongest(model.embedded_interactions(embedding))
        known = np.concatenate([embedding, np.broadcast_to(totals[:, None], (n, m, totals.shape[1]))], 2)
        known = np.asarray(known - known.mean(0), dtype=np.float32)
        rng = np.random.default_rng(0)
        rows = background[rng.integers(n, size=CORRECTION_ROWS)]
        walks = Walks.draw(CORRECTION_ROWS, m, n, rng)
        values = network_walks(model, rows, background, walks)
        return cls(known, _ridge(known[walks.background], values))

    def __call__(self, walks: Walks) -> FloatArray:
        """Return what to subtract from the values of walks, (n, m, c)."""
        return np.einsum("nmp,mpc->nmc", self.known[walks.background], self.effects)


def _strongest(totals: FloatArray) -> FloatArray:
    """Return columns (n, c); of very many, their strongest directions, so that cost grows as c does."""
    if totals.shape[1] <= MOST_TOTALS:
        return totals
    found, sizes, _ = np.linalg.svd(totals - totals.mean(0), full_matrices=False)
    return np.asarray(found[:, :MOST_TOTALS] * sizes[:MOST_TOTALS])


def _ridge(known: FloatArray, values: FloatArray) -> FloatArray:
    """Return weights (m, p, c) of a ridge regression of values (n, m, c) on (n, m, p), feature by feature."""
    A = np.einsum("nmp,nmq->mpq", known, known, optimize=True)
    b = np.einsum("nmp,nmc->mpc", known, values - values.mean(0), optimize=True)
    ridge = (1e-3 * np.trace(A, axis1=1, axis2=2) / A.shape[1] + 1e-9)[:, None, None] * np.eye(A.shape[1])
    return np.asarray(np.linalg.solve(A + ridge, b), dtype=np.float32)


def network_values(
    model: ModelArrays, rows: Codes, background: Codes, walks: Iterable[Walks]
) -> tuple[FloatArray, FloatArray]:
    """Return the network's own Shapley values (n, m, c), the means over walks, and the variances of these."""
    correction = BackgroundCorrection.fit(model, background)
    n, total, square = 0, np.zeros(()), np.zeros(())
    for walk in walks:
        found = network_walks(model, rows, background, walk).astype(np.float64) - correction(walk)
        n, total, square = n + 1, total + found, square + found**2
    mean = total / n
    variance = (square / n - mean**2).clip(0) / max(n - 1, 1)
    main, background_main = (model.table.look_up(codes)[0] for codes in (rows, background))
    return mean + (main - background_main.mean(0)), variance


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
        for rows in row_chunks(len(mixtures), MIXED_AT_ONCE):
            part = mixtures[rows]
            source = np.full((len(part), len(self.frame.names)), -1, dtype=np.intp)
            source[:, self.columns] = np.where(part.from_row, -1, part.background[:, None])
            answers.append(ask(mixer(part.row, source)))
        return np.concatenate(answers) if answers else ask(self.frame.slice(0, 0))

    def made_of(self, features: IntArray, sources: IntArray) -> Frame:
        """Return rows like the first one whose `features` (m,) are those of background rows (n, m)."""
        source = np.full((len(sources), len(self.frame.names)), -1, dtype=np.intp)
        source[:, self.columns[features]] = sources
        return self.frame.mixer(self.background)(np.zeros(len(sources), dtype=np.intp), source)


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
