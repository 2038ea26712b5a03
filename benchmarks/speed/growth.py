"""How cost grows: one factor is varied at a time around a centre, each point in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from benchmarks.records import provenance
from benchmarks.speed.run import environment
from benchmarks.store import append, read

FACTORS = {
    "n": (1_000, 10_000, 100_000, 1_000_000),
    "r": (1_000, 10_000, 100_000, 1_000_000),
    "m": (8, 30, 100, 300),
    "k": (2, 4, 8, 16, 32),
    "c": (2, 3, 5, 10),
}
QUICK_VALUES = {"n": (1_000, 10_000), "r": (1_000, 10_000), "m": (8, 30), "k": (2, 8), "c": (2, 5)}
DEFAULT_TRAINING = (1_000, 10_000, 100_000)  # rows that a fit with default training is measured with, too
STEPS = 200
LIMIT_S = 300.0


@dataclass(frozen=True)
class Point:
    """Rows fitted and rows explained, columns, latents and classes; `steps` 0 is the default training.

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
        """One line that names the point."""
        return f"n{self.n} r{self.r} m{self.m} k{self.k} c{self.c} {self.steps} steps"

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
    done = set() if again else {point.key for point, line in latest(path).items() if line["error"] is None}
    todo = [point for point in points(factors, quick=quick) if point.key not in done]
    origin, failed = provenance(), 0
    for point in tqdm(todo, unit="point", smoothing=0.0):
        line = measured(point, threads)
        append(path, asdict(point) | line | origin)
        failed += line["error"] is not None
        tqdm.write(f"{point.key}: {line['error'] or told(line)}")
    return failed


def latest(path: Path) -> dict[Point, dict[str, Any]]:
    """Return the lines of a result file by point; of several, the last."""
    return {Point.of(line): line for line in read(path)}


def measured(point: Point, threads: int) -> dict[str, Any]:
    """Measure a point in a process of its own; what it had measured by the limit is not lost."""
    words = [sys.executable, "-m", "benchmarks.speed.growth_worker", json.dumps(asdict(point))]
    options: dict[str, Any] = {"capture_output": True, "text": True, "check": False, "timeout": LIMIT_S}
    try:
        done = subprocess.run(words, env=environment(threads), **options)
        said, code, error = done.stdout, done.returncode, done.stderr.strip().splitlines()[-1:]
    except subprocess.TimeoutExpired as late:
        said, code = (late.stdout or b"").decode(), -1
        error = [f"over the limit of {LIMIT_S:.0f} s"]
    lines = [json.loads(text) for text in said.splitlines() if text.endswith("}")]
    found = {"threads": threads} | (lines[-1] if lines else {})
    if code and not (lines and code < 0):
        return found | {"error": (error or ["no answer"])[0][:200]}
    return found | {"error": None, "cut": error[0] if code else None}


def told(line: dict[str, Any]) -> str:
    """Return a line for a terminal."""
    said = [f"{name} {min(times):.3g} s" for name, times in line["seconds"].items()]
    return ", ".join(said + ([line["cut"]] if line.get("cut") else []))
