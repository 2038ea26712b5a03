"""Compare the speed of two checkouts by alternating runs of both."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.children import run_child
from benchmarks.harness import ROOT, Cell, Line


def commits(before: str = "", repeats: int = 3, adult: bool = False) -> Iterator[Cell]:
    """Measure this checkout and another, the folder `before`, by turns; a ratio above 1 is slower now."""
    if not (Path(before) / "src" / "illume").is_dir() or not before:
        raise SystemExit("name the folder of another checkout: --before FOLDER")
    settings = {"repeats": repeats, "adult": adult}
    yield Cell(settings, lambda: compare(Path(before).resolve(), repeats, adult))


def compare(before: Path, repeats: int, adult: bool) -> Line:
    """Return median and extreme ratios of the seconds now to the seconds before."""
    runs = [(time_checkout(before, adult), time_checkout(ROOT, adult)) for _ in range(repeats)]
    ratios = {call: [now[call] / then[call] for then, now in runs] for call in runs[0][1]}
    return {
        "ratio": {call: round(statistics.median(found), 3) for call, found in ratios.items()},
        "spread": {call: [round(min(found), 3), round(max(found), 3)] for call, found in ratios.items()},
        "seconds": [{"before": then, "now": now} for then, now in runs],
        "seed": 0,
    }


def time_checkout(folder: Path, adult: bool) -> Line:
    """Return the seconds of each call in a checkout."""
    path = {"PYTHONPATH": os.pathsep.join([str(folder / "src"), str(ROOT)])}
    file = str(Path(os.environ["ILLUME_DATA"]) / "adult.csv.gz") if adult else ""
    found = run_child(time_calls, variables=path, adult=file).last()
    words = [sys.executable, "-m", "illume", "--help"]
    options = {"env": os.environ | path, "stdout": subprocess.DEVNULL, "check": True}
    return found | {"illume --help": fastest(lambda: subprocess.run(words, **options), 5)}


def fastest(work: Callable[[], object], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


class KnownAnswers:
    """Looks answers up while `known` is set, so that the model's own time is left out."""

    def __init__(self, model: Any) -> None:
        self.model, self.known = model, None

    def predict_proba(self, frame: pd.DataFrame) -> Any:
        return self.model.predict_proba(frame) if self.known is None else self.known[frame.index]


def time_calls(adult: str) -> Iterator[Line]:
    """Time the main calls of whichever illume is on the path, by calls that every version has."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    import illume

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(100_000, 30)), columns=[f"x{j}" for j in range(30)])
    train, y = X[:5_000], (X["x0"] * X["x1"] + X["x2"] > 0)[:5_000]
    model = KnownAnswers(HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(train, y))
    explainer = illume.Explainer(model, queries=20_000, effort="quick", verbose=False).fit(train).fit_rules()
    found = {"counterfactuals": fastest(lambda: explainer.counterfactuals(X[:300], n=2))}
    model.known = model.predict_proba(X)
    found["attributions"] = fastest(lambda: explainer(X).values, 5)
    found["rules"] = fastest(lambda: explainer.rules(X[:5_000]))
    if adult:
        frame = pd.read_csv(adult)
        rows, target = frame.iloc[:, :-1].copy(), frame.iloc[:, -1]
        for name in rows.select_dtypes(exclude="number"):
            rows[name] = rows[name].astype("category")
        boosting = HistGradientBoostingClassifier(random_state=0, categorical_features="from_dtype")
        fit = illume.Explainer(boosting.fit(rows, target), queries=200_000, verbose=False).fit
        found["fit on adult"] = fastest(lambda: fit(rows), 1)
    yield found
