"""The tables of the paper with our figures beside the printed ones, and further tables."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.data import PROTOCOLS
from benchmarks.evaluation import paper, selection
from benchmarks.evaluation.paper import Column, Panel, Table
from benchmarks.markup import Figure, Grid, grid_text, number, seconds, write_csv

ILLUME = Column("illume", "illume")
# the gradient of a synthetic black box at the row; the truth is its gradient at the decision boundary
GRADIENT = Column("gradient at the row", "gradient")
# the rules of the tree, not polished for precision
UNPOLISHED = Column("illume, unpolished", "illume")
ATTRIBUTIONS = tuple(map(Column.parse, ("illume", "ill", "lin", "inp", "lime", "shap")))
RULES = (ILLUME, UNPOLISHED, *map(Column.parse, ("ill", "lin", "inp", "lore", "anchor")))
STEADY = (*("robustness", "robustness_first", "global_robustness", "faithfulness", "faithfulness_one_class"),)
# slopes are checked on jittered rows, contributions on masked ones
ATTRIBUTION_METRICS = {
    "slopes": (*STEADY, "local_fidelity", "pgi", "pgu"),
    "contributions": (*STEADY, "infidelity", "pgi", "pgu"),
}
RULE_METRICS = (
    *("precision", "coverage", "length", "robustness", "robustness_first", "faithfulness", "cplt"),
)
SAME_ROWS = (
    "Robustness grows with the number of explained rows, since neighbours are nearer: methods that explain "
    "fewer rows compare by `robustness first`, on the first 100 test rows (rules: 30) for all."
)
ONE_CLASS = (
    "`faithfulness` is of explanations of each row's decided class, whose sign differs between decisions: a "
    "constant vector times that sign scores high. In `faithfulness one class` all rows are explained for the "
    "same class, and constant explanations score 0."
)
MEANING = {
    "clean": "Protocol clean: test rows are used for nothing but the figures; of a method's settings the one "
    "whose surrogate agrees most with the black box on validation rows is shown. Methods without a surrogate "
    "are shown with the most samples, or else by the mean over their settings.",
    "paper": "Protocol paper: as published; of a method's settings, and in summaries of the black boxes too, "
    "the one with the best figure on the test rows is shown.",
}
MIXED = {
    "clean": "The paper's own figures beside ours mix both kinds: slopes of ill and lime, contributions of "
    "lin, inp and shap.",
    "paper": "As in the paper, slopes of ill and lime (and of illume) stand beside contributions of lin, inp "
    "and shap.",
}
BRACKETS = "A number in square brackets says of how many cells a mean is, where other columns have more."
NOT_THEIRS = {"slopes": "shap", "contributions": "lime"}  # kinds that a method does not have


@dataclass(frozen=True)
class Sheet:
    """A table of one protocol."""

    name: str
    protocol: str
    caption: str
    grids: tuple[Grid, ...]
    notes: tuple[str, ...]

    @property
    def has_figures(self) -> bool:
        return any(grid.has_figures for grid in self.grids)

    def text(self, level: int = 2) -> str:
        parts = [f"{'#' * level} {self.caption} (protocol {self.protocol})"]
        for grid in self.grids:
            parts += [f"**{grid.title}**"] * (grid.title != self.caption) + [grid_text(grid)]
        brackets = [BRACKETS] if any(" [" in part for part in parts) else []
        return "\n\n".join([*parts, *self.notes, *brackets]) + "\n"


def write(results: Path, out: Path, protocols: Sequence[str] = PROTOCOLS) -> list[Path]:
    """Write `<table>-<protocol>.md` and `.csv` for each table with figures and return their paths."""
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for sheet in sheets(selection.read(results), protocols):
        if not sheet.has_figures:
            print(f"{sheet.name} ({sheet.protocol}): no cell was run, no table written")
            continue
        path = out / f"{sheet.name}-{sheet.protocol}.md"
        path.write_text(sheet.text())
        write_csv(sheet.grids, path.with_suffix(".csv"))
        written += [path, path.with_suffix(".csv")]
    return written


def sheets(lines: pd.DataFrame, protocols: Sequence[str] = PROTOCOLS) -> list[Sheet]:
    """Return all tables of the protocols, also those without figures."""
    cells = selection.cells(lines)
    return [sheet for protocol in protocols for sheet in _protocol(lines, cells, protocol)]


def _protocol(lines: pd.DataFrame, cells: pd.DataFrame, protocol: str) -> Iterator[Sheet]:
    for table in paper.tables().values():
        grids = tuple(_grid(cells, protocol, table, panel, kind) for panel, kind in parts(table, protocol))
        columns = {column for panel in table.panels for column in (*_own(panel), *panel.columns)}
        behind = lines[_behind(lines, table, protocol)]
        said = notes(behind, columns, protocol, mixed=any("*" in panel.metric for panel in table.panels))
        if table.name == "rq4-times":
            said += (machines(behind, columns),)
        yield Sheet(table.name, protocol, table.caption, grids, (*said, *filter(None, [table.note])))
    yield _data(lines, protocol)
    if protocol == "clean":
        yield from _extra(lines, cells)


def parts(table: Table, protocol: str) -> Iterator[tuple[Panel, str]]:
    """Yield the panels of a protocol, each with the kind of attribution it shows."""
    for panel in table.panels:
        if table.name == "rq2-fi" and protocol == "paper":
            # PAPER: the published truth is the gradient at another row, near the boundary
            yield (
                replace(panel, title=f"{panel.title}, published truth", metric="lr.*.cs_published"),
                "native",
            )
        apart = "*" in panel.metric and protocol == "clean"
        for kind in ("slopes", "contributions") if apart else ("native",):
            yield panel, kind


def _behind(lines: pd.DataFrame, table: Table, protocol: str) -> pd.Series:
    panel = table.panels[0]
    boxes = {panel.black_box for panel in table.panels} - {""}
    rows = (lines["protocol"] == protocol) & lines["data"].isin(data_names(lines, panel))
    return rows & lines["black_box"].isin(boxes) if boxes else rows


def data_names(frame: pd.DataFrame, panel: Panel) -> set[str]:
    """Return which data sets of a frame a panel is about."""
    names = set(frame["data"])
    if "best" in panel.rows:
        return names & set(paper.data())
    if "4+0" in panel.rows:
        kind = "seneca-rb" if panel.metric.startswith("dt.") else "seneca-rc"
        return {name for name in names if selection.family(name) == kind}
    return names & set(panel.rows)


def _grid(cells: pd.DataFrame, protocol: str, table: Table, panel: Panel, kind: str) -> Grid:
    mine = cells[cells["data"].isin(data_names(cells, panel))]
    if panel.black_box:
        mine = mine[mine["black_box"] == panel.black_box]
    columns = [c for c in (*_own(panel), *panel.columns) if c.method != NOT_THEIRS.get(kind)]
    ours = {column.label: _figures(mine, protocol, panel, column, kind) for column in columns}
    theirs = {column.label: _printed(panel, j) for j, column in enumerate(panel.columns) if panel.values.size}
    summary = panel.rows == ("best", "mad")
    cases = ("chosen", "mad") if summary and protocol == "clean" else panel.rows
    times = panel.metric.startswith("times.")  # of several machines, so they are not ranked
    lower = (None if times else selection.lower_is_better(panel.metric),) * len(cases)
    title = panel.title if kind == "native" else f"{panel.title} of {kind}"
    if kind == "contributions" and panel.metric == "lr.*.cs" and "4+0" in cases:
        title += ", judged by the same gradients (unlike kinds)"
    write = seconds if times else number
    beside = frozenset({GRADIENT.label})
    return Grid(title, cases, ours, theirs, lower, table.methods_down, summary, beside=beside, write=write)


def _own(panel: Panel) -> tuple[Column, ...]:
    """Return the columns of a panel that the paper does not have."""
    if panel.metric.startswith("space."):  # the library's default makes no claim about its latents
        return ()
    if panel.metric.startswith("dt.rules."):
        return ILLUME, UNPOLISHED
    return (ILLUME, GRADIENT) if panel.metric.startswith("lr.*.cs") and "4+0" in panel.rows else (ILLUME,)


def _metric(column: Column, metric: str) -> str:
    return metric.replace("dt.rules.", "dt.raw_rules.") if column is UNPOLISHED else metric


def _printed(panel: Panel, j: int) -> list[Figure]:
    columns = (panel.values[:, j], panel.accuracy[:, j], panel.spread[:, j])
    return [Figure(*map(float, figures)) for figures in zip(*columns, strict=True)]


def _figures(cells: pd.DataFrame, protocol: str, panel: Panel, column: Column, kind: str) -> list[Figure]:
    metric = _metric(column, selection.metric_name(panel.metric, column.method, kind))
    mine = selection.column_cells(cells, protocol, column, metric)
    if not len(mine):
        return [Figure()] * len(panel.rows)
    # times are those of the most correct explanations
    by = selection.metric_name("lr.*.cs", column.method, "native") if metric.startswith("times.") else ""
    chosen = selection.choose(mine, protocol, metric, by)
    if panel.rows == ("best", "mad"):
        best = selection.per_data(chosen, protocol, metric).mean()
        deviation = selection.mad(mine, metric)
        return [Figure(float(best), count=len(chosen)), Figure(deviation, count=len(mine["data"].unique()))]
    if protocol == "paper":
        chosen = selection.best_boxes(chosen, metric)
    accuracy = not np.isnan(panel.accuracy).all() or not panel.values.size
    return _by_case(chosen, panel.rows, accuracy=accuracy, spread=not np.isnan(panel.spread).all())


def _by_case(chosen: pd.DataFrame, cases: Sequence[str], *, accuracy: bool, spread: bool) -> list[Figure]:
    """Average chosen cells over the problems of a size, or take a data set's own."""
    names = chosen.index.get_level_values("data").map(lambda name: selection.size(name) or name)
    found: dict[str, list[list[float]]] = {}
    for name, *row in zip(names, chosen["value"], chosen["accuracy"], chosen["spread"], strict=True):
        found.setdefault(name, []).append(row)
    figures = []
    for case in cases:
        if case not in found:
            figures.append(Figure())
            continue
        value, share, deviation = np.mean(found[case], axis=0).tolist()
        percent = 100 * share if accuracy else math.nan
        figures.append(Figure(value, percent, deviation if spread else math.nan, len(found[case])))
    return figures


def _data(lines: pd.DataFrame, protocol: str) -> Sheet:
    boxes = ("xgb", "lgb", "ctb")
    rows = lines[(lines["protocol"] == protocol) & lines["data"].isin(paper.data())]
    found = rows.groupby(["data", "black_box"])["black_box.f1"].mean() if "black_box.f1" in rows else {}
    names = tuple(paper.data())
    columns = ("n", "m", "h", "c", "maj", "min", *boxes)
    printed = {column: [Figure(paper.data()[name][column]) for name in names] for column in columns}
    ours = {box: [Figure(float(found.get((name, box), math.nan))) for name in names] for box in boxes}
    grid = Grid("Macro-F1 of the black boxes", names, ours, printed, (None,) * len(names), case_name="data")
    said = notes(rows, set(), protocol)
    return Sheet("data", protocol, "Data sets and black boxes", (grid,), said)


def _extra(lines: pd.DataFrame, cells: pd.DataFrame) -> Iterator[Sheet]:
    """Yield the clean tables that the paper lacks: means over real data sets, a line per method."""
    for kind, metrics in ATTRIBUTION_METRICS.items():
        names = [f"lr.{kind}.{name}" for name in metrics] + ["lr.agreement"]
        caption = f"Quality of {kind}, real data"
        columns = tuple(column for column in ATTRIBUTIONS if column.method != NOT_THEIRS[kind])
        yield _overview(lines, cells, kind, caption=caption, metrics=names, columns=columns)
    names = [f"dt.rules.{name}" for name in RULE_METRICS]
    caption = "Quality of rules, real data (cplt: SENECA-RB)"
    yield _overview(lines, cells, "rules", caption=caption, metrics=names, columns=RULES)


def _overview(
    lines: pd.DataFrame,
    cells: pd.DataFrame,
    name: str,
    *,
    caption: str,
    metrics: list[str],
    columns: tuple[Column, ...],
) -> Sheet:
    families = cells["data"].map(selection.family)

    def mean(column: Column, metric: str) -> Figure:
        kind = "seneca-rb" if metric.endswith(".cplt") else "real"
        mine, metric = cells[families == kind], _metric(column, metric)
        found = selection.column_cells(mine, "clean", column, metric)
        if not len(found):
            return Figure()
        chosen = selection.choose(found, "clean", metric)
        return Figure(float(selection.per_data(chosen, "clean", metric).mean()), count=len(chosen))

    ours = {column.label: [mean(column, metric) for metric in metrics] for column in columns}
    cases = tuple(metric.rsplit(".", 1)[-1].replace("_", " ") for metric in metrics)
    lower = tuple(
        None if metric.endswith(".length") else selection.lower_is_better(metric) for metric in metrics
    )
    wanted = {"real", "seneca-rb"} if name == "rules" else {"real"}
    behind = lines[(lines["protocol"] == "clean") & lines["data"].map(selection.family).isin(wanted)]
    arrows = {
        "slopes": f"More is better, but of pgu. {SAME_ROWS} {ONE_CLASS}",
        "contributions": f"More is better, but of infidelity and pgu. {SAME_ROWS} {ONE_CLASS}",
        "rules": f"More is better, but length, which is not ranked. {SAME_ROWS}",
    }[name]
    grid = Grid(caption, cases, ours, lower=lower, methods_down=True)
    return Sheet(name, "clean", caption, (grid,), (*notes(behind, set(columns), "clean"), arrows))


def notes(
    lines: pd.DataFrame, columns: Collection[Column], protocol: str, mixed: bool = False
) -> tuple[str, ...]:
    """Describe the protocol of a table and the cells behind it; without columns, all lines."""
    if columns:
        taken = pd.Series(False, index=lines.index)
        for column in columns:
            taken |= selection.in_column(lines, column)
        lines = lines[taken]
    good, failed = lines[lines["error"].isna()], lines[lines["error"].notna()]
    sentences = [_count(good), _fewer(good), _failed(failed)]
    said = [MEANING[protocol], *([MIXED[protocol]] if mixed else []), " ".join(filter(None, sentences))]
    return tuple(said)


def machines(lines: pd.DataFrame, columns: Collection[Column]) -> str:
    """Name the machine on which each method was timed."""
    found: dict[str, list[str]] = {}
    for column in sorted(columns, key=lambda column: column.label):
        rows = lines[selection.in_column(lines, column) & lines["error"].isna()]
        for machine in sorted(set(rows.get("machine", []))):
            found.setdefault(machine, []).append(column.label)
    parts = [f"{', '.join(sorted(labels))}: {machine}" for machine, labels in found.items()]
    return f"Machines, used by several runs at once: {'; '.join(parts)}. Nothing is ranked across them."


def _count(good: pd.DataFrame) -> str:
    if not len(good):
        return "No cell stands behind this table."
    settings = len(good[selection.CELL].drop_duplicates())
    seeds = ", ".join(str(seed) for seed in sorted(good["seed"].dropna().unique()))
    boxes = ", ".join(sorted(good["black_box"].dropna().unique()))
    sets = good["data"].nunique()
    return f"{settings:,} cells on {sets} data sets (black boxes: {boxes}); seeds: {seeds}."


def rows_to_explain(data: str) -> float:
    """Return the number of test rows: 1,024 for SENECA, else a fifth of all rows.

    >>> rows_to_explain("seneca-rc-4+0-1"), rows_to_explain("ssin-2c"), rows_to_explain("home")
    (1024, 200, 99)
    """
    if selection.size(data):
        return 1024
    rows = paper.data().get(data, {"n": 1000})["n"]
    return math.ceil(rows / 5)


def _fewer(good: pd.DataFrame) -> str:
    """Name methods that explained only part of the test rows."""
    whole = good["data"].map(rows_to_explain)
    short = good[pd.to_numeric(good["rows"]) < whole] if len(good) else good
    parts = []
    for method, rows in short.groupby("method")["rows"]:
        low, high = int(rows.min()), int(rows.max())
        parts.append(f"{method} {low if low == high else f'{low} to {high}'} ({len(rows)} runs)")
    return f"Fewer than all test rows explained: {', '.join(parts)}." if parts else ""


def _failed(failed: pd.DataFrame) -> str:
    if not len(failed):
        return ""
    message = failed["error"].str.split("\n").str[0].str.slice(0, 120).str.replace("`", "'")
    counts = failed.assign(message=message).groupby(["method", "message"]).size()
    parts = [f"{method} {count} × `{text}`" for (method, text), count in counts.items()]
    return f"Failed: {len(failed)} ({'; '.join(parts)})."
