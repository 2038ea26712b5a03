"""Parts as tasks of Dask: it schedules them, and does those again whose worker dies."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from illume.distributed.plan import Part
from illume.distributed.processes import Lines, Task, WorkerError
from illume.distributed.task import outcome
from illume.errors import MissingExtraError


@dataclass(frozen=True)
class DaskTasks:
    """Dask as the `engine` of `explain_parquet`: a task per part, under the name `illume-explain`.

    A part may be done again as often as `distributed.scheduler.allowed-failures` says. Workers of several
    threads explain no faster than workers of one.

    Parameters
    ----------
    client
        Whose cluster to use; else that of the current client, or of a new `Client()`.
    """

    client: Any = None

    @property
    def n_workers(self) -> int:
        """How many threads the workers have together."""
        return max(1, sum(self._client().nthreads().values()))

    def __call__(self, task: Task, parts: list[Part], done: Callable[[int], None]) -> Lines:
        """Return the lines of every part."""
        from distributed import as_completed

        client, run = self._client(), secrets.token_hex(8)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # once, for all parts
            shared = client.submit(_same, task, key=f"illume-explainer-{run}")
        keys = [f"illume-explain-{run}-{part.number}" for part in parts]
        futures = client.map(outcome, parts, key=keys, task=shared)
        by_key, lines = dict(zip(keys, parts, strict=True)), dict[int, int]()
        try:
            for future in as_completed(futures):
                part = by_key[future.key]
                lines[part.number] = _lines(future, part)
                done(part.n_rows)
        except BaseException:
            client.cancel(futures)
            raise
        return lines, 0

    def _client(self) -> Any:
        if self.client is not None:
            return self.client
        try:
            from distributed import Client, default_client
        except ImportError as error:
            raise MissingExtraError.of("distributed", "dask") from error
        try:
            return default_client()
        except ValueError:  # there is none
            return Client()


def _same(task: Task) -> Task:
    """Return what is given: Dask can do this again, if all workers that hold it die."""
    return task


def _lines(future: Any, part: Part) -> int:
    from distributed.scheduler import KilledWorker

    try:
        found = future.result()
    except KilledWorker as error:
        raise WorkerError.of(part, "distributed.scheduler.allowed-failures", str(error)) from error
    if found.error is not None:
        raise found.error
    lines: int = found.lines
    return lines
