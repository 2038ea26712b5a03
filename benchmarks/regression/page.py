"""Tables of regression, from result lines alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.harness import RESULTS, ROOT, Line, latest
from benchmarks.markup import MISSING, Table, count, number, seconds, write_tables
from benchmarks.regression.case import MODELS
from benchmarks.regression.cells import NAMES, SETTINGS
from benchmarks.regression.data import SOURCES, SPLITS
from benchmarks.regression.rules import LEAVES

SPLIT_NAMES = {
    "development": "data sets that settings may be chosen on",
    "heldout": "data sets that no setting was chosen on",
    "all": "all data sets",
}
ROWS_OF = {
    "trained": "explainer fitted on the model's training rows",
    "fresh": "explainer fitted on rows that the model has not seen",
}
ABOUT = (
    "Written from `benchmarks/results/regression.jsonl` by `python -m benchmarks regression-page` too, which "
    "also shows the data sets for development. XGBoost, a random forest and a multi-layer perceptron are "
    "fitted on three quarters of the rows; illume explains the other rows with its defaults, or with the "
    "effort that a table names."
)
CONTRIBUTIONS = (
    "R² of contributions against interventional Shapley values of the prediction, in its units (`rentals- "
    "log`: of its logarithm), over the same 500 background rows; the reference is exact (trees, "
    "enumeration) or walks, whose noise is removed by products of their halves. `+16`: with `refine=16`. "
    "Surrogate: R² of its predictions on all test rows; stated: what `quality_` says. Sum: largest "
    "distance between a prediction and base value plus contributions, in standard deviations."
)
RULES = (
    "Inside: share of the test rows that a rule covers, other than its own, whose prediction lies in its "
    "interval; mean over the rules of test rows, then over splits (± standard error); .900 is right. "
    "Width: of the interval, in standard deviations of the predictions. Covers: share of the test rows. "
    "Tree: a regression tree on the inputs, fitted to the same predictions, with conformal leaves and as "
    "many leaves as bring its coverage nearest to ours."
)
FRESH = (
    "A model that knows its training rows by heart answers them more widely spread than new rows, and "
    "intervals that are right for those rows cover more than 90 % of new ones, the tree's as well as "
    "ours. The table of fresh rows has explainers fitted on rows that the model was not."
)
COUNTERFACTUALS = (
    "One example for each test row outside the desired range, which holds 10 % (upper) or 5 % (lower) of "
    "the predictions. Found and in range: of up to 500 rows; changes: median number of changed features; "
    "both: their mean for the rows for which both found an example. "
    "DiCE: the first 30 rows, or as many as 20 seconds allow; times as fast: both on these rows, and "
    "illume on up to 500 rows at once against DiCE, which takes rows one by one; from one run."
)
SPEED = (
    "10,000 rows of the data set `additive` with 30 features, the model's time included. Tree: "
    "TreeExplainer, path dependent; interventional tree and permutation: with 100 background rows, on as "
    "many rows as fit into 20 seconds. In brackets: with the time of illume's fit, shared by 10,000 rows."
)


def regression_page(
    split: Literal["development", "heldout", "all"] = "heldout",
    results: Path = RESULTS,
    out: Path = ROOT / "docs",
) -> int:
    """Write the tables of regression."""
    print(*write_tables(tables(results, split), out / "tables"), sep="\n")
    return 0


def section(results: Path) -> list[str]:
    """Return the part of the page of results, if anything was measured."""
    found = tables(results)
    if not found:
        return []
    lines = [line for line in latest(results / "regression.jsonl", NAMES) if line["error"] is None]
    origin = ", ".join(sorted({line["commit"] for line in lines}))
    machines = "; ".join(sorted({line["machine"] for line in lines}))
    about = f"{ABOUT} Commits: {origin}. Machines: {machines}."
    return ["## Models that answer with a number", about, *(table.text(level=3) for table in found)]


def tables(results: Path, split: str = "heldout") -> list[Table]:
    """Return the tables that have rows."""
    lines = latest(results / "regression.jsonl", NAMES)
    mine = [line for line in lines if line["data"] in SPLITS[split]]
    found = [contributions(mine, split), *(rules(mine, split, name) for name in SETTINGS["rules"])]
    found += [counterfactuals(mine, split), shap_speed(lines), throughput(lines), outputs(lines)]
    return [table for table in found if table.rows]


def select(lines: Iterable[Line], part: str, **settings: object) -> list[Line]:
    """Return the measured lines of a part."""
    wanted = {"part": part, "error": None} | settings
    return [line for line in lines if all(line.get(name) == value for name, value in wanted.items())]


def cases(lines: Iterable[Line]) -> list[tuple[str, str]]:
    """Return data sets and models with lines, in the order of the plan."""
    there = {(line["data"], line["model"]) for line in lines}
    order = SPLITS["all"]
    return sorted(there, key=lambda case: (order.index(case[0]), MODELS.index(case[1])))


def mean(lines: Iterable[Line], name: str) -> float:
    found = [line[name] for line in lines if line.get(name) is not None]
    return float(np.mean(found)) if found else float("nan")


def failures(lines: Iterable[Line], part: str) -> tuple[str, ...]:
    """Return a sentence on what could not be measured, if anything."""
    found = [line for line in lines if line["part"] == part and line["error"]]
    words = [
        f"{line['data']} {line['model']} {line['seed']} {line['setting']}: {line['error']}" for line in found
    ]
    return (f"Not measured: {'; '.join(words)}.",) if words else ()


def contributions(lines: list[Line], split: str) -> Table:
    measured = select(lines, "contributions")
    rows, every = [], []
    for data, model in cases(measured):
        mine = {
            name: select(measured, "contributions", data=data, model=model, setting=name)
            for name in SETTINGS["contributions"]
        }
        plain = mine["illume"]
        figures = [mean(each, "r2_unbiased") for each in mine.values()]
        figures += [mean(plain, name) for name in ("correlation", "top3", "surrogate_r2", "stated_r2")]
        every.append(figures)
        noise, fit = number(mean(plain, "reference_noise")), seconds(mean(plain, "fit_s"))
        facts = (plain[0]["reference"], noise) if plain else (MISSING, MISSING)
        row = (f"{data}, {model}", number(mean(plain, "model_r2")), *facts, *map(number, figures))
        rows.append((*row, number(mean(plain, "sum_error")), fit))
    for name, summary in (("mean", np.nanmean), ("lowest", np.nanmin)):
        if every:
            values = (number(float(value)) for value in summary(np.array(every), axis=0))
            rows.append((f"**{name}**", *[""] * 3, *values, "", ""))
    head = (
        "data, model",
        "model's R²",
        "reference",
        "its noise",
        "R²",
        "R² +16",
        "R² +64",
        "correlation",
        "top 3",
    )
    head += ("surrogate", "stated", "sum", "fit, s")
    title = f"Regression, contributions against Shapley values: {SPLIT_NAMES[split]}"
    notes = (CONTRIBUTIONS, *failures(lines, "contributions"))
    return Table("regression-contributions", title, head, tuple(rows), notes)


def rules(lines: list[Line], split: str, setting: str) -> Table:
    measured = select(lines, "rules", setting=setting)
    measured = [line for line in measured if SOURCES[line["data"]].link == "identity"]  # else the same rules
    rows, every = [], []
    names = ("relative_width", "coverage", "conditions")
    for data, model in cases(measured):
        mine = select(measured, "rules", data=data, model=model)
        inside = np.array([line["interval_coverage"] for line in mine])
        error = f" ± {number(float(inside.std(ddof=1) / np.sqrt(len(inside))))}" if len(inside) > 1 else ""
        ours = [mean(mine, name) for name in ("interval_coverage", "stated_coverage", *names)]
        theirs = [mean(mine, f"tree_{name}") for name in ("interval_coverage", *names)]
        ratio = mean(mine, "relative_width") / mean(mine, "tree_relative_width")
        usual = [mean(mine, f"tree{leaves}_relative_width") for leaves in LEAVES]
        every.append([*ours, *theirs, ratio, *usual])
        texts = [number(value) for value in every[-1]]
        rows.append((f"{data}, {model}", str(len(mine)), texts[0] + error, *texts[1:]))
    if every:
        rows.append(
            ("**mean**", "", *(number(float(value)) for value in np.nanmean(np.array(every), axis=0)))
        )
    head = ("data, model", "splits", "inside", "stated", "width", "covers", "conditions", "tree: inside")
    head += ("tree: width", "tree: covers", "tree: conditions", "width ÷ tree's")
    head += tuple(f"width, {leaves} leaves" for leaves in LEAVES)
    title = f"Regression, rules beside a tree, {ROWS_OF[setting]}: {SPLIT_NAMES[split]}"
    efforts = " and ".join(sorted({line["effort"] for line in measured}))
    notes = (
        RULES,
        f"Effort of the fits: {efforts}.",
        FRESH,
        *failures([line for line in lines if line["setting"] == setting], "rules"),
    )
    return Table(f"regression-rules-{setting}", title, head, tuple(rows), notes)


def counterfactuals(lines: list[Line], split: str) -> Table:
    measured = select(lines, "counterfactuals")
    rows, every = [], []
    for data, model in cases(measured):
        for name in SETTINGS["counterfactuals"]:
            mine = select(measured, "counterfactuals", data=data, model=model, setting=name)
            if not mine:
                continue
            figures = ["found", "in_range", "median_changes", "compared_median_changes"]
            for method in ("random", "genetic"):
                figures += [
                    f"{method}_{each}"
                    for each in ("found", "in_range", "median_changes", "both_ours", "both_theirs")
                ]
            values = [mean(mine, each) for each in figures]
            rates = [mean(mine, "rows_per_second")]
            for method in ("random", "genetic"):
                rates.append(mean(mine, f"{method}_times_as_fast"))
                rates.append(rates[0] / mean(mine, f"{method}_rows_per_second"))
            every.append([*values, *rates])
            rows.append((f"{data}, {model}, {name}", *map(number, values), *map(count, rates)))
    if every:
        values = np.nanmean(np.array(every), axis=0)
        rows.append(
            ("**mean**", *(number(float(value)) for value in values[:-5]), *(map(count, values[-5:])))
        )
    head = ("data, model, range", "found", "in range", "changes", "changes, first 30")
    for method in ("random", "genetic"):
        head += (f"DiCE {method}: found", "in range", "changes", "both: ours", "both: DiCE's")
    head += ("rows/s", "times random's", "of 500 rows", "times genetic's", "of 500 rows")
    title = f"Regression, counterfactuals beside DiCE: {SPLIT_NAMES[split]}"
    notes = (COUNTERFACTUALS, *failures(lines, "counterfactuals"))
    return Table("regression-counterfactuals", title, head, tuple(rows), notes)


def shap_speed(lines: list[Line]) -> Table:
    rows = []
    names = ("tree", "interventional_tree", "permutation")
    for line in select(lines, "speed"):
        row = [line["model"], count(line["illume_rows_per_second"])]
        for name in names:
            if f"times_{name}" in line:
                times = f"{count(line[f'times_{name}'])} ({count(line[f'times_{name}_with_fit'])})"
                row += [count(line[f"{name}_rows_per_second"]), times]
            else:
                row += [MISSING, MISSING]
        rows.append(tuple(row))
    head = ["model", "illume, rows/s"]
    for name in names:
        head += [f"{name.replace('_', ' ')}, rows/s", "times as fast"]
    notes = (SPEED, *failures(lines, "speed"))
    return Table("regression-speed", "Regression, speed beside shap", tuple(head), tuple(rows), notes)


def throughput(lines: list[Line]) -> Table:
    names = ("unrefined", "refined", "eager", "streamed")
    rows = [
        (
            str(line["threads"]),
            *(count(line[f"{name}_rows_per_second"]) for name in names),
            number(line["single_row_ms"]),
        )
        for line in select(lines, "throughput")
    ]
    head = ("threads", *(f"{name}, rows/s" for name in names), "one row, ms")
    about = "1,000,000 rows of 30 features from a NumPy array, without the model's time, as in `throughput`."
    title = "Regression, attributions a second"
    return Table("regression-throughput", title, head, tuple(rows), (about, *failures(lines, "throughput")))


def outputs(lines: list[Line]) -> Table:
    rows = [
        (
            line["data"],
            line["model"],
            str(line["n_outputs"]),
            number(line["r2_unbiased"]),
            number(line["sum_error"]),
        )
        for line in select(lines, "outputs")
    ]
    head = ("data", "model", "outputs", "R² of contributions", "sum")
    about = "Shapley values by enumeration; R² over all outputs, each in its standard deviations."
    title = "Regression, several outputs"
    return Table("regression-outputs", title, head, tuple(rows), (about, *failures(lines, "outputs")))
