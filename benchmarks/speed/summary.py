"""What result lines say together: rates, ratios, break-even rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.speed.cells import CENTRE, METHODS, OURS, SpeedCell

Line = dict[str, Any]
ASKED_RATIOS = {"shap-tree": 500, "lime": 50_000, "shap-kernel": 500_000}


def break_even(fit_s: float, ours_s: float, setup_s: float, theirs_s: float) -> float:
    """Return from how many rows on fitting and explaining costs less than a peer, set up, takes.

    Fitting for 20 s and 1 ms a row against 0.101 s a row: 0.1 s a row is won, which pays after 200 rows.

    >>> break_even(20.0, 0.001, 0.0, 0.101), break_even(1.0, 0.5, 0.0, 0.4), break_even(1.0, 0.001, 3.0, 0.1)
    (200.0, inf, 1.0)
    """
    if theirs_s <= ours_s:
        return math.inf if fit_s > setup_s else 1.0
    return float(max(1, math.ceil(round((fit_s - setup_s) / (theirs_s - ours_s), 6))))


@dataclass(frozen=True)
class Lines:
    """Result lines by cell; only those that were measured are found."""

    by_key: dict[str, Line]

    @classmethod
    def of(cls, lines: Iterable[Line]) -> Lines:
        """Take lines as they were written: of several for one cell, the last."""
        return cls({SpeedCell.of(line).key: line for line in lines})

    def __bool__(self) -> bool:
        return bool(self.by_key)

    def line(self, data: str, model: str, method: str, rows: int = 0) -> Line | None:
        """Return a cell's line, None where it is missing or failed."""
        found = self.by_key.get(SpeedCell(data, model, method, rows).key)
        return found if found and not found["error"] else None

    def failed(self) -> list[Line]:
        """Return what could not be measured."""
        return [line for line in self.by_key.values() if line["error"]]

    def data(self) -> list[str]:
        """Return the data sets, few columns first, real ones last."""
        names = {line["data"] for line in self.by_key.values()}
        return sorted(names, key=lambda name: (not name[1:].isdigit(), name[1:].zfill(9)))

    def methods(self, model: str, kinds: Iterable[str] = tuple(OURS)) -> list[str]:
        """Return the methods of some kinds that have lines for a model."""
        there = {line["method"] for line in self.by_key.values() if line["model"] == model}
        return [name for name, known in METHODS.items() if name in there and known.kind in set(kinds)]

    def best(self, data: str, model: str, method: str) -> Line | None:
        """Return the line with the highest rate, among all numbers of rows."""
        found = [
            line
            for line in self.by_key.values()
            if (line["data"], line["model"], line["method"]) == (data, model, method)
            and not line["error"]
            and "rows_per_second" in line
        ]

        # equal but for rounding: rather what was timed in full
        def order(line: Line) -> tuple[float, bool]:
            return float(f"{line['rows_per_second']:.6g}"), not line["extrapolated"]

        return max(found, key=order, default=None)

    def rate(self, data: str, model: str, method: str, *, own: bool = False) -> float:
        """Return rows a second, with the model's time or, `own`, without it; nan where not measured."""
        line = self.best(data, model, method) or {}
        return float(line.get("own_rows_per_second" if own else "rows_per_second") or math.nan)

    def ratio(self, peer: str, model: str, data: str = CENTRE, *, own: bool = True) -> float:
        """Return how many times as many rows a second illume explains; `own` leaves its model's time out."""
        ours = OURS[METHODS[peer].kind]
        return self.rate(data, model, ours, own=own) / self.rate(data, model, peer)

    def break_even(self, peer: str, data: str, model: str) -> float:
        """Return from how many rows on illume, its fit included, costs less than a peer; nan: not known."""
        kind = METHODS[peer].kind
        fit, ours = self.line(data, model, "fit"), self.best(data, model, OURS[kind])
        theirs = self.best(data, model, peer)
        if fit is None or ours is None or theirs is None:
            return math.nan
        cost = fit["fit_s"] + (0.0 if kind == "attributions" else fit["fit_rules_s"])
        per_row = [1 / line["rows_per_second"] for line in (ours, theirs)]
        return break_even(cost + ours["prepare_s"], per_row[0], theirs["prepare_s"], per_row[1])

    def explain_to_predict(self, data: str, model: str) -> float:
        """Return a row's cost of explaining, the model apart, over that of predicting it."""
        return self.rate(data, model, "model") / self.rate(data, model, "illume", own=True)
