"""Results as text and, in notebooks, as HTML: both show the same lines and bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from illume._typing import FloatArray
from illume.results import colours

CHARACTERS, PIXELS = 20, 120  # length of the longest bar


class BarChart(NamedTuple):
    """Lines of a table, each with a number that is drawn as a bar; NaN has none."""

    cells: list[list[str]]
    numbers: Sequence[float] | FloatArray
    sides: str

    def lengths(self, longest: int) -> list[int]:
        """Return how long each bar is, with the sign of its number."""
        numbers = np.nan_to_num(np.asarray(self.numbers, dtype=np.float64))
        return [round(longest * number) for number in numbers / max(np.abs(numbers).max(initial=0.0), 1e-12)]


class Shown:
    """A result that describes itself once, for text and HTML."""

    def describe(self) -> Iterator[str | BarChart]:
        """Yield lines of text and bar charts."""
        raise NotImplementedError

    def __repr__(self) -> str:
        lines: list[str] = []
        for part in self.describe():
            lines += [part] if isinstance(part, str) else _chart_lines(part)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        first, *rest = self.describe()
        parts = [
            f"<div>{escape(part)}</div>" if isinstance(part, str) else _chart_html(part) for part in rest
        ]
        return f"<div><b>{escape(str(first))}</b></div>{''.join(parts)}"


def align(rows: list[list[str]], sides: str) -> list[str]:
    """Return indented lines whose cells are padded to the widths of their columns.

    >>> align([["age", "12"], ["income", "7"]], "<>")
    ['  age     12', '  income   7']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = [
        [f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)]
        for row in rows
    ]
    return [f"  {'  '.join(row)}".rstrip() for row in padded]


def _chart_lines(chart: BarChart) -> list[str]:
    bars = ["█" * abs(length) for length in chart.lengths(CHARACTERS)]
    return align([[*cells, bar] for cells, bar in zip(chart.cells, bars, strict=True)], f"{chart.sides}<")


def _chart_html(chart: BarChart) -> str:
    rows = []
    for cells, length in zip(chart.cells, chart.lengths(PIXELS), strict=True):
        bar = f"width:{abs(length)}px;height:0.8em;background:{colours.contribution_colour(length)}"
        texts = "".join(f"<td>{escape(cell.strip())}</td>" for cell in cells)
        rows.append(f'<tr>{texts}<td><div style="{bar}"></div></td></tr>')
    return f"<table><tbody>{''.join(rows)}</tbody></table>"
