"""Rows a second of attributions from a NumPy array, the black box apart, with and without rows to refine.

The black box is a callable that costs next to nothing. Beside it stands what a bare sequence of the same
matrix products reaches in the same run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from benchmarks.records import record
from illume import Explainer, Training


def cheap_black_box(rows: np.ndarray) -> np.ndarray:
    """Answer from two columns only."""
    return 1 / (1 + np.exp(-4 * rows[:, 0] * rows[:, 1]))


def bare_products(explainer: Explainer, X: np.ndarray, chunk: int = 4096) -> float:
    """Return the seconds that the network's matrix products alone take."""
    weights = [torch.from_numpy(array) for array in explainer.pair_.encoder.weights_.values()]
    start = time.perf_counter()
    with torch.inference_mode():
        for i in range(0, len(X), chunk):
            h = torch.from_numpy(X[i : i + chunk].astype(np.float32))
            for W, b in zip(weights[::2], weights[1::2], strict=True):
                h = torch.addmm(b, h, W.T)
    return time.perf_counter() - start


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    """Measure one size, the issue's by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--latents", type=int, default=8)
    options = parser.parse_args()
    X = np.random.default_rng(0).normal(size=(options.rows, options.features))
    short = Training(batch_size=256, learning_rate=3e-3, max_epochs=3, decay=True)
    explainer = Explainer(
        cheap_black_box, n_latents=options.latents, queries=2000, training=short, verbose=False
    ).fit(X[:3000])
    encoder = explainer.quality_.encoder
    explainer(X[:10_000])
    asked = _seconds(lambda: cheap_black_box(X))
    times = [_seconds(lambda: explainer(X)) - asked for _ in range(4)]
    agreed = explainer(X).agreed
    plain = np.resize(X[agreed], X.shape)  # as many rows, none of which needs refinement
    unrefined = float(np.median([_seconds(lambda: explainer(plain)) - asked for _ in range(3)]))
    start_stream = time.perf_counter()
    for piece in explainer.stream(X):
        assert len(piece.values)
    streamed = time.perf_counter() - start_stream - asked
    bare = float(np.median([bare_products(explainer, X) for _ in range(3)]))
    seconds = float(np.median(times[1:]))  # the first call waits for the system to hand out memory
    record(
        "throughput",
        rows=options.rows,
        features=options.features,
        latents=options.latents,
        encoder=encoder,
        rows_per_second=options.rows / seconds,
        refined_share=float(1 - agreed.mean()),
        unrefined_rows_per_second=options.rows / unrefined,
        first_call_rows_per_second=options.rows / times[0],
        streamed_rows_per_second=options.rows / streamed,
        bare_products_rows_per_second=options.rows / bare,
        share_of_bare=bare / seconds,
        threads=torch.get_num_threads(),
    )


if __name__ == "__main__":
    main()
