"""Tables as Markdown and CSV, and figures as PNG and SVG."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness import Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

MISSING = "–"
# vermillion, blue, sky, green, orange, purple, grey, black: safe for colour-blind readers
PALETTE = ("#D55E00", "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#CC79A7", "#777777", "#000000")


def seconds(value: float) -> str:
    """Write a time with two or three significant digits.

    >>> seconds(0.00442), seconds(26.93), seconds(431.2)
    ('4.4e-3', '26.9', '431')
    """
    if value < 0.1:
        return f"{value:.1e}".replace("e-0", "e-")
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def number(value: float) -> str:
    """Write a number as the paper does, without a zero before the point.

    >>> number(0.959), number(-0.25), number(1.0), number(0.0001), number(36), number(math.nan)
    ('.959', '-.250', '1.000', '1.0e-4', '36', '–')
    """
    if math.isnan(value):
        return MISSING
    if isinstance(value, int):
        return f"{value:,}"
    if 0 < abs(value) < 0.0005:
        return f"{value:.1e}".replace("e-0", "e-")
    text = f"{value:.{0 if abs(value) >= 100 else 3}f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def count(value: float) -> str:
    """Write a rate or a number of rows with three significant digits.

    >>> count(1234567.0), count(0.0712), count(12.34), count(math.inf), count(math.nan)
    ('1,230,000', '0.0712', '12.3', 'never', '–')
    """
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "never"
    if value >= 100:
        return f"{round(value, 2 - math.floor(math.log10(value))):,.0f}"
    return f"{value:.3g}"


def table_text(rows: Sequence[Sequence[str]]) -> str:
    """Write rows as a Markdown table; the first row is the head, and all columns but the first are numbers.

    >>> print(table_text([["a", "b"], ["x", "1"]]))
    | a | b |
    | --- | ---: |
    | x | 1 |
    """
    lines = [rows[0], ["---"] + ["---:"] * (len(rows[0]) - 1), *rows[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


@dataclass(frozen=True)
class Table:
    """A table of text, with notes below it."""

    name: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def text(self, level: int = 3) -> str:
        return "\n\n".join([f"{'#' * level} {self.title}", table_text([self.head, *self.rows]), *self.notes])


def failures(lines: Iterable[Line]) -> tuple[str, ...]:
    """Return a sentence on what could not be measured, if anything."""
    reasons: dict[str, set[str]] = {}
    for line in lines:
        if line["error"]:
            reason = f"{line['method']}: {line['error']}"
            reasons.setdefault(reason, set()).add(f"{line['data']} {line['model']}")
    parts = [f"{reason} ({', '.join(sorted(where))})" for reason, where in sorted(reasons.items())]
    return (f"Not measured: {'; '.join(parts)}.",) if parts else ()


def write_tables(tables: Iterable[Table], out: Path) -> list[Path]:
    """Write tables as Markdown and CSV and return their paths."""
    written = []
    for table in tables:
        out.mkdir(parents=True, exist_ok=True)
        path = out / f"{table.name}.md"
        path.write_text(table.text(level=2) + "\n")
        with path.with_suffix(".csv").open("w", newline="") as file:
            csv.writer(file).writerows([table.head, *table.rows])
        written += [path, path.with_suffix(".csv")]
    return written


@dataclass(frozen=True)
class Figure:
    """A number in a grid; `count` is the number of cells behind it, 0 for printed ones."""

    value: float = math.nan
    accuracy: float = math.nan
    spread: float = math.nan
    count: int = 0

    @property
    def known(self) -> bool:
        return not math.isnan(self.value)


@dataclass(frozen=True)
class Grid:
    """Figures of one metric, ours and the paper's: for each method a list over cases (data sets or sizes)."""

    title: str
    cases: tuple[str, ...]
    ours: dict[str, list[Figure]]
    paper: dict[str, list[Figure]] = field(default_factory=dict)
    lower: tuple[bool | None, ...] = ()  # for each case whether less is better; None: not ranked
    methods_down: bool = False
    summary: bool = False  # the second case is a spread: only the two best methods are marked in it
    case_name: str = ""
    beside: frozenset[str] = frozenset()  # methods shown for comparison and not ranked
    write: Callable[[float], str] = number

    @property
    def has_figures(self) -> bool:
        return any(figure.known for figures in self.ours.values() for figure in figures)


def rank_marks(
    figures: Sequence[Figure], less: bool | None = False, write: Callable[[float], str] = number
) -> list[str]:
    """Mark the best "b" and the second "u"; numbers that print alike share a mark. None marks nothing.

    Only figures with as many cells as the largest number are ranked.

    >>> rank_marks([Figure(0.5), Figure(0.9), Figure(), Figure(0.9), Figure(0.1)])
    ['u', 'b', '', 'b', '']
    """
    if less is None:
        return [""] * len(figures)
    fullest = max((figure.count for figure in figures if figure.known), default=0)
    values = [float(write(f.value)) if f.known and f.count == fullest else math.nan for f in figures]
    known = [value for value in values if not math.isnan(value)]
    if len(known) < 2:
        return [""] * len(values)
    first, second = [*sorted(set(known), reverse=not less), math.nan][:2]
    return ["b" if value == first else "u" if value == second else "" for value in values]


def grid_marks(grid: Grid, side: dict[str, list[Figure]]) -> dict[str, list[str]]:
    """Return the marks of one side of a grid, ours or the paper's."""
    lower = grid.lower or (False,) * len(grid.cases)
    ranked = {name: [Figure()] * len(f) if name in grid.beside else f for name, f in side.items()}
    cases = [rank_marks([f[i] for f in ranked.values()], less, grid.write) for i, less in enumerate(lower)]
    if grid.summary and len(cases) == 2:
        # of the two best, the less sensitive one is in bold
        pairs = zip(side.values(), cases[0], strict=True)
        cases[1] = rank_marks([figures[1] if mark else Figure() for figures, mark in pairs], True)
    return {label: [case[i] for case in cases] for i, label in enumerate(side)}


def figure_text(figure: Figure, mark: str = "", full: int = 0, write: Callable[[float], str] = number) -> str:
    """Write a figure with its mark, spread, accuracy in parentheses, and its number of cells if not all.

    >>> figure_text(Figure(0.588, accuracy=87.6), "b"), figure_text(Figure(0.2, spread=0.01, count=3), "u", 5)
    ('**.588** (87.6)', '<u>.200</u>±.010 [3]')
    """
    if not figure.known:
        return MISSING
    text = write(figure.value)
    text = {"b": f"**{text}**", "u": f"<u>{text}</u>"}.get(mark, text)
    if not math.isnan(figure.spread):
        text += f"±{write(figure.spread)}"
    if not math.isnan(figure.accuracy):
        text += f" ({figure.accuracy:.1f})"
    return text + (f" [{figure.count}]" if 0 < figure.count < full else "")


def grid_text(grid: Grid) -> str:
    """Write a grid as a Markdown table, ours first."""
    sides = [("", grid.ours)] + ([("paper: ", grid.paper)] if grid.paper else [])
    texts = {prefix: _texts(grid, side) for prefix, side in sides}
    if grid.methods_down:
        labels = dict.fromkeys(label for _, side in sides for label in side)
        head = ["method", *(prefix + case for prefix, _ in sides for case in grid.cases)]
        blank = [MISSING] * len(grid.cases)
        rows = [[label, *(t for each in texts.values() for t in each.get(label, blank))] for label in labels]
    else:
        head = [grid.case_name, *(prefix + label for prefix, side in sides for label in side)]
        columns = [column for side in texts.values() for column in side.values()]
        rows = [[case, *(column[i] for column in columns)] for i, case in enumerate(grid.cases)]
    return table_text([head, *rows])


def _texts(grid: Grid, side: dict[str, list[Figure]]) -> dict[str, list[str]]:
    full = [max((figures[i].count for figures in side.values()), default=0) for i in range(len(grid.cases))]
    marks = grid_marks(grid, side)
    return {
        label: [
            figure_text(f, mark, n, grid.write)
            for f, mark, n in zip(figures, marks[label], full, strict=True)
        ]
        for label, figures in side.items()
    }


def write_csv(grids: Sequence[Grid], path: Path) -> None:
    """Write a line for each panel, case and method, ours beside the paper's; empty where unknown."""
    head = ["panel", "case", "method", "ours", "accuracy", "spread", "cells"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*head, "paper", "paper_accuracy", "paper_spread"])
        for grid in grids:
            for i, case in enumerate(grid.cases):
                for label in dict.fromkeys([*grid.ours, *grid.paper]):
                    ours = grid.ours[label][i] if label in grid.ours else Figure()
                    paper = grid.paper[label][i] if label in grid.paper else Figure()
                    numbers = [ours.value, ours.accuracy, ours.spread, ours.count or math.nan]
                    numbers += [paper.value, paper.accuracy, paper.spread]
                    row = ["" if math.isnan(value) else f"{value:.6g}" for value in numbers]
                    writer.writerow([grid.title, case, label, *row])


def canvas(width: float, height: float) -> Drawing:
    """Return an empty figure without a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawing

    figure = Drawing(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Drawing, path: Path) -> list[Path]:
    """Write a figure as PNG and SVG and return the paths; `path` has no suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    paths = [path.with_name(f"{path.name}.{suffix}") for suffix in ("png", "svg")]
    for file, metadata in zip(paths, (None, {"Date": None}), strict=True):
        figure.savefig(file, dpi=150, bbox_inches="tight", metadata=metadata)
    return paths


def label_axes(ax: Axes, title: str, x: str, y: str, *, log: bool = False) -> None:
    """Set title and labels; `log` gives log scales, numbers in every panel, and no upper and right spines."""
    if log:
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(title, fontsize=10)
    ax.set_xlabel(x, fontsize=9)
    ax.set_ylabel(y, fontsize=9)
    ax.tick_params(labelsize=8, **({"labelleft": True} if log else {}))
    ax.grid(alpha=0.3)
