"""Results as text and, in notebooks, as HTML: both show the same lines and bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from illume._typing import FloatArray
from illume.results import colours

CHARACTERS, PIXELS = 20, 120  # length of the longest bar
SIDES = {"<": "left", ">": "right"}


class Table(NamedTuple):
    """Lines of cells, aligned as `sides` says (`<` or `>` a column), with bars of these numbers if any.

    NaN has no bar.
    """

    cells: list[list[str]]
    sides: str
    numbers: Sequence[float] | FloatArray | None = None

    def bars(self, longest: int) -> list[int]:
        """Return the length of each line's bar, with the sign of its number."""
        numbers = np.nan_to_num(np.zeros(len(self.cells)) if self.numbers is None else self.numbers)
        return [round(longest * number) for number in numbers / max(np.abs(numbers).max(initial=0.0), 1e-12)]


class Shown:
    """A result that describes itself once, for text and HTML."""

    def describe(self) -> Iterator[str | Table]:
        """Yield lines of text, and tables."""
        raise NotImplementedError

    def __repr__(self) -> str:
        lines: list[str] = []
        for part in self.describe():
            lines += [part] if isinstance(part, str) else _table_lines(part)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        first, *rest = self.describe()
        parts = [
            f'<div style="white-space:pre-wrap">{escape(part)}</div>'
            if isinstance(part, str)
            else _table_html(part)
            for part in rest
        ]
        return f"<div><b>{escape(str(first))}</b></div>{''.join(parts)}"


def _table_lines(table: Table) -> list[str]:
    """Return indented lines whose cells are padded to the widths of their columns.

    >>> _table_lines(Table([["age", "12"], ["income", "7"]], "<>"))
    ['  age     12', '  income   7']
    """
    widths = [max(map(len, column)) for column in zip(*table.cells, strict=True)]
    lines = []
    for cells, bar in zip(table.cells, table.bars(CHARACTERS), strict=True):
        columns = zip(cells, table.sides, widths, strict=True)
        padded = [f"{cell:{side}{width}}" for cell, side, width in columns]
        lines.append("  ".join(["", *padded, "█" * abs(bar)]).rstrip())
    return lines


def _table_html(table: Table) -> str:
    rows = []
    for cells, length in zip(table.cells, table.bars(PIXELS), strict=True):
        bar = f"width:{abs(length)}px;height:0.8em;background:{colours.contribution_colour(length)}"
        chart = "" if table.numbers is None else f'<td><div style="{bar}"></div></td>'
        texts = "".join(
            f'<td style="text-align:{SIDES[side]}">{escape(cell.strip())}</td>'
            for cell, side in zip(cells, table.sides, strict=True)
        )
        rows.append(f"<tr>{texts}{chart}</tr>")
    return f"<table><tbody>{''.join(rows)}</tbody></table>"
