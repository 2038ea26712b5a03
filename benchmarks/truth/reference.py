"""The Shapley values that methods are measured against: exact where that is cheap, else many walks; kept."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cache import cache_folder
from benchmarks.truth import trees
from benchmarks.truth.case import Case
from benchmarks.truth.enumeration import enumerated
from benchmarks.truth.walks import Halves, walked
from illume._typing import FloatArray

NOISE = 0.002
MOST_FEATURES = 12
MOST_ASKS = 20_000_000


@dataclass(frozen=True, eq=False)
class Reference:
    """Shapley values, as two independent estimates where they are estimates, and how they were found."""

    halves: Halves
    how: str  # "trees", "enumeration" or "walks"
    seconds: float

    @property
    def values(self) -> FloatArray:
        """Return the values, (n, features, outputs)."""
        return self.halves.values

    def first(self, n: int) -> Reference:
        """Return the values of the first rows."""
        some = Halves(self.halves.first[:n], self.halves.second[:n], self.halves.asks)
        return Reference(some, self.how, self.seconds)

    def facts(self) -> dict[str, Any]:
        """Return what a result line says of it."""
        return {
            "reference": self.how,
            "reference_noise": self.halves.noise,
            "reference_asks": self.halves.asks,
            "reference_s": self.seconds,
        }


def reference(case: Case, *, noise: float = NOISE, most_asks: int = MOST_ASKS) -> Reference:
    """Return the values of a case, from disk where they were found before."""
    problem = case.problem
    name = f"{problem.name}-{problem.black_box}-{problem.seed}-{len(case.X)}-{noise:g}-{most_asks}"
    path = cache_folder() / "truth" / f"{name}-{case.digest()}.npz"
    if path.exists():
        with np.load(path) as kept:
            halves = Halves(kept["first"], kept["second"], int(kept["asks"]))
            return Reference(halves, str(kept["how"]), float(kept["seconds"]))
    found = computed(case, noise=noise, most_asks=most_asks)
    _write(found, path)
    return found


def computed(case: Case, *, noise: float = NOISE, most_asks: int = MOST_ASKS) -> Reference:
    """Find the values by the best of three ways."""
    start = time.perf_counter()
    values = trees.exact(case)
    how, asks = "trees", 0
    n_features = case.X.shape[1]
    if values is None and n_features <= MOST_FEATURES:
        asks = len(case.X) * 2**n_features * len(case.B)
        if asks <= most_asks:
            how, values = "enumeration", enumerated(case.log_odds, case.X, case.B)
    if values is not None:
        return Reference(Halves(values, values, asks), how, time.perf_counter() - start)
    seed = case.problem.seed
    halves = walked(case.log_odds, case.X, case.B, noise=noise, most_asks=most_asks, seed=seed)
    return Reference(halves, "walks", time.perf_counter() - start)


def _write(found: Reference, path: Path) -> None:
    """Write beside the file, then rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.stem}.{os.getpid()}.npz")
    np.savez_compressed(
        part,
        first=found.halves.first,
        second=found.halves.second,
        asks=found.halves.asks,
        how=found.how,
        seconds=found.seconds,
    )
    os.replace(part, path)
