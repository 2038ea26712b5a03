"""Seconds and memory of a call, within a budget of time."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
REPEATS = 5
SINGLE_REPEATS = 100


@dataclass(frozen=True)
class Timed:
    """So many rows took so many seconds, of which the model took a part."""

    rows: int
    seconds: float
    model_seconds: float = 0.0
    repeats: int = 1

    @property
    def per_row(self) -> float:
        """Return seconds a row."""
        return self.seconds / self.rows


@dataclass(frozen=True)
class Pace:
    """How seconds grow with rows: along a line through the two latest timings, or in proportion to the last.

    The line is for methods that do something once for a whole batch; `batch` says so.

    >>> start = Pace(True).after(Timed(1, 6.0)).after(Timed(101, 7.0))
    >>> start.seconds(1101), start.affordable(10_000, 8.0), start.affordable(150, 8.0)
    (17.0, 201, 150)
    >>> Pace(False).after(Timed(10, 2.0)).seconds(100), Pace(False).after(Timed(1, 30.0)).affordable(9, 4.0)
    (20.0, 1)
    >>> Pace(True).after(Timed(1, 1.0)).after(Timed(100, 10.9)).after(Timed(101, 10.8)).seconds(1101)
    108.8
    """

    batch: bool
    last: Timed | None = None
    before: Timed | None = None

    def after(self, timed: Timed) -> Pace:
        """Return the pace that one more timing gives; two timings of about as many rows make no line."""
        apart = self.last is None or timed.rows >= 2 * self.last.rows
        return Pace(self.batch, timed, self.last if apart else self.before)

    def seconds(self, rows: int) -> float:
        """Return the seconds that so many rows would take."""
        last = self._last
        if self.batch and self.before is not None and rows > last.rows:
            return last.seconds + (rows - last.rows) * self._slope(last, self.before)
        return rows * last.per_row

    def affordable(self, rows: int, budget_s: float) -> int:
        """Return how many of the rows a budget allows: no fewer than were timed last."""
        last = self._last
        if self.seconds(rows) <= budget_s:
            return rows
        slope = self.seconds(last.rows + 1) - self.seconds(last.rows)
        return min(rows, last.rows + max(0, int((budget_s - last.seconds) / slope)))

    @property
    def _last(self) -> Timed:
        if self.last is None:
            raise ValueError("nothing was timed yet")
        return self.last

    @staticmethod
    def _slope(last: Timed, before: Timed) -> float:
        if last.rows == before.rows:
            return last.per_row
        return max((last.seconds - before.seconds) / (last.rows - before.rows), 1e-3 * last.per_row)


def repeated(call: Callable[[], float], rows: int, budget_s: float) -> Timed:
    """Call several times, until half of the budget is used, or a quarter for a single row; medians count.

    `call` returns the model's own seconds.
    """
    most, share = (SINGLE_REPEATS, 4) if rows == 1 else (REPEATS, 2)
    seconds: list[float] = []
    asked: list[float] = []
    while not seconds or (len(seconds) < most and sum(seconds) < budget_s / share):
        start = time.perf_counter()
        asked.append(call())
        seconds.append(time.perf_counter() - start)
    return Timed(rows, statistics.median(seconds), statistics.median(asked), len(seconds))


def peak_mb() -> float:
    """Return the most memory that this process has held since `forget_peak`, or since it began."""
    if STATUS.exists():  # unlike ru_maxrss, it does not begin with what the parent held
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def forget_peak() -> None:
    """Let the peak begin anew with what is held now, where the system can do that."""
    try:
        CLEAR.write_text("5")
    except OSError:
        return
