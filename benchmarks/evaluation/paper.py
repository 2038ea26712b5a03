"""The figures that the paper prints, read from paper.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FILE = Path(__file__).with_name("paper.toml")
OBJECTIVES = {".": "none"}  # printed name -> name in a cell's setting, where they differ


@dataclass(frozen=True)
class Column:
    """Which cells a column of a table takes: a method, its variant and its objective (None: any).

    >>> Column.parse("ill-us (co)")
    Column(label='ill-us (co)', method='paper', variant='us', objective='co')
    >>> Column.parse("s-umap")
    Column(label='s-umap', method='s-umap', variant='', objective=None)
    """

    label: str
    method: str
    variant: str = ""
    objective: str | None = None

    @classmethod
    def parse(cls, label: str) -> Column:
        """Read a heading such as `ill-uc (.)`."""
        name, _, objective = label.removesuffix(")").partition(" (")
        base, _, variant = name.partition("-")
        if variant not in ("uc", "us"):
            base, variant = name, ""
        method = "paper" if base == "ill" else base
        return cls(label, method, variant, OBJECTIVES.get(objective, objective) or None)


@dataclass(frozen=True, eq=False)
class Panel:
    """One metric: `values` (rows, columns) with accuracies in percent and spreads, nan where not printed.

    Values are empty if the paper prints none.
    """

    title: str
    metric: str
    columns: tuple[Column, ...]
    rows: tuple[str, ...]
    values: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    spread: NDArray[np.float64]
    black_box: str = ""


@dataclass(frozen=True, eq=False)
class Table:
    """A table of the paper; with `methods_down` it prints a line per method rather than a column."""

    name: str
    caption: str
    panels: tuple[Panel, ...]
    note: str = ""
    methods_down: bool = False


@cache
def tables() -> dict[str, Table]:
    """Return all tables except that of the data sets, in the order of the paper."""
    return {name: _table(name, entry) for name, entry in _entries().items() if "panels" in entry}


@cache
def data() -> dict[str, dict[str, float]]:
    """Return size, class shares and black boxes' F1 of each data set."""
    entry = _entries()["data"]
    return {name: dict(zip(entry["columns"], values, strict=True)) for name, *values in entry["values"]}


def _entries() -> dict[str, dict[str, Any]]:
    with FILE.open("rb") as file:
        return tomllib.load(file)["table"]


def _table(name: str, entry: dict[str, Any]) -> Table:
    panels = tuple(_panel(panel, entry.get("black_box", "")) for panel in entry["panels"])
    return Table(name, entry["caption"], panels, entry.get("note", ""), entry.get("methods_down", False))


def _panel(entry: dict[str, Any], black_box: str) -> Panel:
    columns = tuple(Column.parse(label) for label in entry["columns"])
    rows = tuple(entry.get("rows") or (row[0] for row in entry["values"]))

    def block(key: str) -> NDArray[np.float64]:
        if key not in entry:
            return np.full((len(rows), len(columns)), np.nan)
        if tuple(row[0] for row in entry[key]) != rows:
            raise ValueError(f"{key} of panel {entry['title']!r} has other rows than its values")
        return np.array([row[1:] for row in entry[key]], dtype=float)

    values = block("values") if "values" in entry else np.empty((len(rows), 0))
    blocks = (values, block("accuracy"), block("spread"))
    return Panel(entry["title"], entry["metric"], columns, rows, *blocks, entry.get("black_box", black_box))
