"""Result lines put together: which cells a split has, and means and medians over them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.truth.cells import DEVELOPMENT, HELD_OUT, LEAST, METHODS, MODELS
from benchmarks.truth.run import Line, latest

NEEDS_MORE = "needs at least"
SHARED_BY = 10_000  # rows that share the asks of a fit
DATA = {"development": DEVELOPMENT, "heldout": HELD_OUT, "all": DEVELOPMENT + HELD_OUT}


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of one kind and split, by data set, model and method; of several the one with most rows."""

    found: dict[tuple[str, str, str], Line]

    @classmethod
    def read(cls, path: Path, kind: str, split: str) -> Lines:
        """Read a result file."""
        lines = [line for line in latest(path) if line["kind"] == kind and line["data"] in DATA[split]]
        lines.sort(key=lambda line: line["rows"])
        return cls({(line["data"], line["model"], line["method"]): line for line in lines})

    def __bool__(self) -> bool:
        return any(line["error"] is None for line in self.found.values())

    def line(self, data: str, model: str, method: str) -> Line | None:
        """Return a measured line; where a method needs more asks than given, that of the least it needs."""
        line = self.found.get((data, model, method))
        if line is not None and str(line["error"]).startswith(NEEDS_MORE):
            line = self.found.get((data, model, f"{method.partition('@')[0]}@{LEAST}"))
        return None if line is None or line["error"] is not None else line

    def methods(self) -> list[str]:
        """Return the methods there are, in the order of the plan, others after them."""
        there = {method for _, _, method in self.found}
        known = dict.fromkeys(name for names in METHODS.values() for name in names)
        return [*(name for name in known if name in there), *sorted(there - set(known))]

    def cases(self) -> list[tuple[str, str]]:
        """Return data sets and models, sorted by name and in the order of the plan."""
        there = {(data, model) for data, model, _ in self.found}
        return sorted(there, key=lambda case: (case[0], list(MODELS).index(case[1])))

    def of(self, method: str, models: Iterable[str] = MODELS) -> list[Line]:
        """Return the measured lines of a method, over data sets and models."""
        found = [self.line(data, model, method) for data, model in self.cases() if model in tuple(models)]
        return [line for line in found if line is not None]

    def failures(self) -> list[str]:
        """Return what could not be measured, and why, once for each reason."""
        reasons: dict[str, set[str]] = {}
        for (data, model, method), line in self.found.items():
            if line["error"] is not None and not line["error"].startswith(NEEDS_MORE):
                reasons.setdefault(f"{method}: {line['error']}", set()).add(f"{data} {model}")
        return [f"{reason} ({', '.join(sorted(where))})" for reason, where in sorted(reasons.items())]


def values(lines: Iterable[Line], name: str) -> np.ndarray:
    """Return a figure of all lines that have it."""
    return np.array([line[name] for line in lines if line.get(name) is not None], dtype=float)


def mean(lines: Iterable[Line], name: str) -> float:
    """Return the mean of a figure, NaN where nothing has it."""
    found = values(lines, name)
    return float(found.mean()) if len(found) else float("nan")


def median(lines: Iterable[Line], name: str) -> float:
    """Return the median of a figure, NaN where nothing has it."""
    found = values(lines, name)
    return float(np.median(found)) if len(found) else float("nan")


def floored_r2(lines: Iterable[Line]) -> float:
    """Return the mean R², one below 0 counting 0: such values are worse than none, by whatever factor."""
    found = np.maximum(values(lines, "r2"), 0.0)
    return float(found.mean()) if len(found) else float("nan")


def median_seconds(lines: Iterable[Line]) -> float:
    """Return the median of the seconds for 10,000 rows, fit included."""
    found = [line["fit_s"] + line["many_s"] for line in lines]
    return float(np.median(found)) if found else float("nan")


def median_asks(lines: Iterable[Line]) -> float:
    """Return the median of asks a row, those of the fit shared by 10,000 rows."""
    found = [line["asks_per_row"] + line["fit_asks"] / SHARED_BY for line in lines]
    return float(np.median(found)) if found else float("nan")


def note(lines: Lines) -> tuple[str, ...]:
    """Say in a sentence what is missing."""
    failed: list[Any] = lines.failures()
    return (f"Not measured: {'; '.join(failed)}.",) if failed else ()
