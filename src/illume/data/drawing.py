"""Rows drawn at random, every set of so many with equal chance, the same however the rows are cut."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from illume._typing import IntArray

Keys = NDArray[np.uint64]


class KeyStream:
    """A random number for each row, by its place among all rows and the seed alone.

    >>> whole, pieces = KeyStream(0)(5), KeyStream(0)
    >>> np.array_equal(np.concatenate([pieces(2), pieces(3)]), whole)
    True
    """

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(1,)))

    def __call__(self, n_rows: int) -> Keys:
        """Return the keys of the next rows."""
        return np.asarray(self._bits.random_raw(n_rows), dtype=np.uint64)


def drawn_rows(n_rows: int, budget: int, seed: int) -> IntArray:
    """Return which rows are drawn, ascending: those with the smallest keys.

    >>> drawn_rows(3, 5, 0)
    array([0, 1, 2])
    >>> len(drawn_rows(100, 7, 0))
    7
    """
    return smallest(KeyStream(seed)(n_rows), budget)


def smallest(keys: Keys, n: int) -> IntArray:
    """Return where the n smallest keys stand, ascending; of equal ones the first come first.

    >>> smallest(np.array([5, 1, 5, 0], dtype=np.uint64), 3)
    array([0, 1, 3])
    """
    if n >= len(keys):
        return np.arange(len(keys))
    return np.sort(np.argsort(keys, kind="stable")[:n])


class Draw:
    """Draws rows out of Arrow's batches as they go by, holding one and a half times as many at most.

    A row is drawn if its key is among the smallest. Once enough rows are held, a row with a key above
    all of theirs can be let go at once.
    """

    def __init__(self, budget: int, seed: int) -> None:
        self.budget, self.n_rows, self.n_held = budget, 0, 0
        self._next_keys = KeyStream(seed)
        self._keys: list[Keys] = []
        self._batches: list[Any] = []
        self._limit: np.uint64 | None = None

    def add(self, batch: Any) -> None:
        """Look at the next rows."""
        keys = self._next_keys(batch.num_rows)
        self.n_rows += batch.num_rows
        kept = np.arange(len(keys)) if self._limit is None else np.flatnonzero(keys < self._limit)
        if len(kept):
            self._keys.append(keys[kept])
            self._batches.append(_copied(batch, kept))
            self.n_held += len(kept)
        if self.n_held > self.budget + max(self.budget // 2, 1):
            self._let_go()

    def table(self, schema: Any) -> Any:
        """Return the drawn rows as an Arrow table, in the order in which they came."""
        import pyarrow as pa

        if self.n_held > self.budget:
            self._let_go()
        return pa.Table.from_batches(self._batches, schema).unify_dictionaries()

    def _let_go(self) -> None:
        """Keep those with the smallest keys."""
        import pyarrow as pa

        keys = np.concatenate(self._keys)
        kept = smallest(keys, self.budget)
        held = pa.Table.from_batches(self._batches).unify_dictionaries().combine_chunks()
        self._batches = held.take(pa.array(kept)).to_batches()
        self._keys, self.n_held = [keys[kept]], len(kept)
        self._limit = self._keys[0].max()


def _copied(batch: Any, rows: IntArray) -> Any:
    """Take rows out of a batch, so that the batch itself can be thrown away."""
    import pyarrow as pa

    return batch if len(rows) == batch.num_rows else batch.take(pa.array(rows))
