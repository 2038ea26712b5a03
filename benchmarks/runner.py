"""Running many cells: in parallel, one failure at a time, resumable."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

from tqdm.auto import tqdm

from benchmarks.cells import Cell
from benchmarks.records import provenance
from benchmarks.store import Store

Result = dict[str, Any]
DIED = "the worker process died (out of memory?)"


def failure(error: str) -> Result:
    """Return what is noted of a cell that could not be measured."""
    return {"metrics": {}, "times": {}, "error": error}


def run(
    cells: Sequence[Cell],
    store: Store,
    *,
    workers: int = 1,
    engine: str = "processes",
    again: str = "none",
) -> int:
    """Run the cells that the store does not have; return how many have failed, now or before.

    `again` runs some that it has, too: those that `failed`, or `all`.
    """
    finished = set() if again == "all" else store.finished(failed_too=again == "none")
    todo = [cell for cell in cells if cell.key not in finished]
    print(f"{len(cells)} cells, {len(cells) - len(todo)} of them finished before", flush=True)
    wanted = {cell.key for cell in cells} - {cell.key for cell in todo}
    failed, origin = len(wanted - store.finished(failed_too=False)), provenance()
    with tqdm(total=len(todo), unit="cell", smoothing=0.0) as bar:
        for cell, result in ENGINES[engine](todo, workers):
            store.add(cell, result | origin)
            failed += result["error"] is not None
            bar.set_postfix(failed=failed)
            bar.update()
            if result["error"]:
                bar.write(f"failed: {cell.key}: {result['error']}")
    return failed


def evaluated(cell: Cell) -> Result:
    """Evaluate a cell; whatever goes wrong becomes part of the result."""
    from benchmarks.evaluation import evaluate

    start = time.perf_counter()
    try:
        result = evaluate(cell)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(last.filename)}:{last.lineno}"
        result = failure(f"{type(error).__name__}: {error} ({where})")
    result["times"]["cell_s"] = round(time.perf_counter() - start, 3)
    return result


def single_threaded() -> None:
    """Keep a worker to one thread: two busy processes with two threads each only wait for each other."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"
    import torch

    torch.set_num_threads(1)


def in_processes(
    cells: Sequence[Cell], workers: int, work: Callable[[Cell], Result] = evaluated
) -> Iterator[tuple[Cell, Result]]:
    """Yield cells as they get done by a pool of processes.

    A worker that dies takes the whole pool with it: the cells that were running are then tried once more,
    each in a process of its own.
    """
    waiting, suspects = list(cells), []
    while waiting:
        running: dict[Future[Result], Cell] = {}
        with _pool(workers) as pool:
            try:
                while waiting or running:
                    while waiting and len(running) < workers:
                        future = pool.submit(work, waiting[0])
                        running[future] = waiting.pop(0)
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        result = future.result()
                        yield running.pop(future), result
            except BrokenProcessPool:
                suspects += running.values()
    for cell in suspects:
        with _pool(1) as pool:
            try:
                yield cell, pool.submit(work, cell).result()
            except BrokenProcessPool:
                yield cell, failure(DIED)


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=single_threaded)


def on_ray(cells: Sequence[Cell], workers: int) -> Iterator[tuple[Cell, Result]]:
    """Yield cells as they get done by a Ray cluster: a running one, or one started on this machine."""
    import ray

    if not ray.is_initialized():
        ray.init(num_cpus=None if os.environ.get("RAY_ADDRESS") else workers, log_to_driver=False)

    @ray.remote(num_cpus=1, max_retries=1)
    def task(cell: Cell) -> Result:
        single_threaded()
        return evaluated(cell)

    running = {task.remote(cell): cell for cell in cells}
    while running:
        done, _ = ray.wait(list(running))
        for reference in done:
            cell = running.pop(reference)
            try:
                yield cell, ray.get(reference)
            except ray.exceptions.RayError as error:
                yield cell, failure(f"{type(error).__name__}: {DIED}")


Engine = Callable[[Sequence[Cell], int], Iterator[tuple[Cell, Result]]]
ENGINES: dict[str, Engine] = {"processes": in_processes, "ray": on_ray}
