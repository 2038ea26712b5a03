"""Parts as tasks of Spark: it schedules them, and does those again whose process dies."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any

from illume.distributed.plan import Part
from illume.distributed.processes import Lines, Task, WorkerError
from illume.distributed.task import Outcome, outcome
from illume.errors import MissingExtraError

EVERY = 0.1  # seconds between two looks at what is done


@dataclass(frozen=True)
class SparkTasks:
    """Spark as the `engine` of `explain_parquet`: one job, `illume`, with a task per part.

    Only descriptions of parts reach the JVM; the explainer and its model are broadcast, and every Python
    process loads them once. A part may be done again as often as `spark.task.maxFailures` says, which for
    `local[2]` is never: write `local[2,4]`.

    Parameters
    ----------
    session
        The session to use; else the active one, or a new one.
    """

    session: Any = None

    @property
    def n_workers(self) -> int:
        """How many tasks the executors run at a time."""
        return max(1, int(self._context().defaultParallelism))

    def __call__(self, task: Task, parts: list[Part], done: Callable[[int], None]) -> Lines:
        """Return the lines of every part."""
        if not parts:
            return {}, 0
        context, group = self._context(), f"illume-{secrets.token_hex(8)}"
        shared, told = context.broadcast(task), context.accumulator([], _joined())
        tasks = context.parallelize(parts, len(parts))

        def run() -> None:
            context.setJobGroup(group, "illume: explaining")
            tasks.foreach(lambda part: told.add([outcome(part, shared.value)]))

        heard, job = _Heard({part.number: part for part in parts}, done), _started(run)
        try:
            while not job.done():
                wait([job], timeout=EVERY)
                heard(told.value)
            heard(told.value)
            _require_done(job, heard)
        finally:
            if not job.done():
                context.cancelJobGroup(group)
            shared.unpersist()
        return heard.lines, 0

    def _context(self) -> Any:
        try:
            from pyspark.sql import SparkSession
        except ImportError as error:
            raise MissingExtraError.of("pyspark", "spark") from error
        session = self.session or SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        return session.sparkContext


class _Heard:
    """What tasks have told so far, each part once."""

    def __init__(self, parts: dict[int, Part], done: Callable[[int], None]) -> None:
        self.parts, self.done = parts, done
        self.lines: dict[int, int] = {}

    def __call__(self, told: list[Outcome]) -> None:
        """Take notice of what is new, and raise what went wrong."""
        for found in told:
            if found.error is not None:
                raise found.error
            if found.number not in self.lines:
                self.lines[found.number] = found.lines
                self.done(self.parts[found.number].n_rows)

    def first_left(self) -> Part | None:
        """Return the first part that nobody has told about, if any."""
        return next((part for number, part in self.parts.items() if number not in self.lines), None)


def _require_done(job: Future[None], heard: _Heard) -> None:
    """Raise what ended the job, unless all parts were done by then."""
    from py4j.protocol import Py4JJavaError

    try:
        job.result()
    except Py4JJavaError as error:
        left = heard.first_left()
        if left is not None:
            why = shortened(str(error.java_exception.getMessage()))
            raise WorkerError.of(left, "spark.task.maxFailures", why) from error


def shortened(message: str) -> str:
    r"""Return what Spark and Python say in one line each, without the way through their code.

    >>> shortened("Lost task: Traceback:\n  File a\nValueError: no\n SQLSTATE: 1\n\tat scala\nDriver:")
    'Lost task: Traceback:; ValueError: no'
    """
    lines = [line for line in message.partition("\n\tat")[0].splitlines() if line[:1].strip()]
    return "; ".join(dict.fromkeys([*lines[:1], *lines[-1:]]))


def _started(run: Callable[[], None]) -> Future[None]:
    """Run in a thread whose Spark jobs are a group of their own."""
    from pyspark import InheritableThread

    job: Future[None] = Future()

    def fulfil() -> None:
        try:
            job.set_result(run())  # type: ignore[func-returns-value]
        except BaseException as error:
            job.set_exception(error)

    InheritableThread(target=fulfil, daemon=True).start()
    return job


def _joined() -> Any:
    """Return how Spark puts lists together."""
    from pyspark.accumulators import AccumulatorParam

    class Joined(AccumulatorParam):
        def zero(self, value: list[Any]) -> list[Any]:
            return []

        def addInPlace(self, left: list[Any], right: list[Any]) -> list[Any]:
            return left + right

    return Joined()
