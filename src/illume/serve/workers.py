"""Worker threads: every kind of work has its share, and a thread whose call does not return is replaced."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from anyio import CapacityLimiter, get_cancelled_exc_class, move_on_after, to_thread
from fastapi import HTTPException

from illume.errors import BlackBoxError
from illume.serve.settings import Settings

BUSY, RETRY = "too many requests at a time; try again", {"Retry-After": "1"}
NO_ANSWER = "the model does not answer; try again later"
LIGHT, HEAVY = ("explain", "probe"), ("rules", "counterfactuals")
PATIENCE = 2  # time limits without any answer of the model, until the service says that it is not ready


@dataclass(eq=False)
class Call:
    """A step of some work, in its thread."""

    start: float = field(default_factory=time.monotonic)
    began: bool = False  # a call that is cancelled before its thread takes it up never does
    ended: bool = False


class Workers:
    """Runs work in threads, step by step, for as long as its time limit allows.

    Work is a generator that yields None between its steps, and its result at the end. Each kind of work has
    its own queue, takes turns with the others after every step, and heavy kinds together leave one thread to
    light ones. A thread cannot be killed: if a step is not over in time, its thread is abandoned and another
    one takes its place, until `max_abandoned` threads are. Then all work is refused, until one returns.
    """

    def __init__(self, settings: Settings) -> None:
        self.timeout, self.max_waiting = settings.timeout, settings.max_waiting
        self.max_abandoned, n = settings.max_abandoned, settings.workers
        most = dict.fromkeys(LIGHT, n) | dict.fromkeys(HEAVY, max(1, n - 1))
        self._lanes = {kind: CapacityLimiter(most[kind]) for kind in most}
        self._heavy, self._threads = CapacityLimiter(max(1, n - 1)), CapacityLimiter(n)
        self._calls: set[Call] = set()
        self._abandoned: set[Call] = set()
        self._last_answer = -np.inf

    async def run(self, kind: str, work: Iterator[Any]) -> Any:
        """Return the result; raise 503 if the work does not start in time, 504 if it does not finish."""
        if self.n_abandoned >= self.max_abandoned:
            raise HTTPException(503, NO_ANSWER, RETRY)
        if self._is_full(kind):
            raise HTTPException(503, BUSY, RETRY)
        n_calls, result = 0, None
        with move_on_after(self.timeout):
            async with self._lanes[kind]:
                while result is None:
                    async with AsyncExitStack() as stack:
                        if kind in HEAVY:
                            await stack.enter_async_context(self._heavy)
                        await stack.enter_async_context(self._threads)
                        n_calls += 1
                        result = await self._step(work)
        if result is None and n_calls:
            slow = f"the work did not finish within {self.timeout:g} s and was stopped"
            raise HTTPException(504, f"{slow}; send fewer rows at a time")
        if result is None:
            raise HTTPException(503, BUSY, RETRY)
        return result

    async def _step(self, work: Iterator[Any]) -> Any:
        call = Call()
        self._calls.add(call)
        try:
            step = partial(_advance, work, call)
            result = await to_thread.run_sync(step, abandon_on_cancel=True, limiter=CapacityLimiter(1))
        except BlackBoxError:
            self._last_answer = time.monotonic()
            raise
        except get_cancelled_exc_class():
            if call.began and not call.ended:
                self._abandoned.add(call)
            raise
        finally:
            self._calls.discard(call)
        self._last_answer = time.monotonic()
        return result

    @property
    def n_pending(self) -> int:
        """How many requests are in work or waiting."""
        each = [lane.statistics() for lane in self._lanes.values()]
        return sum(lane.borrowed_tokens + lane.tasks_waiting for lane in each)

    @property
    def n_abandoned(self) -> int:
        """How many threads were replaced and still run."""
        self._abandoned = {call for call in self._abandoned if not call.ended}
        return len(self._abandoned)

    def unanswered(self) -> float:
        """Seconds for which calls have been waiting without the model answering any."""
        starts = [call.start for call in self._calls | self._abandoned if not call.ended]
        since = [start for start in starts if start > self._last_answer]
        if self.n_abandoned >= self.max_abandoned:
            since.append(max(starts))
        now = time.monotonic()
        return now - min(since, default=now)

    def trouble(self) -> str | None:
        """Return why requests would not be answered; None if they would."""
        if self.n_abandoned >= self.max_abandoned:
            return f"{self.n_abandoned} calls of the model have not returned"
        if (seconds := self.unanswered()) > PATIENCE * self.timeout:
            return f"the model has not answered for {seconds:.0f} s"
        full = [kind for kind in self._lanes if self._is_full(kind)]
        return f"too many requests are waiting for {full[0]}" if full else None

    def _is_full(self, kind: str) -> bool:
        lane = self._lanes[kind].statistics()
        return lane.borrowed_tokens >= lane.total_tokens and lane.tasks_waiting >= self.max_waiting


def _advance(work: Iterator[Any], call: Call) -> Any:
    """Do one step, in a thread."""
    call.began = True
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # for extreme numbers
            return next(work)
    except (SystemExit, KeyboardInterrupt) as error:  # would end the event loop
        raise RuntimeError("the work tried to end the process") from error
    finally:
        call.ended = True
