"""Split rows, and synthesise query rows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.encoding import Encoding
from illume.data.frames import Frame


def evenly_spaced(n: int, most: int) -> IntArray:
    """Return at most `most` of n positions, evenly spaced.

    >>> evenly_spaced(5, 10), evenly_spaced(10, 3)
    (array([0, 1, 2, 3, 4]), array([0, 4, 9]))
    """
    return np.arange(n) if n <= most else np.round(np.linspace(0, n - 1, most)).astype(np.intp)


def stratified(decisions: IntArray, n: int, least: int = 0) -> IntArray:
    """Return about n positions, ascending: every decision in its share, and `least` of each or all it has.

    >>> stratified(np.array([0, 0, 0, 0, 1, 1]), 3)
    array([0, 2, 5])
    >>> stratified(np.array([0] * 1000 + [1]), 2, least=1)
    array([   0, 1000])
    """
    if len(decisions) <= n:
        return np.arange(len(decisions))
    order = np.argsort(decisions, kind="stable")
    kept = [order[evenly_spaced(len(order), n)]]
    for c in np.unique(decisions) if least else ():
        mine = np.flatnonzero(decisions == c)
        if np.count_nonzero(decisions[kept[0]] == c) < min(least, len(mine)):
            kept.append(mine[evenly_spaced(len(mine), least)])
    return np.unique(np.concatenate(kept))


class Split(NamedTuple):
    """Row numbers of each kind, ascending."""

    training: IntArray
    validation: IntArray
    report: IntArray


def split_rows(decisions: IntArray, validation: float, report: float, rng: np.random.Generator) -> Split:
    """Divide rows in three, alike for every decision; none of the three is empty.

    >>> split = split_rows(np.array([0] * 10 + [1]), 0.2, 0.2, np.random.default_rng(0))
    >>> len(split.training), len(split.validation), len(split.report)
    (7, 2, 2)
    """
    shuffled = rng.permutation(len(decisions))
    by_class = shuffled[np.argsort(decisions[shuffled], kind="stable")]
    _, starts, counts = np.unique(decisions[by_class], return_index=True, return_counts=True)
    rank = np.arange(len(by_class)) - np.repeat(starts, counts)
    depth = (rank + 0.5) / np.repeat(counts, counts)
    order = by_class[np.argsort(depth, kind="stable")]  # any stretch of it holds all decisions alike
    n_validation, n_report = (_size(len(order), share) for share in (validation, report))
    first = len(order) - n_validation - n_report
    parts = np.split(order, [first, first + n_validation])
    return Split(*(np.sort(part) for part in parts))


def rows_needed(size: int, share: float) -> int:
    """Return how many rows there must be for a part, of this share of them, to have a size.

    >>> rows_needed(20, 0.15), rows_needed(20, 0.25), rows_needed(1, 0.1)
    (130, 78, 1)
    """
    most = math.ceil(size / share)
    return next(n for n in range(max(1, math.floor((size - 1) / share)), most + 1) if _size(n, share) >= size)


def _size(n: int, share: float) -> int:
    return max(1, round(share * n))


JITTER = 0.25  # standard deviations


def query_rows(frame: Frame, encoding: Encoding, n: int, rng: np.random.Generator) -> Frame:
    """Make `n` rows from the rows of `frame`, in the same types and with the same columns.

    Half lie between two rows: numbers on the line between them, every category from one of the
    two. Half are one row with its numbers jittered by a quarter of their standard deviation.
    Whole numbers stay whole, ranges are kept, a missing value stays missing.
    """
    first = rng.integers(len(frame), size=n)
    second = rng.integers(len(frame), size=n)
    between = np.arange(n) < n // 2
    share = np.where(between, rng.random(n), 1.0)
    rows = frame.take(first)
    columns: dict[str, FloatArray | Frame] = {}
    for j, feature in enumerate(encoding.schema.features):
        from_first = rng.random(n) < share
        parent = np.where(from_first, first, second)
        if feature.numeric and not feature.constant:
            noise = np.where(between, 0.0, JITTER * encoding.standard_deviation(j)) * rng.standard_normal(n)
            numbers = frame.numbers(feature.name)
            with np.errstate(over="ignore"):  # what is too large is clipped
                mixed = _mix(numbers, (first, second), share) + noise
            columns[feature.name] = _possible(mixed, numbers[parent], numbers)
        else:
            columns[feature.name] = frame.select([feature.name]).take(parent)
    return rows.with_columns(columns)


def _mix(numbers: FloatArray, parents: tuple[IntArray, IntArray], share: FloatArray) -> FloatArray:
    """Return points between two parents; with a share of 1 the second one has no say, missing or not."""
    a, b = numbers[parents[0]], numbers[parents[1]]
    return share * a + (1.0 - share) * np.where(share < 1.0, b, 0.0)


def _possible(mixed: FloatArray, inherited: FloatArray, seen: FloatArray) -> FloatArray:
    """Round and clip to what was seen; where a parent's value is missing, inherit from one parent."""
    seen = seen[~np.isnan(seen)]
    if (seen == np.round(seen)).all():
        mixed = np.round(mixed)
    low, high = (seen.min(), seen.max()) if len(seen) else (0.0, 0.0)
    return np.where(np.isnan(mixed), inherited, np.clip(mixed, low, high))
