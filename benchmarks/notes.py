"""What stands behind a table, in a few sentences."""

from __future__ import annotations

import math
from collections.abc import Collection

import pandas as pd

from benchmarks import paper, selection
from benchmarks.paper import Column

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


def notes(
    lines: pd.DataFrame, columns: Collection[Column], protocol: str, mixed: bool = False
) -> tuple[str, ...]:
    """Say which protocol a table is of and which cells stand behind it; no columns: all lines do."""
    if columns:
        taken = pd.Series(False, index=lines.index)
        for column in columns:
            taken |= selection.taken(lines, column)
        lines = lines[taken]
    good, failed = lines[lines["error"].isna()], lines[lines["error"].notna()]
    sentences = [_count(good), _fewer(good), _failed(failed)]
    said = [MEANING[protocol], *([MIXED[protocol]] if mixed else []), " ".join(filter(None, sentences))]
    return tuple(said)


def machines(lines: pd.DataFrame, columns: Collection[Column]) -> str:
    """Say on which machine each method was timed."""
    found: dict[str, list[str]] = {}
    for column in sorted(columns, key=lambda column: column.label):
        rows = lines[selection.taken(lines, column) & lines["error"].isna()]
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
    """Return how many test rows a data set has: 1,024 for SENECA, else a fifth of all.

    >>> rows_to_explain("seneca-rc-4+0-1"), rows_to_explain("ssin-2c"), rows_to_explain("home")
    (1024, 200, 99)
    """
    if selection.size(data):
        return 1024
    rows = paper.data().get(data, {"n": 1000})["n"]
    return math.ceil(rows / 5)


def _fewer(good: pd.DataFrame) -> str:
    """Name the methods that explained fewer than all test rows."""
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
