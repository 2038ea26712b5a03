"""Walks from a background row to a row, one feature at a time, and the mixed rows on the way.

The mean change that a feature makes on walks is an unbiased estimate of its Shapley value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.frames import Frame
from illume.data.threads import row_chunks
from illume.twin.network_arrays import Codes, ModelArrays, gate

AT_ONCE = 2**17  # numbers that a step of a walk works on, so that they stay in the cache
MIXED_AT_ONCE = 32_768  # mixed rows that the model is asked about at a time
QUADRATIC_ROWS = 2_000
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


def network_walks(
    model: ModelArrays, rows: Codes, background: Codes, walks: Walks, correct: QuadraticUnits | None = None
) -> FloatArray:
    """Return for each row the mean change that each feature makes on its walk and on the same walk reversed.

    (n, m, c), of the gated units alone; main effects are known without a walk. With `correct`, noise that is
    known is subtracted.
    """
    n, m = walks.order.shape
    values = np.empty((n, m, model.last.shape[1]), dtype=np.float32)
    for part in row_chunks(n, max(1, AT_ONCE // model.first.shape[1])):
        end = model.summands(model.table.look_up(rows[part])[1])
        begin = model.summands(model.table.look_up(background[walks.background[part]])[1])
        sums = begin.sum(0), end.sum(0)
        noise = correct.noise(begin, end, *sums) if correct else 0.0
        values[part] = _walk_summands(model, end - begin, *sums, walks.order[part]) - noise
    return values


def _walk_summands(
    model: ModelArrays, change: FloatArray, begin: FloatArray, end: FloatArray, order: IntArray
) -> FloatArray:
    """Return values (n, m, c) of walks from sums `begin` (n, 2 h) to `end` by steps `change` (m, n, 2 h)."""
    n, m = order.shape
    low, high = begin + model.first_bias, end + model.first_bias
    each = np.arange(n)
    values = np.empty((n, m, model.last.shape[1]), dtype=np.float32)
    there = at_start = model.interaction_part(low)
    back = at_end = model.interaction_part(high)
    for k in range(m):
        feature = order[:, k]
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
class QuadraticUnits:
    r"""Gated units as quadratic functions of their two sums, and so the noise of walks that is known.

    On a walk and its reverse, a feature changes a quadratic function :math:`q` of sums :math:`t` by its own
    change of the sums times :math:`\nabla q` halfway, whatever the order. The mean of that over background
    rows is known, too. Subtracting the difference leaves the mean of walks as it is.

    `slope` (2 h,), `own` (2 h,) and `cross` (h,) give the gradient at sums (n, 2 h). `summands` (m, 2 h) and
    `sums` (2 h,) are means over background rows; `spread` (m, c) is the mean product of a background row's
    summands and half the change of the gradient that its sums make.
    """

    last: FloatArray
    slope: FloatArray
    own: FloatArray
    cross: FloatArray
    summands: FloatArray
    sums: FloatArray
    bias: FloatArray
    spread: FloatArray

    @classmethod
    def fit(cls, model: ModelArrays, background: Codes) -> QuadraticUnits:
        """Fit each unit to its answers at mixtures of background rows."""
        rng, m = np.random.default_rng(0), background.at.shape[1]
        mine, other = (background[rng.integers(len(background), size=QUADRATIC_ROWS)] for _ in range(2))
        mixed = mine.mix(other, rng.random((QUADRATIC_ROWS, m)) < rng.random((QUADRATIC_ROWS, 1)))
        sums = model.summands(model.table.look_up(mixed)[1]).sum(0) + model.first_bias
        slope, own, cross = _fit_quadratic(sums)
        unknown = np.zeros((m, model.last.shape[1]), dtype=np.float32)
        found = cls(model.last, slope, own, cross, slope, slope, model.first_bias, unknown)
        return found._with_means(model, background)

    def _with_means(self, model: ModelArrays, background: Codes) -> QuadraticUnits:
        """Add what depends on all background rows."""
        n, m = len(background), len(self.spread)
        summands, product = np.zeros((2, m, len(self.bias)))
        sums = np.zeros(len(self.bias))
        for part in row_chunks(n, max(1, AT_ONCE // len(self.bias))):
            piece = model.summands(model.table.look_up(background[part])[1])
            totals = piece.sum(0)
            summands += piece.sum(1)
            sums += totals.sum(0)
            product += np.einsum("mnh,nh->mh", piece, 0.5 * self._curve(totals))
        summands, sums, product = summands / n, sums / n, product / n
        product -= summands * (0.5 * self._curve(sums[None]))
        spread = (product @ np.concatenate([self.last, self.last])).astype(np.float32)
        single = (each.astype(np.float32) for each in (summands, sums))
        return replace(self, **dict(zip(("summands", "sums"), single, strict=True)), spread=spread)

    def _curve(self, sums: FloatArray) -> FloatArray:
        """Return the part of the gradient that is linear in sums (n, 2 h)."""
        h = len(self.cross)
        crossed = np.concatenate([sums[:, h:] * self.cross, sums[:, :h] * self.cross], axis=1)
        return np.asarray(sums * self.own + crossed)

    def noise(self, begin: FloatArray, end: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return by how much walks miss their mean, (n, m, c).

        They go from summands `begin` (m, n, 2 h), whose sums are `low` (n, 2 h), to `end` with sums `high`.
        """
        here = self.slope + self._curve(0.5 * (low + high) + self.bias)
        mean = self.slope + self._curve(0.5 * (high + self.sums) + self.bias)
        found = np.empty((len(low), len(self.spread), self.last.shape[1]), dtype=np.float32)
        for k, weights in enumerate(np.concatenate([self.last, self.last]).T):  # one product of all is slower
            there, usual = here * weights, mean * weights
            known = np.einsum("mnh,nh->nm", end, there - usual, optimize=True)
            known -= np.einsum("mnh,nh->nm", begin, there, optimize=True)
            found[:, :, k] = known + usual @ self.summands.T + self.spread[:, k]
        return found


def _fit_quadratic(sums: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return slope (2 h,), own (2 h,) and cross (h,) curvatures of gated units at sums (n, 2 h)."""
    h = sums.shape[1] // 2
    size = np.maximum(np.sqrt(np.square(sums, dtype=np.float64).mean(0)), 1e-12)
    a, v = ((sums / size)[:, part] for part in (slice(h), slice(h, None)))
    terms = np.stack([np.ones_like(a), a, v, a * a, a * v, v * v], axis=2)
    wanted = gate(sums.astype(np.float64))
    A, b = np.einsum("nhp,nhq->hpq", terms, terms, optimize=True), np.einsum("nhp,nh->hp", terms, wanted)
    ridge = 1e-6 * np.trace(A, axis1=1, axis2=2)[:, None, None] / A.shape[1]
    _, slope_a, slope_v, own_a, cross, own_v = np.linalg.solve(A + ridge * np.eye(6), b[..., None])[..., 0].T
    slope = np.concatenate([slope_a, slope_v]) / size
    own = 2 * np.concatenate([own_a, own_v]) / size**2
    cross = cross / (size[:h] * size[h:])
    return slope.astype(np.float32), own.astype(np.float32), cross.astype(np.float32)


def network_values(
    model: ModelArrays, rows: Codes, background: Codes, walks: Iterable[Walks]
) -> tuple[FloatArray, FloatArray]:
    """Return the network's own Shapley values (n, m, c), the means over walks, and the variances of these."""
    correct = QuadraticUnits.fit(model, background)
    n, total, square = 0, np.zeros(()), np.zeros(())
    for walk in walks:
        found = network_walks(model, rows, background, walk, correct).astype(np.float64)
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
