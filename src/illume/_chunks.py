"""Work through many rows a few at a time, so that memory stays bounded, and in halves where it runs out."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Self

from illume.errors import IllumeError, OutOfMemoryError

CHUNK_ROWS = 2_048
WORDS = ("out of memory", "can't allocate memory", "not enough memory")  # what torch says, in lower case


def row_chunks(n_rows: int, size: int = CHUNK_ROWS) -> Iterator[slice]:
    """Yield slices that cover all rows, in order.

    >>> list(row_chunks(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


class RowChunks:
    """Slices that cover all rows, in order; rows for which memory runs out come again, half as many.

    The work on a slice stands in a `with` block and must be such that doing it again does no harm. `first`
    and `last` bound the rows to a part of all `n_rows`.

    >>> chunks, done = RowChunks(5, 4), []
    >>> for rows in chunks:
    ...     with chunks:
    ...         if rows.stop - rows.start > 2:
    ...             raise MemoryError
    ...         done.append(rows)
    >>> done
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """

    def __init__(
        self, n_rows: int, size: int = CHUNK_ROWS, *, first: int = 0, last: int | None = None
    ) -> None:
        self.n_rows, self.size = n_rows, size
        self.start = self.stop = first
        self.last = n_rows if last is None else last

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> slice:
        self.start = self.stop
        if self.start >= self.last:
            raise StopIteration
        self.stop = min(self.start + self.size, self.last)
        return slice(self.start, self.stop)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None or not is_out_of_memory(error):
            return False
        n = self.stop - self.start
        if n == 1:
            raise OutOfMemoryError(
                f"memory ran out even for one row, row {self.start} of {self.n_rows} ({error}); "
                f"free memory, use fewer latents, or explain on a machine with more"
            ) from error
        self.size, self.stop = (n + 1) // 2, self.start
        return True


def is_out_of_memory(error: BaseException) -> bool:
    """Say whether an error of Python, NumPy or torch means that memory ran out.

    >>> is_out_of_memory(RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"))
    True
    """
    if isinstance(error, IllumeError):
        return False
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in WORDS)
