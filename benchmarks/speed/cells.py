"""The cells of the speed comparison, and the timing of a method on growing numbers of rows."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from benchmarks.children import Answer, peak_mb, reset_peak, run_child
from benchmarks.harness import Cell, Line, choose
from benchmarks.packages import MeteredModel
from benchmarks.speed.methods import EXPLAINERS, fit
from benchmarks.speed.problems import Problem, load

REPEATS = 5
SINGLE_REPEATS = 100
FIRST_ROWS = 10_000
MODELS = ("lightgbm", "mlp")
FEATURES = (8, 30, 100, 500)
CENTRE = "m30"  # the data set for ratios
DATA = (*(f"m{m}" for m in FEATURES), "adult")
ROWS = (1, 100, 10_000, 1_000_000)
NAMES = ("data", "model", "method", "rows")  # that identify a cell
ASLEEP = {"OPENBLAS_THREAD_TIMEOUT": "20"}  # as the guide recommends


@dataclass(frozen=True)
class Method:
    """How a method is measured."""

    kind: str  # break-even rows are counted among methods of one kind
    trees: bool = False  # it explains tree ensembles only
    many: bool = False  # it is run on the largest number of rows
    batch: bool = False  # part of its cost is paid once for each call
    probe: int = 100  # up to this number of rows of a batch are timed without an estimate
    budget_s: float = 2.5  # the approximate time of a cell; beyond it, fewer rows are timed
    limit_s: float = 60.0  # after this time the process is killed


METHODS = {
    "illume": Method("attributions", many=True, batch=True, budget_s=8.0, limit_s=120.0),
    "illume-rules": Method("rules", batch=True),
    "illume-counterfactuals": Method("counterfactuals", batch=True),
    "shap-tree": Method("attributions", trees=True, many=True, batch=True, limit_s=30.0),
    "woodelf": Method(
        "attributions", trees=True, many=True, batch=True, probe=10_000, budget_s=8.0, limit_s=90.0
    ),
    "shap-kernel": Method("attributions"),
    "shap-permutation": Method("attributions"),  # compiles on its first call
    "lime": Method("attributions"),
    "anchor": Method("rules"),
    "lore": Method("rules"),
    "dice": Method("counterfactuals"),
    "model": Method("prediction", many=True, batch=True, budget_s=6.0, limit_s=90.0),
    "fit": Method("fit", limit_s=300.0),
}
OURS = {"attributions": "illume", "rules": "illume-rules", "counterfactuals": "illume-counterfactuals"}
QUICK_METHODS = ("fit", "illume", "model", "shap-tree", "lime")


def speed(
    quick: bool = False,
    methods: tuple[str, ...] = (),
    models: tuple[str, ...] = (),
    data: tuple[str, ...] = (),
    rows: tuple[int, ...] = (),
    steps: int = 0,
    threads: int = 2,
) -> Iterator[Cell]:
    """Time illume and other explainers on the same models and rows; the machine must be idle.

    data: m8, m30, m100, m500 (generated columns) or adult, which `ILLUME_DATA` must hold. steps: the most
    training steps of illume, 0 for the default. Each data set, model and method gets a process of its own;
    what would take too long is timed on fewer rows and extrapolated. quick: small cells, about two minutes.
    """
    methods = methods or (QUICK_METHODS if quick else ())
    scale, steps, known = (0.25, 100, ROWS[:2]) if quick else (1.0, steps, ROWS)
    wanted = [n for n in known if not rows or n in rows]
    order = sorted(choose(METHODS, methods, "method"), key=lambda name: name != "fit")
    for name in choose(DATA, data or (DATA[:1] if quick else ()), "data set"):
        for model in choose(MODELS if name != "adult" else MODELS[:1], models, "model"):
            for method in order:
                job = {"data": name, "model": model, "method": method}
                limits = {"budget_s": METHODS[method].budget_s * scale, "steps": steps}
                yield from _job_cells(job, wanted, limits, threads)


def _job_cells(job: Line, rows: list[int], limits: Line, threads: int) -> Iterator[Cell]:
    """Yield the cells that one process measures."""
    known = METHODS[job["method"]]
    if known.trees and job["model"] != "lightgbm":
        return
    mine = [0] if known.kind == "fit" else [n for n in rows if known.many or n < max(ROWS)]

    @cache
    def measure() -> dict[int, Line]:
        answer = _fit_model(job["data"], job["model"], threads)
        if not answer.error:
            options = {"threads": threads, "variables": ASLEEP, "limit_s": known.limit_s}
            answer = run_child(measure_job, **options, job=job, rows=mine, limits=limits)
        failed = {"error": answer.error or "nothing was measured"}
        return dict.fromkeys(mine, failed) | {line["rows"]: line for line in answer.lines}

    for n in mine:
        yield Cell(job | {"rows": n}, lambda n=n: {"threads": threads} | measure()[n])


@cache
def _fit_model(data: str, model: str, threads: int) -> Answer:
    """Fit a model that is not on disk yet, outside the time limit of a method."""
    job = {"data": data, "model": model}
    return run_child(measure_job, threads=threads, limit_s=300.0, job=job, rows=[], limits={"steps": 0})


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
    model = MeteredModel(problem.model, problem.model.classes_)
    start = {"m": problem.n_features, "load": os.getloadavg()[0]}
    if rows == [0]:
        reset_peak()
        before = peak_mb()
        yield start | {"rows": 0, "error": None} | fit(problem, model) | {"peak_mb": peak_mb() - before}
    elif rows:
        for line in explain_rows(job["method"], rows, problem, model, limits["budget_s"]):
            yield start | {"error": None} | line


def explain_rows(
    method: str, wanted: list[int], problem: Problem, model: MeteredModel, budget_s: float
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
