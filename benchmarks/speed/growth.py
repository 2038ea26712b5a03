"""How cost grows: one factor is varied at a time around a centre, each point in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from benchmarks.records import provenance
from benchmarks.speed.run import environment
from benchmarks.store import append, read

FACTORS = {
    "n": (1_000, 10_000, 100_000, 1_000_000),
    "m": (8, 30, 100, 300),
    "k": (2, 4, 8, 16, 32),
    "c": (2, 3, 5, 10),
}
QUICK_VALUES = {"n": (1_000, 10_000), "m": (8, 30), "k": (2, 8), "c": (2, 5)}
DEFAULT_TRAINING = (1_000, 10_000, 100_000)  # rows that a fit with default training is measured with, too
STEPS = 200
LIMIT_S = 300.0
ASKED = 1.05  # the largest exponent of n


@dataclass(frozen=True)
class Point:
    """Rows, columns, latents and classes; `steps` 0 is the default training.

    >>> Point(n=100).key
    'n100 m30 k8 c2 200 steps'
    """

    n: int = 10_000
    m: int = 30
    k: int = 8
    c: int = 2
    steps: int = STEPS

    @property
    def key(self) -> str:
        """One line that names the point."""
        return f"n{self.n} m{self.m} k{self.k} c{self.c} {self.steps} steps"

    @classmethod
    def of(cls, line: dict[str, Any]) -> Point:
        """Read the point off a result line."""
        return cls(**{name: line[name] for name in cls.__dataclass_fields__})


CENTRE = Point()


def points(factors: Sequence[str], *, quick: bool = False) -> list[Point]:
    """Return the points of some factors, the centre once.

    >>> [point.c for point in points(["c"])]
    [2, 3, 5, 10]
    """
    values = QUICK_VALUES if quick else FACTORS
    found = [replace(CENTRE, **{name: value}) for name in factors for value in values[name]]
    if "n" in factors and not quick:
        found += [replace(CENTRE, n=n, steps=0) for n in DEFAULT_TRAINING]
    return list(dict.fromkeys(found))


def run(
    factors: Sequence[str], path: Path, *, quick: bool = False, again: bool = False, threads: int = 2
) -> int:
    """Measure the points that the file does not have; return how many failed."""
    done = set() if again else {point.key for point in latest(path)}
    todo = [point for point in points(factors, quick=quick) if point.key not in done]
    origin, failed = provenance(), 0
    for point in tqdm(todo, unit="point", smoothing=0.0):
        line = measured(point, threads)
        append(path, asdict(point) | line | origin)
        failed += line["error"] is not None
        tqdm.write(f"{point.key}: {line['error'] or _told(line)}")
    return failed


def latest(path: Path) -> dict[Point, dict[str, Any]]:
    """Return the lines of a result file by point; of several, the last."""
    return {Point.of(line): line for line in read(path)}


def measured(point: Point, threads: int) -> dict[str, Any]:
    """Measure a point in a process of its own."""
    words = [sys.executable, "-m", "benchmarks.speed.growth_worker", json.dumps(asdict(point))]
    start = {"threads": threads}
    try:
        done = subprocess.run(
            words, env=environment(threads), capture_output=True, text=True, check=False, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return start | {"error": f"over the limit of {LIMIT_S:.0f} s"}
    if done.returncode:
        return start | {"error": (done.stderr.strip().splitlines() or ["no answer"])[-1][:200]}
    return start | json.loads(done.stdout.strip().splitlines()[-1]) | {"error": None}


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope of a line through the logarithms: 1 where cost is in proportion to size.

    >>> round(exponent([1, 10, 100], [2.0, 20.0, 200.0]), 6), round(exponent([1, 4, 16], [3.0, 6.0, 12.0]), 6)
    (1.0, 0.5)
    """
    if len(sizes) < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def curves(lines: dict[Point, dict[str, Any]], factor: str) -> Iterator[tuple[str, list[float], list[float]]]:
    """Yield, for every figure in seconds, the sizes of a factor and what they cost."""
    near = replace(CENTRE, **{factor: 0})
    for steps, suffix in ((STEPS, ""), (0, ", default training")):
        mine = sorted(
            (getattr(point, factor), line)
            for point, line in lines.items()
            if line["error"] is None
            and replace(point, **{factor: 0}, steps=STEPS) == near
            and point.steps == steps
        )
        for name in PARTS if not suffix else {"fit": PARTS["fit"]}:
            found = [(size, line["seconds"][name]) for size, line in mine if line["seconds"].get(name)]
            if len(found) > 1:
                sizes, seconds = zip(*found, strict=True)
                yield PARTS[name] + suffix, list(map(float, sizes)), list(seconds)


PARTS = {
    "fit": "fit",
    "fit prepare": "fit: reading and asking",
    "fit choose": "fit: training",
    "fit rest": "fit: the rest",
    "fit rules": "fit of rules",
    "attributions": "attributions",
    "rules": "rules",
    "counterfactuals": "counterfactuals",
}


def _told(line: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:.3g} s" for name, value in line["seconds"].items() if value is not None)
