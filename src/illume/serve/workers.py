"""Worker threads: light work always finds one, and a thread whose call does not return is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from anyio import CapacityLimiter, get_cancelled_exc_class, move_on_after, to_thread
from fastapi import HTTPException

from illume.serve.settings import Settings

BUSY, RETRY = "too many requests at a time; try again", {"Retry-After": "1"}
NO_ANSWER = "the model does not answer; try again later"
LIGHT = "explain"


class Call:
    """A step of some work, in its thread."""

    abandoned = False


class Workers:
    """Runs work in threads, step by step, for as long as its time limit allows.

    Work is a generator that yields None between its steps, and its result at the end. Heavy work leaves one
    thread to light work, and after every step it is others' turn. A thread cannot be killed: if a step is not
    over in time, its thread is abandoned and another one takes its place, until `max_abandoned` threads are.
    Then all work is refused, until one returns.
    """

    def __init__(self, settings: Settings) -> None:
        self.timeout, self.max_waiting = settings.timeout, settings.max_waiting
        self.max_abandoned, n = settings.max_abandoned, settings.workers
        self._light, self._heavy = CapacityLimiter(n), CapacityLimiter(max(1, n - 1))
        self._threads = CapacityLimiter(n)
        self._running: set[Call] = set()

    async def run(self, kind: str, work: Iterator[Any]) -> Any:
        """Return the result; raise 503 if the work does not start in time, 504 if it does not finish."""
        lane = self._light if kind == LIGHT else self._heavy
        if self.n_abandoned >= self.max_abandoned:
            raise HTTPException(503, NO_ANSWER, RETRY)
        if self._is_full(lane):
            raise HTTPException(503, BUSY, RETRY)
        started, result = False, None
        with move_on_after(self.timeout):
            async with lane:
                while result is None:
                    async with self._threads:
                        started = True
                        result = await self._step(work)
        if result is None and started:
            slow = f"the work did not finish within {self.timeout:g} s and was stopped"
            raise HTTPException(504, f"{slow}; send fewer rows at a time")
        if result is None:
            raise HTTPException(503, BUSY, RETRY)
        return result

    async def _step(self, work: Iterator[Any]) -> Any:
        call, limiter = Call(), CapacityLimiter(1)
        try:
            return await to_thread.run_sync(
                self._advance, work, call, abandon_on_cancel=True, limiter=limiter
            )
        except get_cancelled_exc_class():
            call.abandoned = True
            raise

    def _advance(self, work: Iterator[Any], call: Call) -> Any:
        """Do one step, in a thread."""
        self._running.add(call)
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # for extreme numbers
                return next(work)
        except (SystemExit, KeyboardInterrupt) as error:  # would end the event loop
            raise RuntimeError("the work tried to end the process") from error
        finally:
            self._running.discard(call)

    @property
    def n_pending(self) -> int:
        """How many requests are in work or waiting."""
        each = [lane.statistics() for lane in (self._light, self._heavy)]
        return sum(lane.borrowed_tokens + lane.tasks_waiting for lane in each)

    @property
    def n_abandoned(self) -> int:
        """How many threads were replaced and still run."""
        return sum(call.abandoned for call in list(self._running))

    def trouble(self) -> str | None:
        """Return why requests would not be answered; None if they would."""
        if (n := self.n_abandoned) >= self.max_abandoned:
            return f"{n} calls of the model have not returned"
        full = self._is_full(self._light) or self._is_full(self._heavy)
        return "too many requests are waiting" if full else None

    def _is_full(self, lane: CapacityLimiter) -> bool:
        found = lane.statistics()
        return found.borrowed_tokens >= found.total_tokens and found.tasks_waiting >= self.max_waiting
