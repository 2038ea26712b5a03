"""`python -m benchmarks busy`: one fit on an idle machine, with one thread, and beside busy processes."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks.records import RESULTS, provenance
from benchmarks.store import append, read

FILE = RESULTS / "busy.jsonl"
THREADS = "OMP_NUM_THREADS"
THREAD_VARIABLES = (THREADS, "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
# It ends by itself where the process that started it is gone.
SPIN = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(10**6):
        pass
"""


@dataclass(frozen=True)
class Condition:
    """How a machine is while a fit is timed."""

    name: str
    threads: int = 0  # 0: as many as libraries take by themselves
    beside: int = 0  # processes that do nothing, as fast as they can


CONDITIONS = (
    Condition("idle"),
    Condition("one thread", threads=1),
    Condition("beside 1", beside=1),
    Condition("beside 2", beside=2),
    Condition("beside 4", beside=4),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the measurement."""
    parser.add_argument("--rows", type=int, default=8_000, help="to fit on")
    parser.add_argument("--features", type=int, default=23, help="of which about a third are categories")
    parser.add_argument("--repeats", type=int, default=1, help="of every condition; the fastest counts")
    parser.add_argument("--seconds", type=float, default=600.0, help="after which a fit is ended")
    parser.add_argument("--conditions", default="", help=f"of {', '.join(c.name for c in CONDITIONS)}")
    parser.add_argument("--file", type=Path, default=FILE)


def run(options: argparse.Namespace) -> int:
    """Time the same fit in all conditions, one after the other; ratios are to the idle one of this run."""
    from benchmarks.speed.cells import chosen

    wanted = chosen([c.name for c in CONDITIONS], options.conditions, "condition")
    number, origin, idle = uuid4().hex[:8], provenance(), None
    for condition in (c for c in CONDITIONS if c.name in wanted):
        load = os.getloadavg()[0]
        found = [timed(condition, options) for _ in range(options.repeats)]
        measured = [one for one in found if one["error"] is None]
        line = min(measured, key=lambda one: one["fit_s"]) if measured else found[0]
        if condition.name == "idle":
            idle = line.get("fit_s")
        if idle and line.get("fit_s"):
            line["ratio"] = line["fit_s"] / idle
        named = {
            "run": number,
            "condition": condition.name,
            "rows": options.rows,
            "features": options.features,
        }
        facts = {"threads": condition.threads, "beside": condition.beside, "repeats": options.repeats}
        append(options.file, named | facts | {"seed": 0, "load_before": load} | line | origin)
        print({**named, **line}, flush=True)
    return 0


def timed(condition: Condition, options: argparse.Namespace) -> dict[str, Any]:
    """Fit in a process of its own; return what it says, or why it says nothing."""
    command = [sys.executable, "-m", "benchmarks.busy_worker", str(options.rows), str(options.features)]
    with spinning(condition.beside):
        try:
            done = subprocess.run(
                command,
                env=environment(condition),
                capture_output=True,
                text=True,
                check=False,
                timeout=options.seconds,
            )
        except subprocess.TimeoutExpired:
            return {"error": f"over the limit of {options.seconds:.0f} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["nothing was said"])[-1][:200]}
    return json.loads(done.stdout.strip().splitlines()[-1]) | {"error": None}


@contextmanager
def spinning(n: int) -> Iterator[None]:
    """Keep n processes busy."""
    started = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(n)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def environment(condition: Condition) -> dict[str, str]:
    """Return the variables of a fit: as many threads as the condition says, whatever this process has."""
    root = str(Path(__file__).parents[1])
    paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    kept = {name: value for name, value in os.environ.items() if name not in THREAD_VARIABLES}
    asked = {THREADS: str(condition.threads)} if condition.threads else {}
    return kept | asked | {"PYTHONPATH": paths}


def latest(path: Path) -> list[dict[str, Any]]:
    """Return the lines of the last run of a file."""
    lines = list(read(path))
    return [line for line in lines if line["run"] == lines[-1]["run"]]
