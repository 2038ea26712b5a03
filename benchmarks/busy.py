"""Time one default fit on an idle machine, with one thread, and beside busy processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import numpy as np
import pandas as pd

from benchmarks.children import run_child
from benchmarks.harness import Cell, Line, choose, read
from benchmarks.markup import MISSING, Table, seconds

LEVELS = 6
CONDITIONS = {  # threads (0: the libraries' default) and busy processes
    "idle": (0, 0),
    "one thread": (1, 0),
    "beside 1": (0, 1),
    "beside 2": (0, 2),
    "beside 4": (0, 4),
}
# ends when its parent is gone
SPIN = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(10**6):
        pass
"""
ABOUT = "One default fit in a process of its own; all in one run. Beside n: n processes that never rest."


def busy(
    rows: int = 8_000,
    features: int = 23,
    repeats: int = 1,
    limit_s: float = 600.0,
    conditions: tuple[str, ...] = (),
) -> Iterator[Cell]:
    """Time the same fit in all conditions; ratios are to the idle fit of this run.

    About a third of the features are categories; the fastest of the repeats counts.
    """
    run, idle = uuid4().hex[:8], []

    def measure(threads: int, beside: int) -> Line:
        load = os.getloadavg()[0]
        with spin(beside):
            found = [
                run_child(time_fit, threads=threads, limit_s=limit_s, rows=rows, features=features)
                for _ in range(repeats)
            ]
        facts = {"threads": threads, "beside": beside, "repeats": repeats, "seed": 0, "load_before": load}
        good = [answer.lines[-1]["fit_s"] for answer in found if answer.error is None]
        if not good:
            return facts | {"error": found[0].error}
        if (threads, beside) == (0, 0):
            idle.append(min(good))
        ratio = {"ratio": min(good) / idle[0]} if idle else {}
        return facts | {"fit_s": min(good)} | ratio

    for name in choose(CONDITIONS, conditions, "condition"):
        settings = {"run": run, "condition": name, "rows": rows, "features": features}
        yield Cell(settings, lambda name=name: measure(*CONDITIONS[name]))


def time_fit(rows: int, features: int) -> Iterator[Line]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    from illume import Explainer

    X, y = generate_frame(rows, features)
    model = HistGradientBoostingClassifier(random_state=0, categorical_features="from_dtype").fit(X, y)
    start = time.perf_counter()
    Explainer(model, random_state=0, verbose=False).fit(X)
    yield {"fit_s": time.perf_counter() - start}


def generate_frame(n: int, m: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows where every third feature is a category, and labels that depend on the first twelve.

    >>> generate_frame(5, 4)[0].dtypes.astype(str).tolist()
    ['float64', 'float64', 'category', 'float64']
    """
    rng = np.random.default_rng(seed)
    columns, score = {}, np.zeros(n)
    for j in range(m):
        weight = rng.normal(size=LEVELS)
        if j % 3 == 2:
            codes = rng.integers(LEVELS, size=n)
            columns[f"x{j}"] = pd.Categorical.from_codes(codes, [f"l{i}" for i in range(LEVELS)])
            score += weight[codes] if j < 12 else 0.0
        else:
            values = rng.standard_normal(n)
            columns[f"x{j}"] = values
            score += weight[0] * np.sin(2 * values) + weight[1] * values if j < 12 else 0.0
    return pd.DataFrame(columns), (score + rng.normal(0, 0.5, n) > 0).astype(int)


@contextmanager
def spin(n: int) -> Iterator[None]:
    """Keep n processes busy."""
    started = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(n)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def tables(results: Path) -> list[Table]:
    """Return the table of the last run, if there is one."""
    lines = list(read(results / "busy.jsonl"))
    rows = []
    for line in lines:
        if line["run"] == lines[-1]["run"]:
            taken = seconds(line["fit_s"]) if line["error"] is None else line["error"]
            ratio = f"{line['ratio']:.2f}" if "ratio" in line else MISSING
            rows.append((line["condition"], taken, ratio))
    head = ("machine", "fit, s", "times idle")
    return [Table("busy", "A fit on a busy machine", head, tuple(rows), (ABOUT,))] if rows else []
