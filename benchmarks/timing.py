"""Seconds and memory of calls."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
Call = Callable[[], object]


def alternate(calls: dict[str, Call], rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the median seconds of calls that take turns: by the clock, and of the processors."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(clock_and_processor(call))
    medians = {name: np.median(taken, axis=0) for name, taken in times.items()}
    clock, work = ({name: float(taken[i]) for name, taken in medians.items()} for i in (0, 1))
    return clock, work


def clock_and_processor(call: Call) -> tuple[float, float]:
    start, worked = time.perf_counter(), time.process_time()
    kept = call()
    taken = time.perf_counter() - start, time.process_time() - worked
    del kept  # freed after the clock has stopped
    return taken


def peak_mb() -> float:
    """Return the peak memory of this process since `reset_peak`, or since it began."""
    if STATUS.exists():  # unlike ru_maxrss, it does not start with the parent's memory
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def reset_peak() -> None:
    """Start the peak anew, if the system can."""
    try:
        CLEAR.write_text("5")
    except OSError:
        return
