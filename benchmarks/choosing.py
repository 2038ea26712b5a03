"""What choosing the number of latents and the alignment costs: a fit that chooses against one that is told.

The two take turns, several times, on the same rows with the same black box and seed; the fit that is told
gets what the other one chose. On a CPU the processor time of one thread is measured, on a GPU the clock's.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.records import record
from illume import Explainer, Objective

SIZES = {
    "small": (5_000, 20, 8),
    "wide": (20_000, 60, 15),
    "wider": (10_000, 105, 20),
}  # rows, inputs, telling


def problem(name: str, seed: int) -> tuple[Any, Any]:
    """Return rows and a gradient-boosting model of them."""
    if name == "breast":
        X, y = load_breast_cancer(return_X_y=True)
    else:
        n, m, telling = SIZES[name]
        X, y = make_classification(n, m, n_informative=telling, random_state=seed)
    return X, HistGradientBoostingClassifier(random_state=0).fit(X, y)


def fitted(model: Any, X: Any, device: str, **settings: Any) -> tuple[Explainer, float]:
    """Fit, and return how long that took."""
    cuda = device.startswith("cuda")
    clock = time.perf_counter if cuda else time.process_time
    start = clock()
    explainer = Explainer(model, device=device, verbose=False, **settings).fit(X)
    if cuda:
        torch.cuda.synchronize()
    return explainer, clock() - start


def measure(name: str, seed: int, options: argparse.Namespace) -> float:
    """Let the two fits take turns, record the medians and return their ratio."""
    X, model = problem(name, seed)
    device, repeats, queries = options.device, options.repeats, options.queries
    usual = {"random_state": seed, "queries": queries}
    seconds: dict[str, list[float]] = {"choosing": [], "told": []}
    fitted(model, X[:300], device, **(usual | {"queries": 300}))  # libraries are loaded before the clock runs
    for _ in range(repeats):
        chose, found = fitted(model, X, device, **usual)
        seconds["choosing"].append(found)
        alignment = chose.quality_.alignment
        told = {
            "n_latents": chose.local_.n_latents,
            "objective": Objective.preset("aligned").softened(1.0 if alignment is None else alignment),
        }
        alone, found = fitted(model, X, device, **(usual | told))
        seconds["told"].append(found)
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    ratio = medians["choosing"] / medians["told"]
    record(
        options.table,
        data=name,
        rows=len(X),
        inputs=X.shape[1],
        seed=seed,
        device=torch.cuda.get_device_name() if device.startswith("cuda") else device,
        threads=torch.get_num_threads(),
        repeats=repeats,
        queries=queries,
        n_latents=chose.local_.n_latents,
        alignment=alignment,
        choosing_seconds=medians["choosing"],
        told_seconds=medians["told"],
        times_as_long=ratio,
        same=bool(np.array_equal(chose(X[:200]).values, alone(X[:200]).values)),
        agreement=chose.quality_.agreement,
    )
    return ratio


def main() -> None:
    """Measure the data sets named on the command line, three by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=["breast", "small", "wide"])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--queries", type=int, default=30_000)
    parser.add_argument("--table", default="choosing", help="name of the result file")
    options = parser.parse_args()
    if not options.device.startswith("cuda"):
        torch.set_num_threads(1)
    for name in options.data:
        for seed in range(options.seeds):
            measure(name, seed, options)


if __name__ == "__main__":
    main()
