"""Grids of figures as Markdown and CSV, the best in bold and the second underlined."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MISSING = "–"


@dataclass(frozen=True)
class Figure:
    """A number of a table; `count` says how many chosen cells it is the mean of, 0 for printed ones."""

    value: float = math.nan
    accuracy: float = math.nan
    spread: float = math.nan
    count: int = 0

    @property
    def known(self) -> bool:
        """Say whether there is a number at all."""
        return not math.isnan(self.value)


def seconds(value: float) -> str:
    """Write a time with two digits that count.

    >>> seconds(0.00442), seconds(26.93), seconds(431.2)
    ('4.4e-3', '26.9', '431')
    """
    if value < 0.1:
        return f"{value:.1e}".replace("e-0", "e-")
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def number(value: float) -> str:
    """Write a number as the paper does: no zero before the point.

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


@dataclass(frozen=True)
class Grid:
    """Figures of one metric, ours and the paper's: a list per case (data set, size or summary)."""

    title: str
    cases: tuple[str, ...]
    ours: dict[str, list[Figure]]
    paper: dict[str, list[Figure]] = field(default_factory=dict)
    lower: tuple[bool | None, ...] = ()  # per case whether less is better; None: neither is
    methods_down: bool = False
    summary: bool = False  # the second case is a spread: only the two best methods are marked in it
    case_name: str = ""
    beside: frozenset[str] = frozenset()  # labels that stand there for comparison and are not ranked
    write: Callable[[float], str] = number

    @property
    def run(self) -> bool:
        """Say whether any figure of ours is there."""
        return any(figure.known for figures in self.ours.values() for figure in figures)


def marks(
    figures: Sequence[Figure], less: bool | None = False, write: Callable[[float], str] = number
) -> list[str]:
    """Mark the best "b" and the second "u"; ties, as printed, share a mark. None marks nothing.

    Only figures that rest on as many cells as the fullest one take part.

    >>> marks([Figure(0.5), Figure(0.9), Figure(), Figure(0.9), Figure(0.1)])
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


def marked(grid: Grid, side: dict[str, list[Figure]]) -> dict[str, list[str]]:
    """Return the marks of one side of a grid, ours or the paper's."""
    lower = grid.lower or (False,) * len(grid.cases)
    ranked = {name: [Figure()] * len(f) if name in grid.beside else f for name, f in side.items()}
    cases = [marks([f[i] for f in ranked.values()], less, grid.write) for i, less in enumerate(lower)]
    if grid.summary and len(cases) == 2:
        # of the two best, the less sensitive one is in bold
        pairs = zip(side.values(), cases[0], strict=True)
        cases[1] = marks([figures[1] if mark else Figure() for figures, mark in pairs], True)
    return {label: [case[i] for case in cases] for i, label in enumerate(side)}


def cell(figure: Figure, mark: str = "", full: int = 0, write: Callable[[float], str] = number) -> str:
    """Write a figure: mark, spread, accuracy in parentheses, and of how many cells where not of all.

    >>> cell(Figure(0.588, accuracy=87.6), "b"), cell(Figure(0.2, spread=0.01, count=3), "u", full=5)
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


def markdown(grid: Grid) -> str:
    """Write a grid as a Markdown table, ours first."""
    sides = [("", grid.ours)] + ([("paper: ", grid.paper)] if grid.paper else [])
    texts = {prefix: _texts(grid, side) for prefix, side in sides}
    if grid.methods_down:
        labels = list(dict.fromkeys(label for _, side in sides for label in side))
        head = ["method", *(prefix + case for prefix, _ in sides for case in grid.cases)]
        blank = [MISSING] * len(grid.cases)
        rows = [
            [label, *(t for prefix, _ in sides for t in texts[prefix].get(label, blank))] for label in labels
        ]
    else:
        head = [grid.case_name, *(prefix + label for prefix, side in sides for label in side)]
        rows = [
            [case, *(texts[prefix][label][i] for prefix, side in sides for label in side)]
            for i, case in enumerate(grid.cases)
        ]
    return table_text([head, *rows])


def table_text(rows: Sequence[Sequence[str]]) -> str:
    """Write rows, the first of them the head, as a Markdown table; all columns but the first are numbers.

    >>> print(table_text([["a", "b"], ["x", "1"]]))
    | a | b |
    | --- | ---: |
    | x | 1 |
    """
    lines = [rows[0], ["---"] + ["---:"] * (len(rows[0]) - 1), *rows[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _texts(grid: Grid, side: dict[str, list[Figure]]) -> dict[str, list[str]]:
    full = [max((figures[i].count for figures in side.values()), default=0) for i in range(len(grid.cases))]
    signs = marked(grid, side)
    return {
        label: [cell(f, mark, n, grid.write) for f, mark, n in zip(figures, signs[label], full, strict=True)]
        for label, figures in side.items()
    }


def write_csv(grids: Sequence[Grid], path: Path) -> None:
    """Write a line per panel, case and method, ours beside the paper's; empty where not known."""
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
