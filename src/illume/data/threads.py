"""Work on rows in chunks, with bounded memory and in threads."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Lock
from typing import Any

from threadpoolctl import OpenBLASController, get_cached_controller

CHUNK_ROWS = 2_048


def row_chunks(n_rows: int, size: int = CHUNK_ROWS) -> Iterator[slice]:
    """Yield slices that cover all rows, in order.

    >>> list(row_chunks(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def in_chunks(
    work: Callable[[slice], None], n_rows: int, size: int = CHUNK_ROWS, parallel: bool = True
) -> None:
    """Call `work` on slices of at most `size` rows, in several threads if `parallel`.

    Results do not depend on the number of threads.
    """
    pieces = list(row_chunks(n_rows, size))
    n_threads = min(thread_count(), len(pieces)) if parallel and len(pieces) > 1 else 1
    with single_blas_thread():
        if n_threads == 1:
            for rows in pieces:
                work(rows)
            return
        contexts = [copy_context() for _ in pieces]  # for NumPy's handling of errors
        with ThreadPoolExecutor(n_threads, initializer=_limit_blas) as pool:
            list(pool.map(lambda context, rows: context.run(work, rows), contexts, pieces))


class _SingleBlasThread:
    """One BLAS thread while anyone needs it; the last one to leave restores the limits."""

    def __init__(self) -> None:
        self.lock, self.users, self.n_threads = Lock(), 0, 1
        self.limits: Any = None

    def __enter__(self) -> None:
        with self.lock:
            if not self.users:
                self.n_threads, self.limits = _count_threads(), _limit_blas()
            self.users += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                OpenBLASController.clear_controlling_thread(force=True)  # the one that set the limit
                self.limits.restore_original_limits()
                OpenBLASController.clear_controlling_thread(force=True)


_single_blas_thread = _SingleBlasThread()


def single_blas_thread() -> _SingleBlasThread:
    """Keep BLAS in the calling thread.

    Its own threads spin and compete with ours, and how they divide a product changes the last digits.
    """
    return _single_blas_thread


def thread_count() -> int:
    """Return how many threads to use: at most one per processor, and as many as BLAS and torch may use."""
    return _single_blas_thread.n_threads if _single_blas_thread.users else _count_threads()


def _count_threads() -> int:
    limits = [len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1]
    libraries = get_cached_controller().select(user_api="blas").lib_controllers
    limits += [library.get_num_threads() for library in libraries]
    omp = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if omp.isdecimal():
        limits.append(int(omp))
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "get_num_threads"):
        limits.append(torch.get_num_threads())
    return max(1, min(limits))


def _limit_blas() -> Any:
    return get_cached_controller().limit(limits=1, user_api="blas")
