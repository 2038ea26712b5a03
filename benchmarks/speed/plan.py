"""The cells of the speed comparison: a method on a number of rows of a data set, decided by a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from benchmarks.children import Answer, run_child
from benchmarks.harness import Cell, Line, choose

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
    from benchmarks.speed.worker import measure_job

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
    from benchmarks.speed.worker import measure_job

    job = {"data": data, "model": model}
    return run_child(measure_job, threads=threads, limit_s=300.0, job=job, rows=[], limits={"steps": 0})
