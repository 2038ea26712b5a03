"""A method made ready for a case, and what comes of explaining its rows: values, seconds, asks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.truth.case import Case
from illume._typing import FloatArray, IntArray

MANY = 10_000
CHUNK = 5
LEAST_ROWS = 25
MANY_S = 30.0  # as many rows are timed for real where they take no longer than this

Values = tuple[FloatArray, FloatArray | None]  # contributions and standard errors, (n, features, outputs)


@dataclass(frozen=True, eq=False)
class Ready:
    """A method that explains rows by their positions among those of a case; positions may repeat.

    Parameters
    ----------
    explain
        Returns contributions and, where there are any, their standard errors.
    at_once
        All rows are explained in one call.
    fit_s, fit_asks
        What it took to be ready.
    setting
        What a reader should know.
    """

    explain: Callable[[IntArray], Values]
    at_once: bool = False
    fit_s: float = 0.0
    fit_asks: int = 0
    setting: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Told:
    """The contributions of the first rows of a case, and figures of cost."""

    values: FloatArray
    errors: FloatArray | None
    costs: dict[str, Any]


def told(
    case: Case, ready: Ready, budget_s: float, *, chunk: int = CHUNK, least_rows: int = LEAST_ROWS
) -> Told:
    """Explain the rows of a case, or the first where time is up; then many rows where that is fast."""
    n, before, start = len(case.X), case.counted.asks, time.perf_counter()
    parts: list[Values] = []
    done = 0
    while done < n:
        step = n if ready.at_once else chunk
        parts.append(ready.explain(np.arange(done, min(n, done + step))))
        done = min(n, done + step)
        if time.perf_counter() - start > budget_s and done >= min(n, least_rows):
            break
    seconds, asks = time.perf_counter() - start, case.counted.asks - before
    many_s, timed = many(ready, n, done, seconds)
    errors = [error for _, error in parts if error is not None]
    costs = {
        "rows_explained": done,
        "fit_s": ready.fit_s,
        "fit_asks": ready.fit_asks,
        "explain_s": seconds,
        "many_rows": MANY,
        "many_s": many_s,
        "many_extrapolated": timed < MANY,
        "asks_per_row": asks / done,
    }
    values = np.concatenate([part for part, _ in parts])
    return Told(values, np.concatenate(errors) if errors else None, costs | {"setting": ready.setting})


def many(ready: Ready, n: int, done: int, seconds: float) -> tuple[float, int]:
    """Return seconds for many rows, and on how many they were timed: more and more, where that is fast."""
    rows = done
    for wanted in (MANY // 10, MANY):
        if not ready.at_once or rows >= wanted or seconds / rows * wanted > MANY_S:
            continue
        start = time.perf_counter()
        ready.explain(np.arange(wanted) % n)
        seconds, rows = time.perf_counter() - start, wanted
    return seconds / rows * MANY, rows
