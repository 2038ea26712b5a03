"""Processes that work on parts; the part of one that dies is given to another."""

from __future__ import annotations

import multiprocessing
import os
import pickle  # nosec B403
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from illume.distributed.plan import Part
from illume.errors import IllumeError

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
KILLED = -9
Lines = tuple[dict[int, int], int]  # by part, and how often one was done again


class WorkerError(IllumeError, RuntimeError):
    """A process that explained rows died, more often than it may."""

    @classmethod
    def of(cls, part: Part, limit: str, why: str) -> WorkerError:
        """Say whose worker died, and what says how often it may.

        >>> print(WorkerError.of(Part(3, "a.parquet", 0, 1, 10, 10), "once", "killed"))
        the worker of rows 10 to 19 of the source, in a.parquet, died more often than it may (once): killed
        """
        return cls(f"the worker of {part.rows}, in {part.path}, died more often than it may ({limit}): {why}")


class Task(Protocol):
    """Work on parts, in a process that has made itself ready."""

    def ready(self) -> None:
        """Load what all parts need."""

    def __call__(self, part: Part, done: Callable[[int], None]) -> int:
        """Work on a part, say how many rows are done, and return how many lines that made."""


@dataclass
class _Worker:
    process: BaseProcess
    connection: Connection
    part: Part | None = None


@dataclass(frozen=True)
class Processes:
    """Works on parts with several processes of one thread each.

    Parameters
    ----------
    n_workers
        How many.
    retries
        How often a part may be done again, because its process died.
    """

    n_workers: int
    retries: int = 3

    def __call__(self, task: Task, parts: list[Part], done: Callable[[int], None]) -> Lines:
        """Return the lines of every part, and how many parts had to be done again."""
        waiting, lines, failures = deque(parts), dict[int, int](), Counter[int]()
        rows = Counter[int]()
        workers = [_start(task) for _ in range(min(self.n_workers, len(parts)))]
        try:
            while len(lines) < len(parts):
                for worker in workers:
                    _give(worker, waiting)
                busy = {worker.connection: worker for worker in workers if worker.part is not None}
                for connection in wait(list(busy)):
                    worker = busy[connection]  # type: ignore[index]
                    heard, figure = _heard(worker)
                    part = worker.part
                    assert part is not None  # nosec B101
                    if heard == "rows":
                        rows[part.number] += figure
                        done(figure)
                    elif heard == "done":
                        lines[part.number], worker.part = figure, None
                    elif heard == "failed":
                        raise figure
                    else:
                        done(-rows.pop(part.number, 0))
                        failures[part.number] += 1
                        self._require_patience(part, failures[part.number], figure)
                        waiting.appendleft(part)
                        workers[workers.index(worker)] = _start(task)
            return lines, failures.total()
        finally:
            _end(workers)

    def _require_patience(self, part: Part, failures: int, code: int | None) -> None:
        if failures <= self.retries:
            return
        why = {
            KILLED: "it was killed, perhaps for want of memory: explain fewer rows at once (batch_rows), or "
            "with fewer workers",
            1: "it could not start: a script that calls this needs `if __name__ == '__main__':`",
        }.get(code or 0, "see what it wrote to stderr")
        raise WorkerError(
            f"the process that explained {part.rows} ended {failures} times, the last time with code {code}; "
            f"{why}"
        )


def _start(task: Task) -> _Worker:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_work, args=(task, there), daemon=True)
    with _one_thread():
        process.start()
    there.close()
    return _Worker(process, here)


def _give(worker: _Worker, waiting: deque[Part]) -> None:
    """Give an idle worker the next part; that it has died is seen when it is listened to."""
    if worker.part is None and waiting:
        worker.part = waiting.popleft()
        try:
            worker.connection.send(worker.part)
        except OSError:
            return


def _heard(worker: _Worker) -> tuple[str, Any]:
    """Return what a worker says, or with which code it ended."""
    try:
        said: tuple[str, Any] = worker.connection.recv()
        return said
    except (EOFError, OSError):
        worker.process.join()
        worker.connection.close()
        return "died", worker.process.exitcode


def _end(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.connection.close()
        worker.process.terminate()  # what is done is written
    for worker in workers:
        worker.process.join()


def _work(task: Task, connection: Connection) -> None:
    """Work on parts until there are no more; runs in a process of its own."""
    try:
        failure: Exception | None = None
        try:
            task.ready()
        except Exception as error:  # told when the first part is asked for
            failure = error
        while True:
            part = connection.recv()
            try:
                if failure is not None:
                    raise failure
                connection.send(("done", task(part, lambda n: connection.send(("rows", n)))))
            except Exception as error:
                connection.send(("failed", travelling(error)))
    except (EOFError, OSError):  # nobody listens any more
        return


def travelling(error: Exception) -> Exception:
    """Return the error, or one that says the same where it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))  # nosec B301
    except Exception:
        return WorkerError(f"{type(error).__name__}: {error}")
    return error


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let processes started meanwhile load their libraries with one thread."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
