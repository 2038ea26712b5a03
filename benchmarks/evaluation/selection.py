"""Read result lines, and choose among the settings of a method as each protocol does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import harness
from benchmarks.evaluation.paper import Column
from benchmarks.evaluation.plans import NAMES

CELL = ["protocol", "data", "black_box", "method", "setting"]
PLACE = ["data", "black_box"]
OPTIONS = ("objective", "variant", "k", "samples", "train_rows")
LOWER = ("infidelity", "pgu", "row_s", "fit_s")  # metrics where less is better
SLOPES = ("gradient", "illume", "paper", "lime")  # the paper scores their slopes, and contributions of others
SENECA = re.compile(r"seneca-(?P<kind>r[cb])-(?P<size>\d+\+\d+)-(?P<problem>\d+)")


def read(results: Path) -> pd.DataFrame:
    """Return a row for each cell, failed ones too, from its last line."""
    files = sorted((results / "cells").glob("*.jsonl"))
    lines = {harness.key(line, NAMES): line for file in files for line in harness.read(file)}
    rows = [_row(line) for line in lines.values()]
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=[*CELL, *OPTIONS, "seed", "error", "rows"])


def _row(line: dict[str, Any]) -> dict[str, Any]:
    setting, times = line.get("setting") or {}, line.get("times") or {}
    row = {name: line.get(name) for name in ("protocol", "data", "black_box", "method", "seed", "error")}
    row |= {name: str(line.get(name) or "") for name in ("machine", "commit", "time")}
    row |= {"setting": json.dumps(setting, sort_keys=True)} | {name: setting.get(name) for name in OPTIONS}
    row["variant"] = setting.get("variant") or ""
    row |= {"rows": times.get("rows"), "times.fit_s": times.get("fit_s")}
    row["cell_s"] = times.get("cell_s") or sum(times.get(name) or 0.0 for name in ("fit_s", "explain_s"))
    if times.get("rows") and times.get("explain_s") is not None:
        row["times.row_s"] = times["explain_s"] / times["rows"]
    return row if line.get("error") else row | (line.get("metrics") or {})


def cells(lines: pd.DataFrame) -> pd.DataFrame:
    """Average each cell over its `seeds`; `<metric>±` is the standard deviation."""
    good = lines[lines["error"].isna()]
    measured = [name for name in lines.columns if "." in name]
    # the order of the settings breaks ties: small k first
    good = good.assign(k=pd.to_numeric(good["k"]), samples=pd.to_numeric(good["samples"]))
    grouped = good.groupby(CELL, dropna=False, sort=False)
    mean = grouped[[*measured, "k", "samples"]].mean()
    spread = grouped[measured].std().add_suffix("±")
    others = grouped[["objective", "variant", "train_rows"]].first()
    frame = pd.concat([mean, spread, others, grouped["seed"].nunique().rename("seeds")], axis=1)
    return frame.reset_index().sort_values(
        ["data", "black_box", "k", "samples", "setting"], ignore_index=True
    )


def metric_name(metric: str, method: str, kind: str) -> str:
    """Replace the star in a metric's name; kind "native" is what the paper scores for a method.

    >>> metric_name("lr.*.cs", "lime", "native"), metric_name("lr.*.cs", "shap", "native")
    ('lr.slopes.cs', 'lr.contributions.cs')
    """
    native = "slopes" if method in SLOPES else "contributions"
    return metric.replace("*", native if kind == "native" else kind)


def lower_is_better(metric: str) -> bool:
    return metric.rsplit(".", 1)[-1] in LOWER


def family(data: str) -> str:
    """Return the family of a data set's name.

    >>> family("seneca-rb-4+0-0"), family("int2-8p"), family("breast")
    ('seneca-rb', 'rankings', 'real')
    """
    if found := SENECA.fullmatch(data):
        return f"seneca-{found['kind']}"
    return "rankings" if data.startswith(("ssin", "int2")) else "real"


def size(data: str) -> str:
    """Return the input size in a SENECA name, informative + uninformative; "" for other names.

    >>> size("seneca-rb-16+48-2")
    '16+48'
    """
    found = SENECA.fullmatch(data)
    return found["size"] if found else ""


def in_column(frame: pd.DataFrame, column: Column) -> pd.Series:
    """Return which rows belong to a column of a table; cells with fewer training rows never do."""
    rows = (
        (frame["method"] == column.method) & (frame["variant"] == column.variant) & frame["train_rows"].isna()
    )
    return rows if column.objective is None else rows & (frame["objective"] == column.objective)


def column_cells(cells: pd.DataFrame, protocol: str, column: Column, metric: str) -> pd.DataFrame:
    """Return the cells of a column that have a metric."""
    if metric not in cells.columns:
        return cells.iloc[:0]
    rows = (cells["protocol"] == protocol) & in_column(cells, column) & cells[metric].notna()
    return cells[rows]


def choose(cells: pd.DataFrame, protocol: str, metric: str, by: str = "") -> pd.DataFrame:
    """Keep one setting per data set and black box, indexed by these: value, spread, accuracy, setting.

    Protocol "paper" takes the best by the metric itself (or by the metric `by`) on the reported rows.
    Protocol "clean" takes the setting with the best agreement on validation rows; without such a figure, the
    setting with the most samples; without samples, the mean over settings.
    """
    surrogate = "dt" if metric.startswith("dt.") else "lr"
    sources = {"value": metric, "spread": f"{metric}±", "accuracy": f"{surrogate}.agreement"}
    sources |= {"by": by or metric, "validation": f"{surrogate}.validation"}
    frame = cells[["data", "black_box", "samples", "setting"]].copy()
    for name, source in sources.items():
        frame[name] = cells[source] if source in cells.columns else np.nan
    kept = _best(frame, lower_is_better(by or metric)) if protocol == "paper" else _validated(frame)
    return kept.set_index(PLACE)[["value", "spread", "accuracy", "setting"]]


def _best(frame: pd.DataFrame, less: bool) -> pd.DataFrame:
    known = frame[frame["by"].notna()]
    groups = known.groupby(PLACE, sort=False)["by"]
    return known.loc[groups.idxmin() if less else groups.idxmax()]


def _validated(frame: pd.DataFrame) -> pd.DataFrame:
    places = [frame[name] for name in PLACE]
    judged = frame["validation"].notna().groupby(places).transform("any")
    score = frame["validation"].where(judged, frame["samples"])
    scored = score.notna().groupby(places).transform("any")
    best = frame.loc[score[scored].groupby([place[scored] for place in places], sort=False).idxmax()]
    rest = frame[~scored].groupby(PLACE, sort=False)
    numbers = rest[["value", "spread", "accuracy"]].mean()
    setting = rest["setting"].first().where(rest.size() == 1, "mean over settings")
    return pd.concat([part for part in (best, numbers.join(setting).reset_index()) if len(part)] or [best])


def best_boxes(chosen: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Keep the best black box of each data set, as the paper's summaries do."""
    order = chosen.sort_values("value", ascending=lower_is_better(metric), kind="stable")
    return order[~order.index.get_level_values("data").duplicated()]


def per_data(chosen: pd.DataFrame, protocol: str, metric: str) -> pd.Series:
    """Return one figure per data set: of the best black box in protocol "paper", else the mean."""
    kept = best_boxes(chosen, metric) if protocol == "paper" else chosen
    return kept["value"].groupby(level="data").mean()


def mad(cells: pd.DataFrame, metric: str) -> float:
    """Median absolute deviation over settings and black boxes of a data set, averaged over data sets.

    >>> frame = pd.DataFrame({"data": ["a"] * 3 + ["b"], "x.y": [1.0, 2.0, 4.0, 9.0]})
    >>> mad(frame, "x.y")  # |1 - 2|, 0, |4 - 2|; a single figure has no deviation
    1.0
    """
    deviations = [
        np.median(np.abs(values - np.median(values)))
        for _, group in cells.groupby("data")
        if len(values := group[metric].to_numpy(dtype=float)) > 1
    ]
    return float(np.mean(deviations)) if deviations else float("nan")
