"""One point of the growth benchmark: fit and its parts, attributions, rules and counterfactuals.

The black box is a callable that costs next to nothing. After every measurement a line tells all that is known
so far.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import illume
from benchmarks.speed.growth import CENTRE, Point
from benchmarks.speed.ours import shortened
from benchmarks.speed.problems import generated
from benchmarks.speed.timing import forget_peak, peak_mb
from illume import explainer as fitting
from illume._typing import FloatArray

PARTS = {"prepare": "fit prepare", "choose_pair": "fit choose"}  # names of what `fit` calls
ATTRIBUTED = 100_000  # rows whose attributions are timed at every point where r is as at the centre
MOST_ROWS = {"rules": 100_000, "counterfactuals": 10_000}  # that are asked for, whatever r
REPEATED_S, REPEATS = 4.0, 7  # a call is repeated until it took so long in all, or so often
FIT_REPEATED_S = 12.0


def black_box(c: int) -> Callable[[FloatArray], FloatArray]:
    """Return a model of c classes that looks at products of three columns, so that no global line will do."""
    angles = 2 * np.pi * np.arange(c) / c

    def answer(rows: FloatArray) -> FloatArray:
        one, other = rows[:, :1] * rows[:, 1:2], rows[:, :1] * rows[:, 2:3]
        if c == 2:
            return (1 / (1 + np.exp(-4 * one)))[:, 0]
        odds = np.exp(3 * (one * np.cos(angles) + other * np.sin(angles)).clip(-10, 10))
        return odds / odds.sum(1, keepdims=True)

    return answer


class Clock:
    """Seconds spent in some functions of a module, by name."""

    def __init__(self, module: Any, names: dict[str, str]) -> None:
        self.seconds = dict.fromkeys(names.values(), 0.0)
        for name, label in names.items():
            setattr(module, name, self._timed(getattr(module, name), label))

    def taken(self) -> dict[str, float]:
        """Return the seconds since the last time this was asked."""
        found = self.seconds
        self.seconds = dict.fromkeys(found, 0.0)
        return found

    def _timed(self, function: Callable[..., Any], label: str) -> Callable[..., Any]:
        def call(*words: Any, **options: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*words, **options)
            finally:
                self.seconds[label] += time.perf_counter() - start

        return call


class Times:
    """Seconds of repeated calls by name, on the clock and of the processor; and the memory they add."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}
        self.processor: dict[str, list[float]] = {}
        self.peak_mb: dict[str, float] = {}

    def add(self, name: str, call: Callable[[], object], within: float = REPEATED_S) -> None:
        """Call until so many seconds are over."""
        forget_peak()
        before, begun = peak_mb(), time.perf_counter()
        clock, processor = self.seconds.setdefault(name, []), self.processor.setdefault(name, [])
        while len(clock) < REPEATS and (not clock or time.perf_counter() - begun + clock[-1] < within):
            start, used = time.perf_counter(), time.process_time()
            call()
            clock.append(time.perf_counter() - start)
            processor.append(time.process_time() - used)
        self.peak_mb[name] = peak_mb() - before


def measured(point: Point) -> Iterator[dict[str, Any]]:
    """Yield all that is known of a point, after every measurement."""
    X, rows = generated(point.n, point.m, seed=0), generated(max(point.r, ATTRIBUTED), point.m, seed=1)
    explainer = illume.Explainer(black_box(point.c), n_latents=point.k, verbose=False, **_training(point))
    _warm_up()
    times, clock = Times(), Clock(fitting, PARTS)
    known = {"load": os.getloadavg()[0]} | vars(times)

    def fit() -> None:
        start = time.perf_counter()
        explainer.fit(X)
        parts = clock.taken()
        parts["fit rest"] = time.perf_counter() - start - sum(parts.values())
        for name, seconds in parts.items():
            times.seconds.setdefault(name, []).append(seconds)

    times.add("fit", fit, FIT_REPEATED_S if _many(point) else 0.0)
    yield known | {"encoder": explainer.quality_.encoder}
    if point.steps:
        known["encoder"] = explainer.quality_.encoder
        times.add("fit rules", lambda: _rules_anew(explainer), FIT_REPEATED_S if _many(point) else 0.0)
        yield known
        for name, call in calls(explainer, rows, point.r).items():
            times.add(name, call)
            yield known


def calls(explainer: illume.Explainer, X: FloatArray, r: int) -> dict[str, Callable[[], object]]:
    """Return what explains the first r rows, each kind warm; no more rows than would take a minute or so."""
    explainer(X[:100])
    explainer.counterfactuals(X[:100], n=1)
    rows = X[:r]
    found: dict[str, Callable[[], object]] = {"attributions": lambda: _streamed(explainer, rows)}
    if r == CENTRE.r:
        found["many attributions"] = lambda: _streamed(explainer, X[:ATTRIBUTED])
    if r <= MOST_ROWS["rules"]:
        found["rules"] = lambda: explainer.rules(rows)
    if r <= MOST_ROWS["counterfactuals"]:
        found["counterfactuals"] = lambda: explainer.counterfactuals(rows, n=1)
    return found


def _training(point: Point) -> dict[str, Any]:
    return shortened(point.steps) or {"queries": 2_000}


def _warm_up() -> None:
    """Let everything be imported that a fit needs."""
    X = generated(200, 3, seed=2)
    illume.Explainer(black_box(2), n_latents=2, verbose=False, **shortened(2)).fit(X).fit_rules()


def _many(point: Point) -> bool:
    """Say whether only the number of rows fitted differs from the centre: its exponent is asked for."""
    return replace(point, n=CENTRE.n) == CENTRE


def _rules_anew(explainer: illume.Explainer) -> None:
    explainer.__dict__.pop("rule_model_", None)
    explainer.fit_rules()


def _streamed(explainer: illume.Explainer, rows: FloatArray) -> None:
    for piece in explainer.stream(rows):
        len(piece)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for line in measured(Point(**json.loads(sys.argv[1]))):
        print(json.dumps(line), flush=True)
