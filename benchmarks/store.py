"""Finished cells on disk: one JSON line each, written at once, found again after a crash."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.cells import Cell

RESULTS = Path(__file__).parent / "results" / "cells"


class Store:
    """A folder of result files, one per family of cells.

    Only one process writes; a line that a crash cut short is left out when reading.
    """

    def __init__(self, folder: Path = RESULTS) -> None:
        self.folder = folder

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield every result; of several for one cell, the last."""
        found: dict[str, dict[str, Any]] = {}
        for file in sorted(self.folder.glob("*.jsonl")):
            for line in read(file):
                found[Cell.of(line).key] = line
        yield from found.values()

    def finished(self, *, failed_too: bool = True) -> set[str]:
        """Return the keys of the cells that need not be run again."""
        return {Cell.of(line).key for line in self.lines() if failed_too or line["error"] is None}

    def add(self, cell: Cell, result: dict[str, Any]) -> None:
        """Append a result, and make sure that it is on disk."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        append(self.folder / f"{cell.family}.jsonl", cell.to_dict() | result | {"time": now})


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a result file, none where there is no file; one cut short is left out."""
    for text in path.read_text().splitlines() if path.exists() else ():
        try:
            yield json.loads(text)
        except json.JSONDecodeError:
            continue


def append(path: Path, line: dict[str, Any]) -> None:
    """Write a line at the end of a result file, and make sure that it is on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if file.tell() and not _ends_with_newline(path):
            file.write(b"\n")  # what a crash left must not swallow this line
        file.write((json.dumps(line) + "\n").encode())
        file.flush()
        os.fsync(file.fileno())


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
