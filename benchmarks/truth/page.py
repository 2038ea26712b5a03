"""Tables and figures of truth, slow models and busy machines, from result lines alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from benchmarks import busy, slow
from benchmarks.harness import RESULTS, ROOT, Line, latest
from benchmarks.markup import (
    MISSING,
    PALETTE,
    Table,
    canvas,
    count,
    failures,
    label_axes,
    number,
    save_figure,
    seconds,
    write_tables,
)
from benchmarks.truth.cells import BUDGETS, LEAST, METHODS, MODELS, NAMES, OURS, SAMPLERS, SPLITS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VERMILLION, BLUE, SKY, GREEN, ORANGE, PURPLE, GREY, BLACK = PALETTE
NEEDS_MORE = "needs at least"
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
PANELS = {
    "boosted trees": ("xgb", "lgb"),
    "neural network": ("mlp",),
    "random forest, held out": ("forest",),
}
SMALLEST, LARGEST = 1e-3, 1.5  # errors outside are drawn on the edge


@dataclass(frozen=True)
class Series:
    """One method with increasing budgets, and how it is drawn."""

    name: str
    methods: tuple[str, ...]
    colour: str
    marker: str = "o"
    width: float = 1.2


SERIES = (
    *(
        Series(name, tuple(f"{name}@{budget}" for budget in BUDGETS), colour, marker)
        for name, colour, marker in zip(SAMPLERS, (PURPLE, BLUE, GREEN, SKY, BLACK), "sD^PX", strict=True)
    ),
    Series("shap-tree", ("shap-tree",), ORANGE, "v"),
    Series("lime", ("lime",), GREY, "v"),
    Series("illume-pullback", ("illume-pullback",), VERMILLION, "*"),
    Series("illume-thorough", ("illume-thorough",), VERMILLION, "P"),
    Series(
        "illume, illume-refine-16, 64, 256",
        ("illume", *(name for name in OURS if name.startswith("illume-refine"))),
        VERMILLION,
        width=2.2,
    ),
)


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of one kind and split by data set, model and method; of several the one with most rows."""

    found: dict[tuple[str, str, str], Line]

    @classmethod
    def read(cls, results: Path, kind: str, split: str) -> Lines:
        lines = latest(results / "truth.jsonl", NAMES)
        lines = [line for line in lines if line["kind"] == kind and line["data"] in SPLITS[split]]
        lines.sort(key=lambda line: line["rows"])
        return cls({(line["data"], line["model"], line["method"]): line for line in lines})

    def __bool__(self) -> bool:
        return any(line["error"] is None for line in self.found.values())

    def line(self, data: str, model: str, method: str) -> Line | None:
        """Return a measured line; if a method needs a larger budget, that of its smallest one."""
        line = self.found.get((data, model, method))
        if line is not None and str(line["error"]).startswith(NEEDS_MORE):
            line = self.found.get((data, model, f"{method.partition('@')[0]}@{LEAST}"))
        return None if line is None or line["error"] is not None else line

    def methods(self) -> list[str]:
        """Return the methods with lines, in the order of the plan."""
        there = {method for _, _, method in self.found}
        known = dict.fromkeys(name for names in METHODS.values() for name in names)
        return [*(name for name in known if name in there), *sorted(there - set(known))]

    def cases(self) -> list[tuple[str, str]]:
        there = {(data, model) for data, model, _ in self.found}
        return sorted(there, key=lambda case: (case[0], MODELS.index(case[1])))

    def select(self, method: str, models: Iterable[str] = MODELS) -> list[Line]:
        """Return the measured lines of a method."""
        found = [self.line(data, model, method) for data, model in self.cases() if model in tuple(models)]
        return [line for line in found if line is not None]

    def failures(self) -> tuple[str, ...]:
        """Return a sentence on what could not be measured, if anything."""
        return failures(line for line in self.found.values() if not str(line["error"]).startswith(NEEDS_MORE))


def figures_of(lines: Iterable[Line], name: str) -> np.ndarray:
    return np.array([line[name] for line in lines if line.get(name) is not None], dtype=float)


def mean(lines: Iterable[Line], name: str, least: float = -np.inf) -> float:
    """Return the mean of a figure, where values below `least` count as `least`."""
    found = np.maximum(figures_of(lines, name), least)
    return float(found.mean()) if len(found) else float("nan")


def median(lines: Iterable[Line], name: str) -> float:
    found = figures_of(lines, name)
    return float(np.median(found)) if len(found) else float("nan")


def median_seconds(lines: Iterable[Line]) -> float:
    """Return the median seconds for 10,000 rows, fit included."""
    return float(np.median([line["fit_s"] + line["many_s"] for line in lines]))


def median_queries(lines: Iterable[Line]) -> float:
    """Return the median queries for a row, those of the fit shared by 10,000 rows."""
    return float(np.median([line["asks_per_row"] + line["fit_asks"] / 10_000 for line in lines]))


def truth_page(
    split: Literal["development", "heldout", "all"] = "heldout",
    results: Path = RESULTS,
    out: Path = ROOT / "docs",
) -> int:
    """Write the tables and figures of truth, slow models and busy machines."""
    found = [*tables(results, split), *slow.tables(results), *busy.tables(results)]
    written = write_tables(found, out / "tables")
    print(*written, *draw(results, out / "images" / "results", split), sep="\n")
    return 0


def tables(results: Path, split: str) -> list[Table]:
    contributions, null, seeds = (
        Lines.read(results, kind, split) for kind in ("contributions", "null", "seeds")
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
    head = ["method", "cells", "R², mean", "R², median", "R², scaled", "correlation", "top 3"]
    head += ["infidelity", "PGI", "PGU", "asks a row", "asks in fit", "fit, s", "10,000 rows, s"]
    rows = []
    for method in lines.methods():
        mine = lines.select(method)
        if not mine:
            continue
        figures = [mean(mine, "r2", least=0.0), median(mine, "r2"), median(mine, "r2_scaled")]
        figures += [mean(mine, name) for name in ("correlation", "top3", "infidelity", "pgi", "pgu")]
        costs = [count(median_queries(mine)), count(median(mine, "fit_asks"))]
        costs += [seconds(median(mine, "fit_s")), seconds(median_seconds(mine))]
        rows.append((method, str(len(mine)), *map(number, figures), *costs))
    title = f"Contributions against Shapley values: {SPLIT_NAMES[split]}"
    means = "Costs are medians over cells; in the mean, an R² below 0 counts 0."
    return Table("truth", title, tuple(head), tuple(rows), (EXPLAINED, means, *lines.failures()))


def cells(lines: Lines) -> Table:
    shown = [name for name in CELL_METHODS if lines.select(name)]
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
    return _mean_and_worst(
        lines,
        "truth-null",
        f"Contributions of random features that the model never sees: {SPLIT_NAMES[split]}",
        {"null_number": "a number", "null_category": "a category"},
        "Mean size of the contribution as a share of the strongest feature's; 0 is right.",
    )


def agreement(lines: Lines, split: str) -> Table:
    return _mean_and_worst(
        lines,
        "truth-seeds",
        f"Two fits with different seeds: {SPLIT_NAMES[split]}",
        {"cosine": "cosine", "difference": "difference"},
        "Cosine: of a row's contributions, mean over rows; 1 is the same. Difference: squared, as a share of "
        "the variance; 0 is the same.",
        low_is_worst="cosine",
    )


def coverage(lines: Lines, split: str) -> Table:
    kept = {key: line for key, line in lines.found.items() if line.get("coverage") is not None}
    return _mean_and_worst(
        Lines(kept),
        "truth-coverage",
        f"Share of 95 % intervals that hold the Shapley value: {SPLIT_NAMES[split]}",
        {"coverage": "coverage"},
        "Intervals are 1.96 standard errors to either side; .950 is right.",
        low_is_worst="coverage",
    )


def _mean_and_worst(
    lines: Lines, name: str, title: str, columns: dict[str, str], about: str, low_is_worst: str = ""
) -> Table:
    head = ["method", "cells"]
    for words in columns.values():
        head += [f"{words}, mean", f"{words}, worst"]
    rows = []
    for method in lines.methods():
        if not (mine := lines.select(method)):
            continue
        row = [method, str(len(mine))]
        for column in columns:
            worst = figures_of(mine, column)
            worst = worst.min() if column == low_is_worst else worst.max()
            row += [number(mean(mine, column)), number(float(worst))]
        rows.append(tuple(row))
    return Table(name, title, tuple(head), tuple(rows), (about, *lines.failures()))


def draw(results: Path, out: Path, split: str) -> list[Path]:
    """Draw the error against seconds and queries, and return the paths."""
    lines = Lines.read(results, "contributions", split)
    if not lines:
        print("truth: nothing was measured, no figure drawn")
        return []
    pairs = ((name, picture(lines, cost, words)) for name, (cost, words) in PICTURES.items())
    return [path for name, figure in pairs for path in save_figure(figure, out / name)]


def picture(lines: Lines, cost: Callable[[list[Line]], float], words: str) -> Figure:
    """Draw the median of 1 - R² against a cost, a panel for each family of models."""
    there = {model for _, model in lines.cases()}
    panels = {name: models for name, models in PANELS.items() if there & set(models)}
    figure = canvas(4.2 * len(panels) + 0.6, 5.4)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    drawn: dict[str, Any] = {}
    for ax, (name, models) in zip(axes, panels.items(), strict=True):
        for series in SERIES:
            points = curve(lines, series, models, cost)
            if points:
                size = 9 if series.marker == "*" else 6
                style: dict[str, Any] = {"color": series.colour, "marker": series.marker}
                style |= {"markersize": size, "linewidth": series.width}
                drawn[series.name] = ax.plot(*zip(*points, strict=True), **style)[0]
        n_cases = sum(model in models for _, model in lines.cases())
        title = f"{name}, {n_cases} {'cell' if n_cases == 1 else 'cells'}"
        label_axes(ax, title, words, "", log=True)
        ax.set_ylim(SMALLEST, LARGEST)
    axes[0].set_ylabel("1 − R² against Shapley values, median", fontsize=9)
    figure.legend(
        drawn.values(), drawn.keys(), loc="outside lower center", ncols=4, fontsize=8, frameon=False
    )
    return figure


def curve(
    lines: Lines, series: Series, models: tuple[str, ...], cost: Callable[[list[Line]], float]
) -> list[tuple[float, float]]:
    """Return costs and errors of a series, the cheapest first; what costs nothing cannot be drawn."""
    found = set()
    for method in series.methods:
        mine = lines.select(method, models)
        if mine and cost(mine) > 0:
            error = float(np.clip(1 - median(mine, "r2"), SMALLEST, LARGEST))
            found.add((cost(mine), error))
    return sorted(found)


PICTURES: dict[str, tuple[Callable[[list[Line]], float], str]] = {
    "truth-seconds": (median_seconds, "seconds for 10,000 rows, fit included, median"),
    "truth-asks": (median_queries, "asks a row, those of the fit shared by 10,000 rows, median"),
}
