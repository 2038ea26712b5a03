"""What schedules parts: processes of one's own, this process, or an engine that is there already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from illume.distributed.dask_tasks import DaskTasks
from illume.distributed.plan import Part
from illume.distributed.processes import Lines, Processes, Task
from illume.distributed.ray_tasks import RayTasks
from illume.distributed.spark_tasks import SparkTasks

ENGINES = ("processes", "ray", "spark", "dask")
WORKERS = 2  # of one's own, unless told otherwise


class Engine(Protocol):
    """Has a task done on parts, several at a time, and a part done again whose worker dies."""

    @property
    def n_workers(self) -> int:
        """How many parts are worked on at a time."""

    def __call__(self, task: Task, parts: list[Part], done: Callable[[int], None]) -> Lines:
        """Return the lines of every part, and how often one was done again, as far as that is known."""


@dataclass(frozen=True)
class Here:
    """Works on one part after another in this process."""

    n_workers: int = 1

    def __call__(self, task: Task, parts: list[Part], done: Callable[[int], None]) -> Lines:
        """Return the lines of every part; none is done again."""
        task.ready()
        return {part.number: task(part, done) for part in parts}, 0


def engine_of(engine: Any, workers: int | None, retries: int) -> Engine:
    """Return the engine of a name, or the one that is given.

    >>> engine_of("processes", None, 3)
    Processes(n_workers=2, retries=3)
    >>> engine_of("ray", 4, 3)
    Traceback (most recent call last):
    ValueError: workers are those that the engine has; leave `workers` out with engine='ray'
    """
    if engine == "processes":
        n_workers = WORKERS if workers is None else workers
        if n_workers < 0:
            raise ValueError(f"workers must be 0 or more, found {n_workers}")
        return Processes(n_workers, retries) if n_workers else Here()
    if workers is not None:
        raise ValueError(f"workers are those that the engine has; leave `workers` out with {engine=}")
    known: dict[Any, Engine] = {"ray": RayTasks(retries=retries), "spark": SparkTasks(), "dask": DaskTasks()}
    if isinstance(engine, str) and engine not in known:
        raise ValueError(f"engine must be one of {list(ENGINES)}, found {engine!r}")
    if not isinstance(engine, str) and not callable(engine):
        raise ValueError(
            f"engine must be one of {list(ENGINES)}, or RayTasks, SparkTasks or DaskTasks with what they "
            f"shall use, found a {type(engine).__name__}"
        )
    found: Engine = known[engine] if isinstance(engine, str) else engine
    return found
