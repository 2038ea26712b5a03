"""Generator functions in child processes, with limits and observed memory; seconds and memory of calls.

`python -m benchmarks.children MODULE:FUNCTION JSON` is what a child runs: it prints each yielded value as
JSON.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Line, environment

LOOK_EVERY_S = 0.05
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
Call = Callable[[], object]


@dataclass
class Answer:
    """What a child process yielded, why it ended early, and the resources it used."""

    lines: list[Line] = field(default_factory=list)
    error: str | None = None
    late: bool = False
    seconds: float = 0.0
    peak_mb: float = 0.0  # of the child and its descendants together
    worker_mb: float = 0.0  # the largest peak of a process that multiprocessing started
    processor_seconds: float = 0.0

    def last(self) -> Line:
        """Return the last line, or raise with the child's error."""
        if self.error or not self.lines:
            raise RuntimeError(self.error or "the child process returned nothing")
        return self.lines[-1]


def run_child(
    function: Callable[..., Iterable[Line]],
    *,
    threads: int = 0,
    limit_s: float | None = None,
    watch: bool = False,
    variables: dict[str, str] | None = None,
    **arguments: Any,
) -> Answer:
    """Call a module-level generator function with arguments that JSON can hold; `watch` observes memory."""
    name = f"{function.__module__}:{function.__qualname__}"
    words = [sys.executable, "-m", "benchmarks.children", name, json.dumps(arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    answer, start = Answer(), time.perf_counter()
    with subprocess.Popen(words, env=environment(threads) | (variables or {}), **pipes) as process:
        observer = _Observer(process) if watch else None
        try:
            texts, errors = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            texts, errors = process.communicate()
            answer.late, answer.error = True, f"over the limit of {limit_s:.0f} s"
        finally:
            process.kill()
    answer.seconds = time.perf_counter() - start
    answer.lines = [json.loads(text) for text in texts.splitlines(keepends=True) if text.endswith("}\n")]
    if process.returncode and not answer.late:
        answer.error = (errors.splitlines() or ["no answer"])[-1].strip()[:200]
    if observer:
        observer.report(answer)
    return answer


class _Observer(threading.Thread):
    """Watches the resident memory and processor time of a process and its descendants."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        import psutil

        super().__init__(daemon=True)
        self.psutil, self.process, self.together = psutil, process, 0.0
        self.peaks: dict[int, float] = {}
        self.workers: set[int] = set()  # processes that multiprocessing started
        self.seconds: dict[int, float] = {}
        self.start()

    def run(self) -> None:
        root = self.psutil.Process(self.process.pid)
        while self.process.poll() is None:
            try:
                self.look([root, *root.children(recursive=True)])
            except self.psutil.Error:
                return
            time.sleep(LOOK_EVERY_S)

    def look(self, processes: list[Any]) -> None:
        total = 0.0
        for process in processes:
            try:
                held, spent = process.memory_info().rss / 1e6, process.cpu_times()
                if process.pid not in self.peaks and "spawn_main" in " ".join(process.cmdline()):
                    self.workers.add(process.pid)
            except self.psutil.Error:  # it has ended
                continue
            total += held
            self.seconds[process.pid] = spent.user + spent.system
            self.peaks[process.pid] = max(held, self.peaks.get(process.pid, 0.0))
        self.together = max(self.together, total)

    def report(self, answer: Answer) -> None:
        self.join()
        answer.peak_mb = self.together
        answer.worker_mb = max((self.peaks[pid] for pid in self.workers if pid in self.peaks), default=0.0)
        answer.processor_seconds = sum(self.seconds.values())


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


def main() -> None:
    """Answer the request in the command line."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what packages print is not an answer
    warnings.simplefilter("ignore")
    module, function = sys.argv[1].split(":")
    for line in getattr(import_module(module), function)(**json.loads(sys.argv[2])):
        answers.write(json.dumps(line) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
