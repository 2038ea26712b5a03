"""One method on a slow model: illume on all rows, peers on some of them and the rest extrapolated."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.truth import ours, scores
from benchmarks.truth.case import Case
from benchmarks.truth.explaining import told
from benchmarks.truth.kinds import Bench, Limits
from benchmarks.truth.log_odds import library_has_shapley

Line = dict[str, Any]


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    rows: int = 10_000
    peer_rows: int = 50  # at most, explained by peers
    budget_s: float = 60.0  # of a peer; it explains one row at least
    reference_asks: int = 0  # 0: what is said is timed, not scored


@dataclass(eq=False)
class Slow:
    """The measurements of one slow model."""

    case: Case
    effort: Effort
    rows_per_s: float

    def __post_init__(self) -> None:
        limits = Limits(self.effort.budget_s, most_asks=self.effort.reference_asks)
        self.bench = Bench(self.case, limits)

    def evaluate(self, method: str) -> Line:
        """Return the figures of a method."""
        facts = {"model_rows_per_s": self.rows_per_s, "n_features": self.case.X.shape[1]}
        facts["training_rows"] = len(self.case.problem.train)
        return facts | (self.ours(method) if method.startswith("illume") else self.peer(method))

    def ours(self, method: str) -> Line:
        """Fit illume and explain all rows, whatever it takes."""
        name, refine = ours.parsed(method)
        fitted = self.bench.fitted(name)
        frame = self.case.problem.test
        frame = frame.iloc[np.arange(self.effort.rows) % len(frame)].reset_index(drop=True)
        before, start = self.case.counted.asks, time.perf_counter()
        ours.explained(fitted.explainer, frame, refine)
        seconds, asks = time.perf_counter() - start, self.case.counted.asks - before
        found = {"fit_s": fitted.seconds, "fit_asks": fitted.asks, "explain_s": seconds}
        found |= {"rows_explained": len(frame), "extrapolated": False, "asks_per_row": asks / len(frame)}
        values = ours.explained(fitted.explainer, self.case.test, refine)[0] if self.scored else None
        return self._whole(found, values)

    def peer(self, method: str) -> Line:
        """Explain rows until time is up, and say what all would take."""
        ready = self.bench.ready(method)
        found = told(self.case, ready, self.effort.budget_s, chunk=1, least_rows=1)
        costs = found.costs
        per_row = costs["explain_s"] / costs["rows_explained"]
        line = {
            name: costs[name] for name in ("fit_s", "fit_asks", "rows_explained", "asks_per_row", "setting")
        }
        line |= {"explain_s": per_row * self.effort.rows, "extrapolated": True}
        return self._whole(line, found.values if self.scored else None)

    @property
    def scored(self) -> bool:
        """Say whether there is a reference."""
        return self.effort.reference_asks > 0

    def _whole(self, line: Line, values: Any | None) -> Line:
        line["total_s"] = line["fit_s"] + line["explain_s"]
        if values is None:
            return line
        if self.case.explainer is None and library_has_shapley():
            self.case.explainer = self.bench.fitted("illume").explainer
        truth = self.bench.reference()
        return line | scores.errors(values, truth.first(len(values)).halves) | truth.facts()
