"""Walks from a background row to a row, one feature at a time: unbiased estimates of Shapley values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.shapley.arrays import ModelArrays
from illume.shapley.codes import Codes

AT_ONCE = 2**17  # numbers that a step of a walk works on, so that they stay in the cache


@dataclass(frozen=True, eq=False)
class Walks:
    """Walks of many rows: `background` (n,) says where each begins, `order` (n, m) when features change."""

    background: IntArray
    order: IntArray

    @classmethod
    def draw(cls, n: int, m: int, n_background: int, rng: np.random.Generator) -> Walks:
        """Draw a background row and an order of features for each of n rows."""
        return cls(rng.integers(n_background, size=n), rng.random((n, m), dtype=np.float32).argsort(1))


def network_walks(model: ModelArrays, rows: Codes, background: Codes, walks: Walks) -> FloatArray:
    """Return for each row the mean change that each feature makes on its walk and on the same walk reversed.

    (n, m, c), of the gated units alone; main effects are known without a walk.
    """
    n, m = walks.order.shape
    values = np.empty((n, m, model.last.shape[1]), dtype=np.float32)
    size = max(1, AT_ONCE // model.first.shape[1])
    for start in range(0, n, size):
        part = slice(start, min(start + size, n))
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
    there = at_start = model.interacting(low)
    back = at_end = model.interacting(high)
    for k in range(m):
        feature = walks.order[:, k]
        step = change[feature, each]
        low += step
        high -= step
        last = k == m - 1
        there_next = at_end if last else model.interacting(low)
        back_next = at_start if last else model.interacting(high)
        values[each, feature] = 0.5 * (there_next - there + back - back_next)
        there, back = there_next, back_next
    return values


def mask_of(order: IntArray, k: int) -> np.ndarray:
    """Return which features (n, m) are among the first k of an order.

    >>> mask_of(np.array([[2, 0, 1]]), 2)
    array([[ True, False,  True]])
    """
    mask = np.zeros(order.shape, dtype=bool)
    np.put_along_axis(mask, order[:, :k], True, axis=1)
    return mask
