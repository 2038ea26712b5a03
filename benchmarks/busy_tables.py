"""The table of fits beside busy processes, from the last run in the result file."""

from __future__ import annotations

from pathlib import Path

from benchmarks.busy import latest
from benchmarks.markup import MISSING, seconds
from benchmarks.speed.tables import Table

ABOUT = "One default fit in a process of its own; all in one run. Beside n: n processes that never rest."


def tables(path: Path) -> list[Table]:
    """Return the table, none where nothing was measured."""
    rows = []
    for line in latest(path):
        time = seconds(line["fit_s"]) if line["error"] is None else line["error"]
        rows.append((line["condition"], time, f"{line['ratio']:.2f}" if "ratio" in line else MISSING))
    head = ("machine", "fit, s", "times idle")
    return [Table("busy", "A fit on a busy machine", head, tuple(rows), (ABOUT,))] if rows else []
