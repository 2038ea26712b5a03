"""Results as text and, in notebooks, as HTML: both show the same lines and bars."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from illume._typing import FloatArray
from illume.data.terminal_text import printable
from illume.results import colours

CHARACTERS, PIXELS = 20, 120  # length of the longest bar
RAISES, LOWERS = "█", "▒"
# Black text on a light ground, whatever the colours of the page around the table.
MARK = f";background:{colours.CHANGED};color:black"
SIDES = {"<": "left", ">": "right"}


class Table(NamedTuple):
    """Lines of cells, aligned as `sides` says (`<` or `>` a column), with bars of these numbers if any.

    NaN has no bar. With `head`, the first line names the columns; `marked` are cells to stand out, as pairs
    of line and column; `lines` is what text shows instead of the table, if that is something else.
    """

    cells: list[list[str]]
    sides: str
    numbers: Sequence[float] | FloatArray | None = None
    head: bool = False
    marked: Collection[tuple[int, int]] = ()
    lines: Sequence[str] | None = None

    def bars(self, longest: int) -> list[int]:
        """Return the length of each line's bar, with the sign of its number."""
        numbers = np.nan_to_num(np.zeros(len(self.cells)) if self.numbers is None else self.numbers)
        return [round(longest * number) for number in numbers / max(np.abs(numbers).max(initial=0.0), 1e-12)]


class Shown:
    """A result that describes itself once, for text and HTML.

    `row_name` is written before the first line, and `row_note` is the last one, unless they are empty.
    """

    @property
    def row_name(self) -> str:
        """What the row is called, where that has to be said."""
        return ""

    @property
    def row_note(self) -> str:
        """How rows are taken, where that has to be said."""
        return ""

    def describe(self) -> Iterator[str | Table]:
        """Yield lines of text, and tables."""
        raise NotImplementedError

    def _parts(self) -> list[str | Table]:
        first, *rest = self.describe()
        name = f"{self.row_name}: " if self.row_name else ""
        note = [self.row_note] if self.row_note else []
        return [f"{name}{first}" if isinstance(first, str) else first, *rest, *note]

    def __repr__(self) -> str:
        lines: list[str] = []
        for part in self._parts():
            lines += [part] if isinstance(part, str) else _table_lines(part)
        return printable("\n".join(lines))

    def _repr_html_(self) -> str:
        first, *rest = self._parts()
        parts = [
            f'<div style="white-space:pre-wrap">{escape(part)}</div>'
            if isinstance(part, str)
            else _table_html(part)
            for part in rest
        ]
        return f"<div><b>{escape(str(first))}</b></div>{''.join(parts)}"


def _table_lines(table: Table) -> list[str]:
    """Return indented lines whose cells are padded to the widths of their columns.

    >>> _table_lines(Table([["age", "12"], ["income", "7"]], "<>", [0.2, -0.1]))
    ['  age     12  ████████████████████', '  income   7  ▒▒▒▒▒▒▒▒▒▒']
    """
    if table.lines is not None:
        return list(table.lines)
    widths = [max(map(len, column)) for column in zip(*table.cells, strict=True)]
    lines = []
    for cells, bar in zip(table.cells, table.bars(CHARACTERS), strict=True):
        columns = zip(cells, table.sides, widths, strict=True)
        padded = [f"{cell:{side}{width}}" for cell, side, width in columns]
        lines.append("  ".join(["", *padded, RAISES * bar + LOWERS * -bar]).rstrip())
    return lines


def _table_html(table: Table) -> str:
    rows = []
    for i, (cells, length) in enumerate(zip(table.cells, table.bars(PIXELS), strict=True)):
        bar = f"width:{abs(length)}px;height:0.8em;background:{colours.contribution_colour(length)}"
        chart = "" if table.numbers is None else f'<td><div style="{bar}"></div></td>'
        kind = "th" if table.head and i == 0 else "td"
        texts = "".join(
            f'<{kind} style="text-align:{SIDES[side]}{MARK * ((i, j) in table.marked)}">'
            f"{escape(cell.strip())}</{kind}>"
            for j, (cell, side) in enumerate(zip(cells, table.sides, strict=True))
        )
        rows.append(f"<tr>{texts}{chart}</tr>")
    head = f"<thead>{rows.pop(0)}</thead>" if table.head and rows else ""
    return f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"
