"""A few threads that do the work, each piece with a time limit, and a bounded line of those who wait."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class BusyError(Exception):
    """Too many wait already, or the work was not begun in time."""


class TooSlowError(Exception):
    """The work was begun and not done in time."""


@dataclass(frozen=True)
class Deadline:
    """Until when an answer is of use; work that has several pieces asks between them."""

    at: float

    def check(self) -> None:
        """Stop work that nobody waits for any more."""
        if time.monotonic() > self.at:
            raise TooSlowError


Work = Callable[[Deadline], Any]


@dataclass
class Workers:
    """Runs work in `n_threads` threads; at most `max_waiting` more wait.

    A thread cannot be stopped from outside. Work that takes too long is answered for at once, ends at its
    next `Deadline.check` and counts as running until then, so that no more than `n_threads` ever run. The
    threads are daemons: work that never ends does not keep the process from ending.
    """

    n_threads: int
    max_waiting: int
    timeout: float
    n_taken: int = 0
    _line: queue.SimpleQueue[tuple[Future[Any], Work, Deadline]] = field(default_factory=queue.SimpleQueue)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _threads: list[threading.Thread] = field(default_factory=list)

    async def run(self, work: Work) -> Any:
        """Return what the work returns; raises `BusyError` or `TooSlowError`."""
        future = self._take(work)
        done, _ = await asyncio.wait({asyncio.wrap_future(future)}, timeout=self.timeout)
        if done:
            return done.pop().result()
        if future.cancel():
            raise BusyError
        raise TooSlowError

    def _take(self, work: Work) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            if self.n_taken >= self.n_threads + self.max_waiting:
                raise BusyError
            self.n_taken += 1
            self._start()
        self._line.put((future, work, Deadline(time.monotonic() + self.timeout)))
        return future

    def _start(self) -> None:
        while len(self._threads) < self.n_threads:
            self._threads.append(threading.Thread(target=self._loop, daemon=True))
            self._threads[-1].start()

    def _loop(self) -> None:
        while True:
            future, work, deadline = self._line.get()
            if future.set_running_or_notify_cancel():
                _do(future, work, deadline)
            with self._lock:
                self.n_taken -= 1
            del future, work


def _do(future: Future[Any], work: Work, deadline: Deadline) -> None:
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # of absurd numbers; not for every request anew
            result = work(deadline)
    except BaseException as error:  # whatever it is, it belongs to whoever waits
        future.set_exception(error)
    else:
        future.set_result(result)
