"""The closest values that still do: numbers of a counterfactual are brought back towards the row's own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.explanations.pool import Pool

# From positions of counterfactuals, and where each of their values comes from, to whether they hold
Holds = Callable[[IntArray, IntArray], BoolArray]


def closest(pool: Pool, permitted: BoolArray, own: FloatArray, source: IntArray, holds: Holds) -> IntArray:
    """Return sources with each changed number as close to the row's own as holds, by halving.

    Only values of the pool that are permitted (p, n_features) are tried. `own` (n, n_features) are the rows
    by feature, `source` (n, n_features) the pool rows that values come from, -1 for their own.
    """
    source = source.copy()
    number = np.zeros(source.shape[1], dtype=bool)
    number[pool.layout.owner[pool.layout.numbers]] = True
    changed = (source >= 0) & number
    turn = np.cumsum(changed, axis=1)
    ladder = _Ladder(pool, permitted)
    for k in range(1, int(turn.max(initial=0)) + 1):  # the k-th changed number of every counterfactual
        which, feature = np.nonzero(changed & (turn == k))
        _halve(ladder, (which, feature), own, source, holds)
    return source


class _Ladder:
    """The values of each feature that may be taken, ascending, each with a pool row that has it."""

    def __init__(self, pool: Pool, permitted: BoolArray) -> None:
        self.pool = pool
        self.values, self.rows = [], []
        for j in range(permitted.shape[1]):
            usable = np.flatnonzero(permitted[:, j])
            values, first = np.unique(pool.features[usable, j], return_index=True)
            self.values.append(values)
            self.rows.append(usable[first])

    def place(self, feature: IntArray, value: FloatArray) -> IntArray:
        """Return how many values lie below each value."""
        found = np.empty(len(feature), dtype=np.intp)
        for j in np.unique(feature):
            mine = feature == j
            found[mine] = np.searchsorted(self.values[j], value[mine])
        return found

    def row(self, feature: IntArray, place: IntArray) -> IntArray:
        """Return the pool row with the value at each place."""
        found = np.empty(len(feature), dtype=np.intp)
        for j in np.unique(feature):
            mine = feature == j
            found[mine] = self.rows[j][place[mine]]
        return found


def _halve(
    ladder: _Ladder, changes: tuple[IntArray, IntArray], own: FloatArray, source: IntArray, holds: Holds
) -> None:
    """Bring one changed number of each of some counterfactuals back, in place."""
    which, feature = changes
    there = ladder.pool.features[source[which, feature], feature]
    here = own[which, feature]
    good = ladder.place(feature, there)  # does
    rises = there > here
    bad = ladder.place(feature, here) - rises  # the place before the first that could do, or its own
    while True:
        open_ = np.flatnonzero(np.abs(good - bad) > 1)
        if not len(open_):
            break
        middle = (good[open_] + bad[open_]) // 2
        trial = source[which[open_]]
        trial[np.arange(len(open_)), feature[open_]] = ladder.row(feature[open_], middle)
        fine = holds(which[open_], trial)
        good[open_[fine]], bad[open_[~fine]] = middle[fine], middle[~fine]
    source[which, feature] = ladder.row(feature, good)
