"""Parts as tasks of Ray: it schedules them, and does those again whose process dies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from illume.distributed.plan import Part
from illume.distributed.processes import Lines, Task, WorkerError
from illume.distributed.task import outcome
from illume.errors import MissingExtraError

DEATHS = ("WorkerCrashedError", "NodeDiedError", "LocalRayletDiedError", "OutOfMemoryError")


@dataclass(frozen=True)
class RayTasks:
    """Ray as the `engine` of `explain_parquet`: a task per part, `illume part-00000.parquet` and so on.

    The cluster is the one that is connected to, else the one that `ray.init()` finds or starts. The
    explainer travels through the object store, once to a machine, and a process loads it once.

    Parameters
    ----------
    num_cpus, num_gpus
        What each task claims; a GPU is of use where the model runs on one.
    retries
        How often a part may be done again, because its process died.
    """

    num_cpus: float = 1
    num_gpus: float | None = None
    retries: int = 3

    @property
    def n_workers(self) -> int:
        """How many tasks the cluster runs at a time."""
        cpus = _connected().cluster_resources().get("CPU", 1)
        return max(1, int(cpus // self.num_cpus)) if self.num_cpus else int(cpus)

    def __call__(self, task: Task, parts: list[Part], done: Callable[[int], None]) -> Lines:
        """Return the lines of every part."""
        ray = _connected()
        claims = {"num_cpus": self.num_cpus, "num_gpus": self.num_gpus, "max_retries": self.retries}
        remote, shared = ray.remote(outcome), ray.put(task)
        waiting = {
            remote.options(name=f"illume {part.name}", **claims).remote(part, shared): part for part in parts
        }
        lines: dict[int, int] = {}
        try:
            while waiting:
                (ready,), _ = ray.wait(list(waiting), num_returns=1)
                part = waiting.pop(ready)
                lines[part.number] = _lines(ray, ready, part)
                done(part.n_rows)
        finally:
            for left in waiting:
                ray.cancel(left, force=True)
        return lines, 0


def _lines(ray: Any, ready: Any, part: Part) -> int:
    """Return what a task made; other errors of Ray than that a worker died are told as they are."""
    try:
        found = ray.get(ready)
    except tuple(getattr(ray.exceptions, name) for name in DEATHS) as error:
        raise WorkerError.of(part, "RayTasks(retries=…)", str(error).strip()) from error
    if found.error is not None:
        raise found.error
    lines: int = found.lines
    return lines


def _connected() -> Any:
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError.of("ray", "ray") from error
    if not ray.is_initialized():
        ray.init()
    return ray
