"""Doing the cells of a plan that are not finished, those of one model together."""

from __future__ import annotations

import gc
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from benchmarks.records import provenance
from benchmarks.store import append, read
from benchmarks.truth.budgets import TooFewAsksError
from benchmarks.truth.case import Case, load
from benchmarks.truth.cells import Plan, TruthCell
from benchmarks.truth.kinds import Bench, Limits

Line = dict[str, Any]
Evaluate = Callable[[TruthCell], Line]


def run(
    plan: Plan,
    path: Path,
    limits: Limits,
    *,
    again: str = "none",
    make: Callable[[TruthCell, Limits], Evaluate] | None = None,
) -> int:
    """Measure what the file does not have; return how many cells failed.

    Two runs may write to one file at a time where they are about different data or models.
    """
    make = make or bench
    left = unfinished(plan, path, again)
    origin, failed = provenance(), 0
    with tqdm(total=len(left), unit="cell", smoothing=0.0) as bar:
        for (data, model), cells in groupby(left, key=lambda cell: (cell.data, cell.model)):
            evaluate: Evaluate | None = None
            for cell in cells:
                bar.set_postfix_str(f"{data} {model} {cell.method}")
                try:
                    evaluate = evaluate or make(cell, limits)
                    line = evaluate(cell) | {"error": None}
                except Exception as error:
                    line = {"error": said(error)}
                append(path, vars(cell) | line | origin)
                failed += line["error"] is not None
                bar.write(shown(cell, line))
                bar.update()
            gc.collect()  # explainers of one case need not wait for those of the next
    return failed


def bench(cell: TruthCell, limits: Limits) -> Evaluate:
    """Return what evaluates the cells of a case."""
    return Bench(Case(load(cell.data, cell.model, cell.seed), cell.rows), limits).evaluate


def unfinished(plan: Plan, path: Path, again: str) -> list[TruthCell]:
    """Return the cells to do: those without a line, with failed ones again, or all."""
    done = {
        TruthCell.of(line).key
        for line in latest(path)
        if again == "none" or (again == "failed" and line["error"] is None)
    }
    return [cell for cell in plan.cells() if cell.key not in done]


def latest(path: Path) -> list[Line]:
    """Return the lines of a result file; of several for one cell, the last."""
    return list({TruthCell.of(line).key: line for line in read(path)}.values())


def said(error: Exception) -> str:
    """Return what went wrong, on one line."""
    text = " ".join(str(error).split())[:200]
    return text if isinstance(error, TooFewAsksError) else f"{type(error).__name__}: {text}"


def shown(cell: TruthCell, line: Line) -> str:
    """Return a line for a terminal."""
    if line["error"]:
        return f"{cell.key}: {line['error']}"
    wanted = ["r2", "correlation", "coverage", "asks_per_row", "fit_s", "many_s", "reference_noise"]
    wanted += ["null_number", "null_category", "cosine", "difference"]
    return f"{cell.key}: " + ", ".join(f"{k} {line[k]:.4g}" for k in wanted if line.get(k) is not None)
