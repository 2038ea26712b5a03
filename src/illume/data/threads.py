"""Work on chunks of rows in threads, with bounded memory."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import copy_context
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

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


Work = Callable[[slice], None]


def in_chunks(work: Work, n_rows: int, size: int = CHUNK_ROWS, parallel: bool = True) -> None:
    """Do some work on all rows, `size` at a time, where `parallel` in several threads.

    Chunks are the same whatever the number of threads. Rows for which memory runs out come again, half as
    many, so doing the work again must do no harm. Few rows start no thread.

    >>> done = []
    >>> in_chunks(done.append, 5, 3)
    >>> sorted(done, key=lambda rows: rows.start)
    [slice(0, 3, None), slice(3, 5, None)]
    """
    blocks = -(-n_rows // size)
    n_threads = min(threads(), blocks) if parallel and blocks > 1 else 1
    if n_threads > 1:
        _Crew(work, n_rows, size).run(n_threads)
    else:
        _one_by_one(work, RowChunks(n_rows, size))


def single_blas_thread(n_rows: int) -> AbstractContextManager[None]:
    """Let linear algebra stay in the threads that call it, for work on many rows within the block.

    Its own threads, once they had something to do, look out for more for a while, and would keep ours from
    the processors.
    """
    return _limiting() if n_rows > CHUNK_ROWS and threads() > 1 else nullcontext()


def threads() -> int:
    """Return how many threads linear algebra may have now.

    `OMP_NUM_THREADS`, `threadpoolctl.threadpool_limits` and `torch.set_num_threads` bound them, and so do the
    processors that the process may run on.
    """
    bounds = [_processors()]
    if given := os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip():
        bounds += [int(given)] if given.isdecimal() else []
    if _limiting.count:
        bounds.append(_limiting.n_threads)
    else:
        bounds += [library.get_num_threads() for library in _libraries()]
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "get_num_threads"):
        bounds.append(torch.get_num_threads())
    return max(1, min(bounds))


def set_threads(libraries: Sequence[Any], n_threads: Sequence[int]) -> None:
    """Set the threads of libraries, whichever thread has set them before.

    Otherwise threadpoolctl heeds only the first thread that did, and says nothing to others.
    """
    from threadpoolctl import OpenBLASController

    anybody = getattr(OpenBLASController, "clear_controlling_thread", None)  # not in older ones
    for library, n in zip(libraries, n_threads, strict=True):
        if anybody is not None:
            anybody(force=True)
        library.set_num_threads(n)
    if anybody is not None:
        anybody(force=True)


def by_thread(library: Any) -> bool:
    """Whether every thread has a number of its own, as with OpenMP."""
    return "openmp" in (library.user_api, getattr(library, "threading_layer", ""))


@contextmanager
def one_thread(libraries: Sequence[Any]) -> Iterator[None]:
    """Let libraries have one thread while the block runs."""
    before = [library.get_num_threads() for library in libraries]
    set_threads(libraries, [1] * len(libraries))
    try:
        yield
    finally:
        set_threads(libraries, before)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _libraries() -> tuple[Any, ...]:
    """Return what sets the threads of the linear algebra libraries that are loaded."""
    return _found(len(sys.modules))  # a module that was imported since may have brought another one


@lru_cache(maxsize=1)
def _found(n_modules: int) -> tuple[Any, ...]:
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


class Shared:
    """A state of the process that several threads want at a time: the last to leave gives back what was.

    `begin` makes the state, on a stack of what to do when it ends.
    """

    def __init__(self, begin: Callable[[ExitStack], None]) -> None:
        self.begin, self.lock, self.count, self.after = begin, threading.Lock(), 0, ExitStack()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Be in the state while the block runs."""
        with self.lock:
            if not self.count:
                self.begin(self.after)
            self.count += 1
        try:
            yield
        finally:
            with self.lock:
                self.count -= 1
                if not self.count:
                    self.after.close()


class _Limiting:
    """Linear algebra that stays in the thread that calls it, and how many threads it had before."""

    def __init__(self) -> None:
        self.n_threads, self.shared = 1, Shared(self._begin)

    @property
    def count(self) -> int:
        """How many want it so now."""
        return self.shared.count

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Let linear algebra have one thread while the block runs."""
        with self.shared(), one_thread([library for library in _libraries() if by_thread(library)]):
            yield

    def _begin(self, after: ExitStack) -> None:
        libraries = _libraries()
        self.n_threads = min((each.get_num_threads() for each in libraries), default=_processors())
        after.enter_context(one_thread([library for library in libraries if not by_thread(library)]))


_limiting = _Limiting()


class _Crew:
    """Threads that take one block of rows after the other until none is left, or one of them failed."""

    def __init__(self, work: Work, n_rows: int, size: int) -> None:
        self.work, self.n_rows, self.size = work, n_rows, size
        self.starts, self.chunk = iter(range(0, n_rows, size)), size
        self.lock = threading.Lock()
        self.errors: list[tuple[int, BaseException]] = []

    def run(self, n_threads: int) -> None:
        """Work until all is done; of several errors, that of the first rows is raised."""
        with _limiting():
            others = [
                threading.Thread(target=copy_context().run, args=(self._loop,), daemon=True)
                for _ in range(n_threads - 1)
            ]
            for thread in others:
                thread.start()
            self._loop()
            for thread in others:
                thread.join()
        if self.errors:
            raise min(self.errors, key=lambda each: each[0])[1]

    def _loop(self) -> None:
        while (start := self._next()) is not None:
            last = min(start + self.size, self.n_rows)
            chunks = RowChunks(self.n_rows, self.chunk, first=start, last=last)
            try:
                _one_by_one(self.work, chunks)
            except BaseException as error:  # it belongs to whoever called
                self.errors.append((start, error))
            self.chunk = min(self.chunk, chunks.size)

    def _next(self) -> int | None:
        with self.lock:
            return None if self.errors else next(self.starts, None)


def _one_by_one(work: Work, chunks: RowChunks) -> None:
    for rows in chunks:
        with chunks:
            work(rows)
