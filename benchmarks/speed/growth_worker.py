"""One point of the growth benchmark: fit and its parts, attributions, rules and counterfactuals.

The black box is a callable that costs next to nothing.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import illume
from benchmarks.speed.growth import Point
from benchmarks.speed.ours import shortened
from benchmarks.speed.problems import generated
from illume import explainer as fitting
from illume._typing import FloatArray

PARTS = {"prepare": "fit prepare", "choose_pair": "fit choose"}  # names of what `fit` calls
RULE_ROWS = 100_000  # the most rows that rules, and
COUNTERFACTUAL_ROWS = 10_000  # counterfactuals, are asked for


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

    def _timed(self, function: Callable[..., Any], label: str) -> Callable[..., Any]:
        def call(*words: Any, **options: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*words, **options)
            finally:
                self.seconds[label] += time.perf_counter() - start

        return call


def measured(point: Point) -> dict[str, Any]:
    """Return the seconds of everything at one point."""
    X = generated(point.n, point.m, seed=0)
    clock = Clock(fitting, {name: label for name, label in PARTS.items() if hasattr(fitting, name)})
    options = shortened(point.steps) or {"queries": 2_000}
    explainer = illume.Explainer(black_box(point.c), n_latents=point.k, verbose=False, **options)
    seconds: dict[str, float | None] = {"fit": _seconds(lambda: explainer.fit(X))}
    seconds |= clock.seconds
    seconds["fit rest"] = seconds["fit"] - sum(clock.seconds.values())
    if point.steps:
        seconds["fit rules"] = _seconds(explainer.fit_rules)
        seconds |= explained(explainer, X)
    return {"seconds": seconds, "encoder": explainer.quality_.encoder}


def explained(explainer: illume.Explainer, X: FloatArray) -> dict[str, float | None]:
    """Return the seconds of explaining all rows, None where they are too many."""
    explainer(X[:100])
    explainer.rules(X[:100])
    explainer.counterfactuals(X[:100], n=1)
    n = len(X)
    return {
        "attributions": _median(lambda: [len(piece) for piece in explainer.stream(X)], n),
        "rules": _median(lambda: explainer.rules(X), n) if n <= RULE_ROWS else None,
        "counterfactuals": _median(lambda: explainer.counterfactuals(X, n=1), n)
        if n <= COUNTERFACTUAL_ROWS
        else None,
    }


def _median(call: Callable[[], object], n: int) -> float:
    return statistics.median(_seconds(call) for _ in range(5 if n <= 1_000 else 2))


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(measured(Point(**json.loads(sys.argv[1])))))
