"""Rates, ratios and break-even rows from the result lines of speed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import Line, latest
from benchmarks.speed.cells import CENTRE, METHODS, NAMES, OURS, ROWS

REQUIRED_RATIOS = {"shap-tree": 500, "lime": 50_000, "shap-kernel": 500_000}


@dataclass(frozen=True)
class Cost:
    """Seconds over rows: a start, and straight lines through the timings.

    Below the smallest timing, or with only one, seconds are in proportion to rows; beyond the largest, the
    last line is continued. The cost of a call whatever its rows is part of the lines.

    >>> cost = Cost(10.0, (1, 101), (2.0, 3.0))
    >>> cost(1), cost(51), cost(1101)
    (12.0, 12.5, 23.0)
    """

    start: float
    rows: tuple[float, ...]
    seconds: tuple[float, ...]

    def __call__(self, n: float) -> float:
        below = max((i for i, rows in enumerate(self.rows) if rows <= n), default=-1)
        at, took = (self.rows[below], self.seconds[below]) if below >= 0 else (0.0, 0.0)
        return self.start + took + (n - at) * self.slope(n)

    def slope(self, n: float) -> float:
        """Return seconds a row at n rows."""
        i = min(sum(rows <= n for rows in self.rows), len(self.rows) - 1)
        before, took = (self.rows[i - 1], self.seconds[i - 1]) if i else (0.0, 0.0)
        return (self.seconds[i] - took) / (self.rows[i] - before)


def break_even(ours: Cost, theirs: Cost) -> float:
    """Return the number of rows from which we cost less; infinite if that never happens.

    A fit of 20 s and 1 ms a row against 0.101 s a row: 0.1 s a row is saved, which pays after 200 rows. A
    peer that also takes 1 s for every call is beaten after 190.

    >>> us = Cost(20.0, (1,), (0.001,))
    >>> break_even(us, Cost(0.0, (1,), (0.101,))), break_even(us, Cost(0.0, (1, 101), (1.101, 11.201)))
    (200.0, 190.0)
    >>> break_even(us, Cost(0.0, (1,), (0.001,))), break_even(us, Cost(21.0, (1,), (0.1,)))
    (inf, 1.0)
    """

    def more(n: float) -> float:
        return ours(n) - theirs(n)

    knots = sorted({1.0, *map(float, ours.rows), *map(float, theirs.rows)})
    last = knots[-1]
    losing = ours.slope(last) - theirs.slope(last)
    if losing > 0 or (losing == 0 and more(last) > 0):
        return math.inf
    if more(last) > 0:
        return _ceil(last + more(last) / -losing)
    for low, high in zip(knots[-2::-1], knots[:0:-1], strict=True):
        if more(low) > 0:
            return _ceil(low + (high - low) * more(low) / (more(low) - more(high)))
    return 1.0


def _ceil(n: float) -> float:
    return float(max(1, math.ceil(round(n, 6))))


@dataclass(frozen=True)
class Lines:
    """Result lines by data set, model, method and rows."""

    by_cell: dict[tuple[str, str, str, int], Line]

    @classmethod
    def read(cls, results: Path) -> Lines:
        return cls.index(latest(results / "speed.jsonl", NAMES))

    @classmethod
    def index(cls, lines: Iterable[Line]) -> Lines:
        return cls({tuple(line[name] for name in NAMES): line for line in lines})

    def __bool__(self) -> bool:
        return bool(self.by_cell)

    def line(self, data: str, model: str, method: str, rows: int = 0) -> Line | None:
        """Return the line of a cell, None if it is missing or failed."""
        found = self.by_cell.get((data, model, method, rows))
        return found if found and not found["error"] else None

    def good(self) -> list[Line]:
        return [line for line in self.by_cell.values() if not line["error"]]

    def data(self) -> list[str]:
        """Return the data sets, few columns first, real ones last."""
        names = {data for data, *_ in self.by_cell}
        return sorted(names, key=lambda name: (not name[1:].isdigit(), name[1:].zfill(9)))

    def methods(self, model: str, kinds: Iterable[str] = tuple(OURS)) -> list[str]:
        """Return the methods of some kinds that have lines for a model."""
        there = {method for _, its_model, method, _ in self.by_cell if its_model == model}
        return [name for name, known in METHODS.items() if name in there and known.kind in set(kinds)]

    def best(self, data: str, model: str, method: str) -> Line | None:
        """Return the line with the highest rate among all numbers of rows."""
        found = [
            line
            for cell, line in self.by_cell.items()
            if cell[:3] == (data, model, method) and not line["error"] and "rows_per_second" in line
        ]

        # of rates that are equal up to rounding, one that was timed on all rows
        def order(line: Line) -> tuple[float, bool]:
            return float(f"{line['rows_per_second']:.6g}"), not line["extrapolated"]

        return max(found, key=order, default=None)

    def rate(self, data: str, model: str, method: str, *, own: bool = False) -> float:
        """Return rows a second, `own` without the model's time; nan if not measured."""
        line = self.best(data, model, method) or {}
        return float(line.get("own_rows_per_second" if own else "rows_per_second") or math.nan)

    def ratio(self, peer: str, model: str, data: str = CENTRE, *, own: bool = True) -> float:
        """Return illume's rate over a peer's; `own` leaves out the model's time in illume."""
        ours = OURS[METHODS[peer].kind]
        return self.rate(data, model, ours, own=own) / self.rate(data, model, peer)

    def cost(self, data: str, model: str, method: str) -> Cost | None:
        """Return the cost of rows, with imports, construction and, for illume, the fit."""
        found = [line for rows in ROWS if (line := self.line(data, model, method, rows))]
        fit, ours = self.line(data, model, "fit"), method in OURS.values()
        if not found or (ours and fit is None):
            return None
        start = float(found[0]["prepare_s"])
        if ours and fit is not None:
            start += fit["fit_s"] + (0.0 if METHODS[method].kind == "attributions" else fit["fit_rules_s"])
        timed = sorted((line["rows"], line["seconds"]) for line in found)
        return Cost(start, *zip(*timed, strict=True))

    def break_even(self, peer: str, data: str, model: str) -> float:
        """Return the rows from which illume, its fit included, costs less than a peer; nan if unknown."""
        ours, theirs = (self.cost(data, model, name) for name in (OURS[METHODS[peer].kind], peer))
        return break_even(ours, theirs) if ours and theirs else math.nan

    def explain_to_predict(self, data: str, model: str) -> float:
        """Return the cost of explaining a row, without the model, over that of predicting it."""
        return self.rate(data, model, "model") / self.rate(data, model, "illume", own=True)
