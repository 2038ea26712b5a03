"""Work through many rows a few at a time, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator

CHUNK_ROWS = 2_048


def row_chunks(n_rows: int, size: int = CHUNK_ROWS) -> Iterator[slice]:
    """Yield slices that cover all rows, in order.

    >>> list(row_chunks(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
