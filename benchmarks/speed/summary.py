"""What result lines say together: rates, ratios, break-even rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.speed.cells import CENTRE, METHODS, OURS, ROWS, SpeedCell
from benchmarks.speed.costs import Cost, break_even

Line = dict[str, Any]
ASKED_RATIOS = {"shap-tree": 500, "lime": 50_000, "shap-kernel": 500_000}


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

    def cost(self, data: str, model: str, method: str) -> Cost | None:
        """Return what rows cost, importing and constructing included, and fitting where we must."""
        mine = [self.line(data, model, method, rows) for rows in ROWS]
        found = [line for line in mine if line is not None]
        fit, ours = self.line(data, model, "fit"), method in OURS.values()
        if not found or (ours and fit is None):
            return None
        start = float(found[0]["prepare_s"])
        if ours and fit is not None:
            start += fit["fit_s"] + (0.0 if METHODS[method].kind == "attributions" else fit["fit_rules_s"])
        timed = sorted((line["rows"], line["seconds"]) for line in found)
        return Cost(start, *zip(*timed, strict=True))

    def break_even(self, peer: str, data: str, model: str) -> float:
        """Return from how many rows on illume, its fit included, costs less than a peer; nan: not known."""
        ours, theirs = (self.cost(data, model, name) for name in (OURS[METHODS[peer].kind], peer))
        return break_even(ours, theirs) if ours and theirs else math.nan

    def explain_to_predict(self, data: str, model: str) -> float:
        """Return a row's cost of explaining, the model apart, over that of predicting it."""
        return self.rate(data, model, "model") / self.rate(data, model, "illume", own=True)
