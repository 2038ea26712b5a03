"""Memory of a fit on 1,000,000 x 50 rows, beside the data themselves."""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from benchmarks.records import record
from illume import Explainer, Training


def peak_mb() -> float:
    """Return the most memory this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> None:
    """Fit with all parts of a default fit; the training steps are few, for they add no memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    options = parser.parse_args()
    X = np.random.default_rng(0).normal(size=(options.rows, options.features))

    def model(rows: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-4 * rows[:, 0] * rows[:, 1]))

    small = Training(batch_size=256, learning_rate=3e-3, max_steps=300, decay=True, stability_rows=64)
    Explainer(model, n_latents=8, queries=1000, training=small, verbose=False).fit(
        X[:2000]
    )  # what torch loads
    before = peak_mb()
    start = time.perf_counter()
    explainer = Explainer(model, n_latents=8, training=small, verbose=False).fit(X)
    record(
        "memory",
        rows=options.rows,
        features=options.features,
        data_mb=X.nbytes / 1e6,
        added_mb=peak_mb() - before,
        times_the_data=(peak_mb() - before) / (X.nbytes / 1e6),
        fit_seconds=time.perf_counter() - start,
        agreement=explainer.quality_.agreement,
    )


if __name__ == "__main__":
    main()
