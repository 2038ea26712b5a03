"""Work on rows in chunks, with bounded memory and in threads."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import lru_cache
from threading import Lock
from typing import Any, Self

from illume.errors import IllumeError, OutOfMemoryError

CHUNK_ROWS = 2_048
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")  # as torch says
_n_threads: ContextVar[int | None] = ContextVar("n_threads", default=None)


def row_chunks(n_rows: int, size: int = CHUNK_ROWS) -> Iterator[slice]:
    """Yield slices that cover all rows, in order.

    >>> list(row_chunks(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


class RowChunks:
    """Slices that cover the rows from `first` to `last`; if memory runs out, half as many are tried again.

    The work on a slice goes into a `with` block, and must be safe to repeat.

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
        self.n_rows, self.size, self.start, self.stop = n_rows, size, first, first
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

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
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
    """Whether an error of Python, NumPy or torch means that memory ran out."""
    if isinstance(error, IllumeError):
        return False
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in OUT_OF_MEMORY)


def in_chunks(
    work: Callable[[slice], None], n_rows: int, size: int = CHUNK_ROWS, parallel: bool = True
) -> None:
    """Call `work` on slices of at most `size` rows, in several threads if `parallel`.

    Results do not depend on the number of threads. `work` must be safe to repeat.
    """

    def run(start: int, stop: int) -> None:
        chunks = RowChunks(n_rows, size, first=start, last=stop)
        for rows in chunks:
            with chunks:
                work(rows)

    n_threads = min(thread_count(), -(-n_rows // size)) if parallel and n_rows > size else 1
    if n_threads == 1:
        with single_blas_thread():
            run(0, n_rows)
        return
    with (
        single_blas_thread(),
        ThreadPoolExecutor(n_threads, initializer=lambda: _blas().limit(limits=1)) as pool,
    ):
        pieces = list(row_chunks(n_rows, size))
        contexts = [copy_context() for _ in pieces]  # for NumPy's handling of errors
        list(pool.map(lambda context, rows: context.run(run, rows.start, rows.stop), contexts, pieces))


class _BlasLimit:
    """One BLAS thread while anyone needs it; the last one to leave restores the limits."""

    def __init__(self) -> None:
        self.lock, self.users = Lock(), 0
        self.limiter: Any = None

    def __enter__(self) -> None:
        with self.lock:
            self.limiter = self.limiter or _blas().limit(limits=1)
            self.users += 1

    def __exit__(self, *error: object) -> None:
        from threadpoolctl import OpenBLASController

        with self.lock:
            self.users -= 1
            if not self.users:
                OpenBLASController.clear_controlling_thread(force=True)  # the one that set the limit
                self.limiter.restore_original_limits()
                OpenBLASController.clear_controlling_thread(force=True)
                self.limiter = None


_blas_limit = _BlasLimit()


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Keep BLAS in the calling thread.

    Its own threads spin and compete with ours, and how they divide a product changes the last digits.
    """
    if all(library.get_num_threads() == 1 for library in _blas().lib_controllers):
        yield
        return
    token = _n_threads.set(thread_count())
    try:
        with _blas_limit:
            yield
    finally:
        _n_threads.reset(token)


def thread_count() -> int:
    """Return how many threads to use: at most one per processor, and as many as BLAS and torch may use."""
    known = _n_threads.get()
    if known is not None:
        return known
    limits = [len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1]
    limits += [library.get_num_threads() for library in _blas().lib_controllers]
    omp = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if omp.isdecimal():
        limits.append(int(omp))
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "get_num_threads"):
        limits.append(torch.get_num_threads())
    return max(1, min(limits))


def _blas() -> Any:
    return _find_blas(len(sys.modules))  # a module imported since may have loaded another library


@lru_cache(maxsize=1)
def _find_blas(n_modules: int) -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
