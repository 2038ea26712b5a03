"""Memory beside the data themselves: of a fit on 1,000,000 x 50 rows, and of streaming attributions.

Each figure is the rise of the peak in a process of its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

from benchmarks.records import record
from illume import Explainer, Training

SMALL = Training(batch_size=256, learning_rate=3e-3, max_steps=300, decay=True, stability_rows=64)


def model(rows: np.ndarray) -> np.ndarray:
    """Answer from two columns only."""
    return 1 / (1 + np.exp(-4 * rows[:, 0] * rows[:, 1]))


def peak_mb() -> float:
    """Return the most memory this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def explainer_of(X: np.ndarray) -> Explainer:
    """Fit with all parts of a default fit; the training steps are few, for they add no memory."""
    return Explainer(model, n_latents=8, training=SMALL, verbose=False).fit(X)


def fit(rows: int, features: int) -> None:
    """Measure a fit."""
    X = np.random.default_rng(0).normal(size=(rows, features))
    explainer_of(X[:2000])  # what torch loads once
    before, start = peak_mb(), time.perf_counter()
    explainer = explainer_of(X)
    added = peak_mb() - before
    record(
        "memory",
        what="fit",
        rows=rows,
        features=features,
        data_mb=X.nbytes / 1e6,
        added_mb=added,
        times_the_data=added / (X.nbytes / 1e6),
        fit_seconds=time.perf_counter() - start,
        agreement=explainer.quality_.agreement,
    )


def stream(rows: int, features: int) -> None:
    """Measure attributions piece by piece."""
    X = np.random.default_rng(0).normal(size=(rows, features))
    explainer = explainer_of(X[:3000])
    explainer(X[:1000])
    before = peak_mb()
    n = sum(len(piece) for piece in explainer.stream(X))
    record("memory", what="stream", rows=n, features=features, added_mb=peak_mb() - before)


def main() -> None:
    """Measure one thing, or all of them in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["fit", "stream"])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    options = parser.parse_args()
    if options.what is None:
        for words in (["fit"], ["stream", "--rows", "200000"], ["stream", "--rows", "2000000"]):
            subprocess.run([sys.executable, "-m", "benchmarks.memory", *words], check=True)
    else:
        {"fit": fit, "stream": stream}[options.what](options.rows, options.features)


if __name__ == "__main__":
    main()
