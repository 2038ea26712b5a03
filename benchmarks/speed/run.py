"""Doing the jobs of a plan one after the other, each in a process of its own that may be ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from benchmarks.records import provenance
from benchmarks.speed.cells import Job, Plan, SpeedCell
from benchmarks.speed.worker import THREAD_VARIABLES
from benchmarks.store import append, read

PREPARE_LIMIT_S = 300.0
Line = dict[str, Any]


def run(plan: Plan, path: Path, *, again: bool = False) -> int:
    """Measure the cells of a plan that the file does not have; return how many failed."""
    done = frozenset() if again else frozenset(SpeedCell.of(line).key for line in latest(path))
    jobs, origin, failed = replace(plan, skipped=done).jobs(), provenance(), 0
    with tqdm(total=len(jobs), unit="job", smoothing=0.0) as bar:
        for job in jobs:
            bar.set_postfix_str(f"{job.data} {job.model} {job.method}")
            for line in job_lines(job):
                append(path, line | origin)
                failed += line["error"] is not None
                bar.write(told(line))
            bar.update()
    return failed


def latest(path: Path) -> list[Line]:
    """Return the lines of a result file; of several for one cell, the last."""
    return list({SpeedCell.of(line).key: line for line in read(path)}.values())


def job_lines(job: Job) -> Iterator[Line]:
    """Yield a line for every cell of a job; what was not measured before the limit says so."""
    named = {"data": job.data, "model": job.model, "method": job.method}
    if error := prepared(job.data, job.model, job.threads):
        yield from (named | {"rows": rows, "error": error} for rows in job.rows)
        return
    open_rows = list(job.rows)
    code, said = 0, ""
    for answer in answers(job):
        if isinstance(answer, tuple):
            code, said = answer
            continue
        open_rows.remove(answer["rows"])
        yield named | answer
    reason = f"over the limit of {job.limit_s:.0f} s" if code < 0 else said or "nothing was measured"
    yield from (named | {"rows": rows, "error": reason} for rows in open_rows)


def answers(job: Job) -> Iterator[Line | tuple[int, str]]:
    """Yield what a worker writes, as it writes it; at the end its exit status and its last words."""
    process = subprocess.Popen(
        command(job), env=environment(job.threads), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    words: list[str] = []
    reader = threading.Thread(target=lambda: words.extend(process.stderr or ()), daemon=True)
    timer = threading.Timer(job.limit_s, process.kill)
    reader.start()
    timer.start()
    try:
        for text in process.stdout or ():
            yield json.loads(text)
        code = process.wait()
    finally:
        timer.cancel()
        process.kill()
        process.wait()
    reader.join()
    yield code, (words[-1].strip()[:200] if words and code else "")


@cache
def prepared(data: str, model: str, threads: int) -> str | None:
    """Make a model where it is not there yet; return what went wrong."""
    job = Job(data, model, "model", (), threads=threads)
    done = subprocess.run(
        [*command(job), "prepare"],
        env=environment(job.threads),
        capture_output=True,
        text=True,
        check=False,
        timeout=PREPARE_LIMIT_S,
    )
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no model"])[-1][:200]


def command(job: Job) -> list[str]:
    """Return how a job is started."""
    return [sys.executable, "-m", "benchmarks.speed.worker", json.dumps(job.to_dict())]


def environment(threads: int) -> dict[str, str]:
    """Return the variables of a worker: as many threads for all methods, which do not wait for work awake."""
    root = str(Path(__file__).parents[2])
    paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    asleep = {"OPENBLAS_THREAD_TIMEOUT": "20"}  # as the guide advises
    return os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads)) | asleep | {"PYTHONPATH": paths}


def told(line: Line) -> str:
    """Return a line for a terminal."""
    name = SpeedCell.of(line).key
    if line["error"]:
        return f"{name}: {line['error']}"
    if "rows_per_second" not in line:
        return f"{name}: " + ", ".join(f"{k} {v:.4g}" for k, v in line.items() if isinstance(v, float))
    few = f", on {line['rows_timed']} rows" if line["extrapolated"] else ""
    rate, first = line["rows_per_second"], line["first_s"]
    return f"{name}: {rate:,.4g} rows/s{few}; first {first:.2f} s, peak {line['peak_mb']:.0f} MB"
