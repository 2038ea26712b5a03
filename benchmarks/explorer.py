"""Time the explorer's engine in Node, and measure how large its parts are."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import illume.report
from benchmarks.harness import Cell, Line, choose
from illume import Explainer
from illume.explanations.asked import Asked
from illume.report.explorer_payload import explorer_payload

ENGINE = Path(illume.report.__file__).parent / "static" / "engine.js"
SCRIPT = Path(__file__).with_name("time_engine.mjs")


def score(X: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Sum a few columns, a square and a product."""
    x = X.to_numpy()
    return np.asarray(x[:, 0] + x[:, 1] ** 2 - x[:, 2] * x[:, 3] + 0.5 * x[:, 4])


def _seven(X: pd.DataFrame) -> np.ndarray[Any, Any]:
    powers = np.exp(-np.abs(score(X)[:, None] - np.arange(-2, 5)))
    return np.asarray(powers / powers.sum(1, keepdims=True))


TREES = "trees"
MODELS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "binary": lambda X: 1 / (1 + np.exp(1 - score(X))),
    "seven classes": _seven,
    "regression": lambda X: 100 * score(X),
}


def boosted(X: pd.DataFrame) -> Any:
    """Return 300 trees of 31 leaves, which a page holds."""
    from lightgbm import LGBMClassifier

    y = score(X) + np.random.default_rng(1).normal(size=len(X)) > 1
    return LGBMClassifier(n_estimators=300, num_leaves=31, n_jobs=1, verbose=-1).fit(X, y)


def explorer(
    rows: int = 1_000, features: int = 30, queries: int = 20_000, models: tuple[str, ...] = ()
) -> Iterator[Cell]:
    """Time explanations, curves, heat maps and least changes of one row, in milliseconds.

    The least of all turns is what the engine needs, the median what it took beside everything else that the
    machine did.
    """

    def measure(name: str) -> Line:
        X = pd.DataFrame(np.random.default_rng(0).normal(size=(rows, features)))
        X.columns = [f"x{j}" for j in range(features)]
        model = MODELS[name] if name in MODELS else boosted(X)
        explainer = Explainer(model, effort="quick", queries=queries, verbose=False).fit(X)
        fitted = explainer.fitted_
        payload = explorer_payload(fitted, Asked.of(fitted, X[:300]))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "payload.json"
            path.write_text(json.dumps(payload))
            load, command = os.getloadavg()[0], ["node", str(SCRIPT), str(ENGINE), str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
        line: Line = {"exact": fitted.twin.exact, "load_before": load, "seed": 0}
        for what, taken in json.loads(done.stdout).items():
            line |= {f"{what}_least_ms": min(taken), f"{what}_median_ms": float(np.median(taken))}
        return line | {f"{part}_bytes": len(json.dumps(each)) for part, each in payload.items()}

    for name in choose([*MODELS, TREES], models, "model"):
        settings = {"model": name, "rows": rows, "features": features, "queries": queries}
        yield Cell(settings, lambda name=name: measure(name))
