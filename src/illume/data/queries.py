"""New rows to ask the black box about: between two real rows, or beside one, and always possible."""

from __future__ import annotations

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.encoding import Encoding
from illume.data.frames import Frame

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
            noise = np.where(between, 0.0, JITTER * encoding.scale_of(j)) * rng.standard_normal(n)
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
