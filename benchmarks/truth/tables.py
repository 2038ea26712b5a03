"""Tables of contributions against Shapley values, as Markdown and CSV, from result lines alone."""

from __future__ import annotations

import csv
from pathlib import Path

from benchmarks.busy_tables import tables as busy_tables
from benchmarks.markup import MISSING, number, seconds
from benchmarks.slow.tables import tables as slow_tables
from benchmarks.speed.tables import Table, count
from benchmarks.truth.cells import OURS
from benchmarks.truth.summary import (
    Lines,
    floored_r2,
    mean,
    median,
    median_asks,
    median_seconds,
    note,
    values,
)

SPLIT_NAMES = {
    "development": "data sets that settings were chosen on",
    "heldout": "data sets that no setting was chosen on",
    "all": "all data sets",
}
BESIDE = ("shap-tree", "shap-kernel@256", "shap-permutation@256", "shap-sampling@256")
CELL_METHODS = (*OURS, *BESIDE, "shapiq-kernel@256", "shapiq-leverage@256", "lime")
EXPLAINED = (
    "The reference are interventional Shapley values of the model's log-odds over background rows that "
    "are the same for all methods: exact, or walks until their noise is a small share of the variance. R² "
    "is one minus the squared error over the squared distances of the reference from its means over rows. "
    "A method at `@256` has 256 asks of the model a row; where it needs more, it has the least that it "
    "needs. Seconds are for 10,000 rows with the fit, of slow methods extrapolated from the rows they "
    "explained; asks a row include those of the fit, shared by 10,000 rows. `shap-tree` of a forest, and "
    "LIME, answer in units of probability: R² is also given after the one factor that suits best."
)


def render(path: Path, out: Path, split: str) -> list[Path]:
    """Write the tables of what was measured, slow models and busy machines included; return their paths."""
    written = []
    beside = [*slow_tables(path.with_name("slow.jsonl")), *busy_tables(path.with_name("busy.jsonl"))]
    for table in [*tables(path, split), *beside]:
        out.mkdir(parents=True, exist_ok=True)
        file = out / f"{table.name}.md"
        file.write_text(table.text(level=2) + "\n")
        with file.with_suffix(".csv").open("w", newline="") as handle:
            csv.writer(handle).writerows([table.head, *table.rows])
        written += [file, file.with_suffix(".csv")]
    return written


def tables(path: Path, split: str) -> list[Table]:
    """Return the tables that have rows."""
    contributions, null, seeds = (
        Lines.read(path, kind, split) for kind in ("contributions", "null", "seeds")
    )
    found = [
        methods(contributions, split),
        cells(contributions),
        nulls(null, split),
        agreement(seeds, split),
        coverage(contributions, split),
    ]
    return [table for table in found if table.rows]


def methods(lines: Lines, split: str) -> Table:
    """Return a row per method: means over data sets and models."""
    head = ["method", "cells", "R², mean", "R², median", "R², scaled", "correlation", "top 3"]
    head += ["infidelity", "PGI", "PGU", "asks a row", "asks in fit", "fit, s", "10,000 rows, s"]
    rows = []
    for method in lines.methods():
        mine = lines.of(method)
        if not mine:
            continue
        figures = [floored_r2(mine), median(mine, "r2"), median(mine, "r2_scaled")]
        figures += [mean(mine, name) for name in ("correlation", "top3", "infidelity", "pgi", "pgu")]
        costs = [count(median_asks(mine)), count(median(mine, "fit_asks"))]
        costs += [seconds(median(mine, "fit_s")), seconds(median_seconds(mine))]
        rows.append((method, str(len(mine)), *map(number, figures), *costs))
    title = f"Contributions against Shapley values: {SPLIT_NAMES[split]}"
    means = "Costs are medians over cells; in the mean, an R² below 0 counts 0."
    return Table("truth", title, tuple(head), tuple(rows), (EXPLAINED, means, *note(lines)))


def cells(lines: Lines) -> Table:
    """Return R² for each data set and model."""
    shown = [name for name in CELL_METHODS if lines.of(name)]
    rows = []
    for data, model in lines.cases():
        mine = [lines.line(data, model, name) for name in shown]
        first = next((line for line in mine if line), None)
        if first is None:
            continue
        facts = (first["reference"], number(float(first["reference_noise"])), str(first["rows_explained"]))
        rows.append((f"{data}, {model}", *facts, *(number(line["r2"]) if line else MISSING for line in mine)))
    head = ("data, model", "reference", "its noise", "rows", *shown)
    return Table("truth-cells", "R² against Shapley values, cell by cell", head, tuple(rows))


def nulls(lines: Lines, split: str) -> Table:
    """Return how much methods give to features that the model never sees."""
    return _spread(
        lines,
        "truth-null",
        f"Contributions of random features that the model never sees: {SPLIT_NAMES[split]}",
        {"null_number": "a number", "null_category": "a category"},
        "Mean size of the contribution as a share of the strongest feature's; 0 is right.",
    )


def agreement(lines: Lines, split: str) -> Table:
    """Return how alike two fits are that differ in their seeds alone."""
    return _spread(
        lines,
        "truth-seeds",
        f"Two fits with different seeds: {SPLIT_NAMES[split]}",
        {"cosine": "cosine", "difference": "difference"},
        "Cosine: of a row's contributions, mean over rows; 1 is the same. Difference: squared, as a share of "
        "the variance; 0 is the same.",
        low_is_worst=("cosine",),
    )


def coverage(lines: Lines, split: str) -> Table:
    """Return how often 95 % intervals hold the reference."""
    kept = {key: line for key, line in lines.found.items() if line.get("coverage") is not None}
    return _spread(
        Lines(kept),
        "truth-coverage",
        f"Share of 95 % intervals that hold the Shapley value: {SPLIT_NAMES[split]}",
        {"coverage": "coverage"},
        "Intervals are 1.96 standard errors to either side; .950 is right.",
        low_is_worst=("coverage",),
    )


def _spread(
    lines: Lines,
    name: str,
    title: str,
    columns: dict[str, str],
    about: str,
    *,
    low_is_worst: tuple[str, ...] = (),
) -> Table:
    """Return mean and worst of some figures, a row per method."""
    head = ["method", "cells"]
    for words in columns.values():
        head += [f"{words}, mean", f"{words}, worst"]
    rows = []
    for method in lines.methods():
        if not (mine := lines.of(method)):
            continue
        row = [method, str(len(mine))]
        for column in columns:
            worst = values(mine, column)
            worst = worst.min() if column in low_is_worst else worst.max()
            row += [number(mean(mine, column)), number(float(worst))]
        rows.append(tuple(row))
    return Table(name, title, tuple(head), tuple(rows), (about, *note(lines)))
