"""Threads that do the work of requests, with a time limit and a bounded queue."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np


class BusyError(Exception):
    """Too many requests are waiting, or the work did not start in time."""


class TooSlowError(Exception):
    """The work started and did not finish in time."""


class Deadline:
    """When an answer is due; work checks it between pieces."""

    def __init__(self, seconds: float) -> None:
        self.at = time.monotonic() + seconds

    def check(self) -> None:
        """Stop work that is overdue."""
        if time.monotonic() > self.at:
            raise TooSlowError


class Workers:
    """Runs work in `n_threads` threads while at most `max_waiting` more requests wait.

    A thread cannot be killed. Overdue work is answered at once, ends at its next `Deadline.check` and counts
    as pending until then, so at most `n_threads` requests run at a time.
    """

    # AnyIO's thread limiter frees its slot when overdue work is answered, not when it ends.
    def __init__(self, n_threads: int, max_waiting: int, timeout: float) -> None:
        self.timeout, self.max_pending, self.n_pending = timeout, n_threads + max_waiting, 0
        ignore = partial(np.seterr, over="ignore", invalid="ignore")  # for extreme numbers
        self._pool = ThreadPoolExecutor(n_threads, initializer=ignore)
        self._lock = threading.Lock()

    async def run(self, work: Callable[[Deadline], Any]) -> Any:
        """Return the result of the work; raise `BusyError` or `TooSlowError`."""
        with self._lock:
            if self.n_pending >= self.max_pending:
                raise BusyError
            self.n_pending += 1
        future = self._pool.submit(work, Deadline(self.timeout))
        future.add_done_callback(self._finish)
        done, _ = await asyncio.wait({asyncio.wrap_future(future)}, timeout=self.timeout)
        if done:
            return done.pop().result()
        raise BusyError if future.cancel() else TooSlowError

    def _finish(self, _: Future[Any]) -> None:
        with self._lock:
            self.n_pending -= 1
