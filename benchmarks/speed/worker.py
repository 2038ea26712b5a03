"""One job in a process of its own: what it measures is written as JSON lines, cell by cell."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.speed.cells import METHODS as KNOWN
from benchmarks.speed.cells import Job
from benchmarks.speed.problems import Asked, Problem, load
from benchmarks.speed.timing import Pace, forget_peak, peak_mb, repeated

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
Line = dict[str, Any]


def main() -> int:
    """Do the job named by the first argument, or make its model where the second says so."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what packages print is not an answer
    warnings.simplefilter("ignore")
    words = json.loads(sys.argv[1])
    job = Job(**words | {"rows": tuple(words["rows"])})
    problem = load(job.data, job.model, job.steps, job.threads)
    if sys.argv[2:] == ["prepare"]:
        return 0
    for line in lines(job, problem):
        answers.write(json.dumps(line) + "\n")
        answers.flush()
    return 0


def lines(job: Job, problem: Problem) -> Iterator[Line]:
    """Yield a line for each cell of a job."""
    model, start = Asked(problem.model), described(job, problem)
    if job.method in ("fit", "limits"):
        from benchmarks.speed import limits, ours

        forget_peak()
        before = peak_mb()
        found = (
            ours.fitted(problem, model)
            if job.method == "fit"
            else limits.measured(problem, model, job.budget_s)
        )
        yield start | {"rows": 0} | found | {"peak_mb": peak_mb() - before}
        return
    for line in explained(job, problem, model):
        yield start | line


def described(job: Job, problem: Problem) -> Line:
    """Return what all lines of a job begin with; a load well above the threads tells of other work."""
    return {"m": problem.n_features, "threads": job.threads, "load": os.getloadavg()[0], "error": None}


def explained(job: Job, problem: Problem, model: Asked) -> Iterator[Line]:
    """Yield the figures of a method for growing numbers of rows."""
    from benchmarks.speed.ours import METHODS

    rows = Rows(problem, max(job.rows))
    forget_peak()
    before, begun = peak_mb() - rows.mb, time.perf_counter()
    construct = METHODS[job.method]
    explain = construct(problem, model)
    prepared = time.perf_counter() - begun

    def call(n: int) -> float:
        asked = model.seconds
        explain(rows.X[:n])
        return model.seconds - asked

    cold = repeated(lambda: call(1), 1, 0.0)
    first = {"prepare_s": prepared, "first_s": time.perf_counter() - begun}
    # what a first call does once, such as compiling, must not count for every row
    first["warm"] = cold.seconds < job.limit_s / 2
    again = repeated(lambda: call(1), 1, job.budget_s) if first["warm"] else cold
    pace = Pace(KNOWN[job.method].batch).after(again)
    first["setting"] = (construct.__doc__ or "").strip()
    for n in job.rows:
        rows.hold(most(min(n, rows.most), pace, job))
        pace = timed(call, min(n, rows.most), pace, job)
        yield first | figures(n, pace) | {"peak_mb": peak_mb() - rows.mb - before}
        forget_peak()


def timed(call: Callable[[int], float], rows: int, pace: Pace, job: Job) -> Pace:
    """Time so many rows, or as many as the budget allows, unless no more than last time.

    `call` explains the first so many rows and returns how long the model was asked meanwhile.
    """
    n = most(rows, pace, job)
    return pace if n <= pace.last.rows else pace.after(repeated(lambda: call(n), n, job.budget_s))


def most(rows: int, pace: Pace, job: Job) -> int:
    """Return how many of the rows are timed: few of a batch in any case, else what the budget allows."""
    known = KNOWN[job.method]
    return rows if known.batch and rows <= known.probe else pace.affordable(rows, job.budget_s)


class Rows:
    """The rows that are explained; no more are made than are timed, for a million of them take a while."""

    FIRST = 10_000

    def __init__(self, problem: Problem, most: int) -> None:
        self.problem, self.most = problem, problem.most_rows(most)
        self.X = problem.rows(min(self.most, self.FIRST))

    def hold(self, n: int) -> None:
        """Have at least n rows, the same first ones."""
        if n > len(self.X):
            self.X = self.problem.rows(n)
            forget_peak()

    @property
    def mb(self) -> float:
        """The memory that they take."""
        return self.X.nbytes / 1e6


def figures(rows: int, pace: Pace) -> Line:
    """Return the figures of a cell, timed on all of its rows or on fewer.

    >>> from benchmarks.speed.timing import Timed
    >>> figures(100, Pace(False).after(Timed(10, 2.0, 0.5)))["rows_per_second"]
    5.0
    """
    last = pace.last
    seconds = pace.seconds(rows)
    share = last.model_seconds / last.seconds
    return {
        "rows": rows,
        "rows_timed": last.rows,
        "extrapolated": last.rows < rows,
        "repeats": last.repeats,
        "seconds": seconds,
        "rows_per_second": rows / seconds,
        "model_share": share,
        "own_rows_per_second": rows / (seconds * (1 - share)) if share < 1 else None,
    }


if __name__ == "__main__":
    sys.exit(main())
