"""How cost grows: one factor is varied at a time around a centre, each point in a process of its own."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.children import clock_and_processor, peak_mb, reset_peak, run_child
from benchmarks.harness import Cell, Line, choose, read
from benchmarks.speed.cells import ASLEEP
from benchmarks.speed.methods import fit_options
from benchmarks.speed.problems import generate_rows
from illume._typing import FloatArray

FACTORS = {
    "n": (1_000, 10_000, 100_000, 1_000_000),
    "r": (1_000, 10_000, 100_000, 1_000_000),
    "m": (8, 30, 100, 300),
    "k": (2, 4, 8, 16, 32),
    "c": (2, 3, 5, 10),
}
DEFAULT_TRAINING_ROWS = (1_000, 10_000, 100_000)  # also fitted with the default training
STEPS = 200
LIMIT_S = 300.0
MANY_ROWS = 100_000  # attributed at every point with the centre's r
MOST_ROWS = {"rules": 100_000, "counterfactuals": 10_000}
REPEAT_S, REPEATS, FIT_REPEAT_S = 4.0, 7, 12.0
LARGEST_EXPONENT = 1.05  # over rows; of the cost of one row, less by 1
EXPLAINED = ("attributions", "rules", "counterfactuals")
PARTS = {
    "fit": "fit",
    "fit prepare": "fit: reading and asking",
    "fit choose": "fit: training",
    "fit rest": "fit: the rest",
    "fit rules": "fit of rules",
    "many attributions": "100,000 attributions",
    **{name: name for name in EXPLAINED},
}
DEFAULT = ", default training"


@dataclass(frozen=True)
class Point:
    """Rows fitted and explained, columns, latents and classes; `steps` 0 is the default training.

    >>> Point(n=100).key
    'n100 r1000 m30 k8 c2 200 steps'
    """

    n: int = 10_000
    r: int = 1_000
    m: int = 30
    k: int = 8
    c: int = 2
    steps: int = STEPS

    @property
    def key(self) -> str:
        return f"n{self.n} r{self.r} m{self.m} k{self.k} c{self.c} {self.steps} steps"


CENTRE = Point()


def growth(quick: bool = False, factors: tuple[str, ...] = (), threads: int = 2) -> Iterator[Cell]:
    """Measure how cost grows with rows fitted (n) and explained (r), columns (m), latents (k), classes (c).

    The black box costs almost nothing. The machine must be idle.
    """
    for point in points(choose(FACTORS, factors, "factor"), quick=quick):
        yield Cell(asdict(point), partial(_measure, point, threads))


def points(factors: Sequence[str], *, quick: bool = False) -> list[Point]:
    """Return the points of some factors, the centre once.

    >>> [point.c for point in points(["c"])]
    [2, 3, 5, 10]
    """
    found = [
        replace(CENTRE, **{name: value})
        for name in factors
        for value in (FACTORS[name][:2] if quick else FACTORS[name])
    ]
    if "n" in factors and not quick:
        found += [replace(CENTRE, n=n, steps=0) for n in DEFAULT_TRAINING_ROWS]
    return list(dict.fromkeys(found))


def _measure(point: Point, threads: int) -> Line:
    """Measure a point in a child; figures measured before the time limit are kept."""
    answer = run_child(measure_point, threads=threads, variables=ASLEEP, limit_s=LIMIT_S, point=asdict(point))
    found = {"threads": threads} | (answer.lines[-1] if answer.lines else {})
    if answer.error and not (answer.late and answer.lines):
        return found | {"error": answer.error}
    return found | {"cut": answer.error}


def black_box(c: int) -> Callable[[FloatArray], FloatArray]:
    """Return a model of c classes that depends on products of columns, so that no global surrogate agrees."""
    angles = 2 * np.pi * np.arange(c) / c

    def predict(rows: FloatArray) -> FloatArray:
        one, other = rows[:, :1] * rows[:, 1:2], rows[:, :1] * rows[:, 2:3]
        if c == 2:
            return (1 / (1 + np.exp(-4 * one)))[:, 0]
        odds = np.exp(3 * (one * np.cos(angles) + other * np.sin(angles)).clip(-10, 10))
        return odds / odds.sum(1, keepdims=True)

    return predict


def measure_point(point: Line) -> Iterator[Line]:
    """Yield all figures of a point, after every measurement."""
    import illume

    at = Point(**point)
    X, rows = generate_rows(at.n, at.m, seed=0), generate_rows(max(at.r, MANY_ROWS), at.m, seed=1)
    explainer = illume.Explainer(black_box(at.c), **fit_options(at.k, at.steps, queries=2_000))
    small = illume.Explainer(black_box(2), **fit_options(2, steps=2))
    small.fit(generate_rows(200, 3, seed=2)).fit_rules()  # imports everything
    found: Line = {"load": os.getloadavg()[0], "seconds": {}, "processor": {}, "peak_mb": {}}
    fit_s = FIT_REPEAT_S if replace(at, n=CENTRE.n) == CENTRE else 0.0  # the exponent over n is asked for

    def add(name: str, call: Callable[[], object], within: float = REPEAT_S) -> Line:
        reset_peak()
        before, begun, times = peak_mb(), time.perf_counter(), []
        while len(times) < REPEATS and (not times or time.perf_counter() - begun + times[-1][0] < within):
            times.append(clock_and_processor(call))
        found["seconds"][name], found["processor"][name] = map(list, zip(*times, strict=True))
        found["peak_mb"][name] = peak_mb() - before
        return found

    add("fit", lambda: explainer.fit(X), fit_s)
    found["encoder"] = explainer.fit_latents().quality_.surrogate.encoder
    yield found
    if at.steps:
        add("fit rules", explainer.fit_rules, 0.0)  # a second call would find them fitted
        yield found
        for name, call in _calls(explainer, rows, at.r).items():
            yield add(name, call)


def _calls(explainer: Any, X: FloatArray, r: int) -> dict[str, Callable[[], object]]:
    """Return calls that explain the first r rows, warmed up; slow kinds only for fewer rows."""
    explainer(X[:100])
    explainer.counterfactuals(X[:100], n=1)
    rows = X[:r]

    def attribute(some: FloatArray) -> None:
        for piece in explainer.stream(some):
            len(piece)

    found: dict[str, Callable[[], object]] = {"attributions": lambda: attribute(rows)}
    if r == CENTRE.r:
        found["many attributions"] = lambda: attribute(X[:MANY_ROWS])
    if r <= MOST_ROWS["rules"]:
        found["rules"] = lambda: explainer.rules(rows)
    if r <= MOST_ROWS["counterfactuals"]:
        found["counterfactuals"] = lambda: explainer.counterfactuals(rows, n=1)
    return found


def read_points(path: Path) -> dict[Point, Line]:
    """Return the last line of each point in a result file."""
    names = Point.__dataclass_fields__
    return {Point(**{name: line[name] for name in names}): line for line in read(path)}


class Exponent(NamedTuple):
    """The slope of a line through the logarithms of sizes and seconds, with bounds from repeats."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        value, low, high = (f"{round(each, 2) + 0.0:.2f}" for each in self)  # + 0.0 turns -0.0 into 0.0
        return value if low == high else f"{value} ({low} to {high})"


@dataclass(frozen=True)
class Curve:
    """The seconds of repeated calls for each size of a factor, sizes ascending."""

    name: str
    sizes: tuple[float, ...]
    times: tuple[tuple[float, ...], ...]

    @property
    def seconds(self) -> list[float]:
        return [float(np.median(each)) for each in self.times]

    def exponent(self, last: int | None = None) -> Exponent:
        """Return the exponent over all sizes or the `last` few.

        Its bounds are the lowest and the highest slope of a line through any of the repeats.

        >>> str(Curve("fit", (10.0, 100.0), ((1.0, 1.0), (9.0, 10.0, 11.0))).exponent())
        '1.00 (0.95 to 1.04)'
        """
        sizes, times = (each[-last:] if last else each for each in (self.sizes, self.times))
        if len(sizes) < 2:
            return Exponent(math.nan, math.nan, math.nan)
        x = np.log(sizes) - np.mean(np.log(sizes))
        weights, logs = x / (x @ x), [np.log(each) for each in times]  # of the line of least squares
        value = sum(w * float(np.median(each)) for w, each in zip(weights, logs, strict=True))
        ends = [sorted((w * each.min(), w * each.max())) for w, each in zip(weights, logs, strict=True)]
        return Exponent(float(value), *(float(sum(end[i] for end in ends)) for i in (0, 1)))


def required_exponent(factor: str, name: str) -> float | None:
    """Return the largest exponent allowed at the upper end, if any.

    The cost of explaining a row must not depend on the number of rows fitted.

    >>> required_exponent("n", "fit of rules"), round(required_exponent("n", "rules"), 2)
    (1.05, 0.05)
    >>> required_exponent("r", "rules"), required_exponent("m", "fit")
    (1.05, None)
    """
    if factor == "n":
        return LARGEST_EXPONENT if name.startswith("fit") else LARGEST_EXPONENT - 1
    return LARGEST_EXPONENT if factor == "r" else None


def curves(lines: dict[Point, Line], factor: str) -> Iterator[Curve]:
    """Yield a curve for every figure with at least two sizes of a factor.

    Over rows explained there are only explanations; over other factors, attributions of many rows.
    """
    shown = EXPLAINED if factor == "r" else tuple(name for name in PARTS if name != "attributions")
    near = replace(CENTRE, **{factor: 0})
    for steps, suffix, names in ((STEPS, "", shown), (0, DEFAULT, ("fit",) if factor == "n" else ())):
        mine = [
            (getattr(point, factor), line["seconds"])
            for point, line in lines.items()
            if line["error"] is None and replace(point, **{factor: 0}) == replace(near, steps=steps)
        ]
        mine.sort(key=lambda each: each[0])
        for name in names:
            found = [(float(size), tuple(seconds[name])) for size, seconds in mine if seconds.get(name)]
            if len(found) > 1:
                yield Curve(PARTS[name] + suffix, *zip(*found, strict=True))
