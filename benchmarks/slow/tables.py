"""The table of slow models, from result lines alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.markup import MISSING, number, seconds
from benchmarks.slow.command import latest
from benchmarks.speed.tables import Table, count

ABOUT = (
    "Seconds to explain so many rows, the fit included, where most of the time is the model's. ≈ marks times "
    "that were extrapolated in proportion from the rows that a method explained before its time was up."
)


def tables(path: Path) -> list[Table]:
    """Return the table, none where nothing was measured."""
    lines = [line for line in latest(path) if line["error"] is None]
    head = ["data, model", "model's rows/s", "method", "rows", "rows timed", "asks a row", "asks in fit"]
    head += ["fit, s", "whole, s", "R²"]
    rows = tuple(_row(line) for line in lines)
    return [Table("slow", "Models that answer slowly", tuple(head), rows, (ABOUT,))] if rows else []


def _row(line: dict[str, Any]) -> tuple[str, ...]:
    about = "≈ " if line["extrapolated"] else ""
    return (
        f"{line['data']}, {line['model']}",
        count(line["model_rows_per_s"]),
        line["method"],
        f"{line['rows']:,}",
        f"{line['rows_explained']:,}",
        count(line["asks_per_row"]),
        count(line["fit_asks"]),
        seconds(line["fit_s"]),
        about + seconds(line["total_s"]),
        number(line["r2"]) if "r2" in line else MISSING,
    )
