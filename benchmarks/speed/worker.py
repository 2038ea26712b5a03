"""Time one method on growing numbers of rows, in a process of its own."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.children import peak_mb, reset_peak
from benchmarks.harness import Line
from benchmarks.speed.methods import EXPLAINERS, fit
from benchmarks.speed.plan import METHODS, Method
from benchmarks.speed.problems import Problem, TimedModel, load

REPEATS = 5
SINGLE_REPEATS = 100
FIRST_ROWS = 10_000


@dataclass(frozen=True)
class Timed:
    """The seconds of a call on some rows, and those of the model in it."""

    rows: int
    seconds: float
    model_seconds: float = 0.0
    repeats: int = 1


@dataclass(frozen=True)
class Pace:
    """Extrapolates seconds: for batches along a line through the last two timings, else in proportion.

    >>> start = Pace(True).after(Timed(1, 6.0)).after(Timed(101, 7.0))
    >>> start.seconds(1101), start.affordable(10_000, 8.0), start.affordable(150, 8.0)
    (17.0, 201, 150)
    >>> Pace(False).after(Timed(10, 2.0)).seconds(100), Pace(False).after(Timed(1, 30.0)).affordable(9, 4.0)
    (20.0, 1)
    >>> Pace(True).after(Timed(1, 1.0)).after(Timed(100, 10.9)).after(Timed(101, 10.8)).seconds(1101)
    108.8
    """

    batch: bool
    last: Timed = Timed(0, 0.0)
    before: Timed | None = None

    def after(self, timed: Timed) -> Pace:
        """Return the pace after one more timing; timings of similar numbers of rows make no line."""
        before = self.last if self.last.rows else None
        return Pace(self.batch, timed, before if timed.rows >= 2 * self.last.rows else self.before)

    def seconds(self, rows: int) -> float:
        last, before = self.last, self.before
        if not self.batch or before is None or rows <= last.rows:
            return rows * last.seconds / last.rows
        slope = (last.seconds - before.seconds) / (last.rows - before.rows)
        return last.seconds + (rows - last.rows) * max(slope, 1e-3 * last.seconds / last.rows)

    def affordable(self, rows: int, budget_s: float) -> int:
        """Return how many of the rows a budget allows, at least as many as were timed last."""
        if self.seconds(rows) <= budget_s:
            return rows
        slope = self.seconds(self.last.rows + 1) - self.seconds(self.last.rows)
        return min(rows, self.last.rows + max(0, int((budget_s - self.last.seconds) / slope)))


def repeat(call: Callable[[], float], rows: int, budget_s: float) -> Timed:
    """Call until half of the budget is spent, or a quarter for a single row, and take medians.

    `call` returns the model's seconds.
    """
    most, share = (SINGLE_REPEATS, 4) if rows == 1 else (REPEATS, 2)
    seconds: list[float] = []
    model_seconds: list[float] = []
    while not seconds or (len(seconds) < most and sum(seconds) < budget_s / share):
        start = time.perf_counter()
        model_seconds.append(call())
        seconds.append(time.perf_counter() - start)
    return Timed(rows, statistics.median(seconds), statistics.median(model_seconds), len(seconds))


def measure_job(job: Line, rows: list[int], limits: Line) -> Iterator[Line]:
    """Yield a line for each number of rows; without any, only fit the model."""
    problem = load(job["data"], job["model"], limits["steps"])
    model = TimedModel(problem.model)
    start = {"m": problem.n_features, "load": os.getloadavg()[0]}
    if rows == [0]:
        reset_peak()
        before = peak_mb()
        yield start | {"rows": 0, "error": None} | fit(problem, model) | {"peak_mb": peak_mb() - before}
    elif rows:
        for line in explain_rows(job["method"], rows, problem, model, limits["budget_s"]):
            yield start | {"error": None} | line


def explain_rows(
    method: str, wanted: list[int], problem: Problem, model: TimedModel, budget_s: float
) -> Iterator[Line]:
    """Yield the figures of a method for growing numbers of rows."""
    known, most = METHODS[method], problem.most_rows(max(wanted))
    X = problem.rows(min(most, FIRST_ROWS))
    reset_peak()
    before, begun = peak_mb() - X.nbytes / 1e6, time.perf_counter()
    construct = EXPLAINERS[method]
    explain = construct(problem, model)
    first = {"prepare_s": time.perf_counter() - begun, "setting": (construct.__doc__ or "").strip()}

    def call(n: int) -> float:
        before = model.seconds
        explain(X[:n])
        return model.seconds - before

    cold = repeat(lambda: call(1), 1, 0.0)
    first["first_s"] = time.perf_counter() - begun
    # the first call may compile or load things, which must not count for every row
    first["warm"] = cold.seconds < known.limit_s / 2
    pace = Pace(known.batch).after(repeat(lambda: call(1), 1, budget_s) if first["warm"] else cold)
    for rows in wanted:
        n = rows_to_time(min(rows, most), pace, known, budget_s)
        if n > len(X):
            X = problem.rows(n)
            reset_peak()
        if n > pace.last.rows:
            pace = pace.after(repeat(lambda n=n: call(n), n, budget_s))
        yield first | figures(rows, pace) | {"peak_mb": peak_mb() - X.nbytes / 1e6 - before}
        reset_peak()


def rows_to_time(rows: int, pace: Pace, known: Method, budget_s: float) -> int:
    """Return how many rows are timed: few of a batch in any case, else what the budget allows."""
    return rows if known.batch and rows <= known.probe else pace.affordable(rows, budget_s)


def figures(rows: int, pace: Pace) -> Line:
    """Return the figures of a cell, timed on all of its rows or on fewer.

    >>> figures(100, Pace(False).after(Timed(10, 2.0, 0.5)))["rows_per_second"]
    5.0
    """
    last, seconds = pace.last, pace.seconds(rows)
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
