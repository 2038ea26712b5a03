"""Seconds that each picture takes, drawn and rendered, for many rows of many features.

The result is made once, apart; a picture is drawn several times, and the median counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd

from benchmarks.records import record
from illume import Explainer, Training, plots

mpl.use("Agg")


def black_box(rows: pd.DataFrame) -> np.ndarray:
    """Answer with three classes from a few columns only."""
    X = rows.to_numpy()
    scores = np.exp(np.column_stack([X[:, 0] * X[:, 1], X[:, 2], -X[:, 2]]))
    return scores / scores.sum(1, keepdims=True)


def pictures(explainer: Explainer, frame: pd.DataFrame) -> dict[str, Callable[[], Any]]:
    """Return what draws each picture."""
    batch, latents = explainer(frame), explainer.latents(frame, maps=True)
    few = frame.iloc[:20]
    rules, found = explainer.rules(few), explainer.counterfactuals(few)
    long_rule = max(rules, key=lambda rule: len(rule.conditions))
    return {
        "bar": lambda: plots.bar(batch),
        "waterfall": lambda: plots.waterfall(batch[0]),
        "beeswarm": lambda: plots.beeswarm(batch, n_features=frame.shape[1]),
        "dependence": lambda: plots.dependence(batch, 0),
        "decision_paths": lambda: plots.decision_paths(batch, n_features=frame.shape[1], highlight=[0, 1]),
        "exemplification": lambda: plots.exemplification(latents[0]),
        "row_map": lambda: plots.row_map(latents[0], n_inputs=frame.shape[1]),
        "latent_map": lambda: plots.latent_map(latents),
        "rule": lambda: plots.rule(long_rule, frame),
        "counterfactual": lambda: plots.counterfactual(max(found, key=lambda one: len(one.examples))),
        "compare_rows": lambda: plots.compare_rows(batch[0], batch[1]),
        "compare": lambda: plots.compare({"one": batch[0], "other": batch[1].contributions()}),
        "quality": lambda: plots.quality(batch),
        "history": lambda: plots.history(explainer.history_),
    }


def seconds(draw: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Return the median time to draw a picture and render it: by the clock, and of the processor."""
    from matplotlib import pyplot as plt

    times = []
    for _ in range(repeats):
        start, worked = time.perf_counter(), time.process_time()
        np.ravel(draw())[0].figure.canvas.draw()
        times.append((time.perf_counter() - start, time.process_time() - worked))
        plt.close("all")
    clock, processor = np.median(times, axis=0)
    return float(clock), float(processor)


def main() -> None:
    """Measure one size, 1,000 rows of 60 features by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--features", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    X = np.random.default_rng(0).normal(size=(options.rows, options.features))
    names = [f"a column with the rather long name of number {j}" for j in range(options.features)]
    frame = pd.DataFrame(X, columns=names)
    short = Training(batch_size=256, learning_rate=3e-3, max_epochs=3, decay=True)
    explainer = Explainer(
        black_box, n_latents=2, queries=1000, training=short, class_names=["low", "mid", "top"], verbose=False
    ).fit(frame)
    for name, draw in pictures(explainer, frame).items():
        clock, processor = seconds(draw, options.repeats)
        size = {"rows": options.rows, "features": options.features}
        record("plot-speed", plot=name, **size, seconds=clock, processor_seconds=processor)


if __name__ == "__main__":
    main()
