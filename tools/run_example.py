"""Run one example cell by cell, and keep what it printed and drew.

An example begins with a docstring, a title and an introduction. A line `# %%` begins a cell; the comment
right after it is prose, the rest is code.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

BREAK = re.compile(r"^# %%.*\n", re.MULTILINE)
DPI = 110


@dataclass(frozen=True)
class Cell:
    """A piece of an example: prose, code, what it printed, the files of what it drew."""

    text: str
    code: str
    output: str = ""
    figures: tuple[str, ...] = ()


def title_and_intro(source: str) -> tuple[str, str]:
    """Return the first line of the docstring, without its full stop, and the others."""
    head, _, rest = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
    return head.rstrip("."), rest.strip()


def cells(source: str) -> list[Cell]:
    r"""Return prose and code of the cells, in order.

    >>> first, second = cells('"Title."\n\nimport a\n# %%\n# Why this.\na.b()\n')
    >>> first.code, second.text, second.code
    ('import a', 'Why this.', 'a.b()')
    """
    parsed = ast.parse(source)
    after_docstring = "".join(source.splitlines(keepends=True)[parsed.body[0].end_lineno :])
    first, *others = BREAK.split(after_docstring)
    return [Cell("", first.strip()), *map(_cell, others)]


def _cell(block: str) -> Cell:
    lines = block.splitlines()
    n = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    prose = "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines[:n])
    return Cell(prose.strip(), "\n".join(lines[n:]).strip())


def run(source: str, name: str, folder: Path) -> list[Cell]:
    """Run all cells in one namespace; figures that are open after a cell go to the folder."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names: dict[str, Any] = {"__name__": "__main__"}
    done: list[Cell] = []
    for cell in cells(source):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(cell.code, name, "exec"), names)
        figures = []
        for number in plt.get_fignums():
            figures.append(f"{name}-{len(done)}-{number}.png")
            plt.figure(number).savefig(folder / figures[-1], dpi=DPI, bbox_inches="tight")
        plt.close("all")
        done.append(Cell(cell.text, cell.code, printed.getvalue().rstrip(), tuple(figures)))
    return done


def main(path: Path, folder: Path) -> None:
    """Run an example and write `cells.json` beside its figures."""
    start = time.process_time()
    done = run(path.read_text(), path.stem, folder)
    seconds = time.process_time() - start
    answer = {"cells": [asdict(cell) for cell in done], "seconds": seconds}
    (folder / "cells.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
