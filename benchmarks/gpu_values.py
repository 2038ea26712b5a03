"""Rows per second of Shapley values, slopes and log-odds from GPU memory, at 30 features.

An explainer of a made-up model is fitted with little effort; speed does not depend on its weights. The
module's values are compared with the library's own on some rows first. It runs on a CPU, too, with `--rows`
small. Run: `python -m benchmarks.gpu_values`.
"""

from __future__ import annotations

import argparse
from typing import get_args

import numpy as np
import torch

from benchmarks.gpu_throughput import seconds, synchronise
from benchmarks.records import record
from illume import Explainer, torch_module
from illume.data.frames import as_frame
from illume.io.forward_pass import Precision

FEATURES = 30
CHECKED_ROWS = 4_096
WAYS: dict[str, dict[str, object] | None] = {"eager": None, "compiled": {"dynamic": False}}


def black_box(rows: np.ndarray) -> np.ndarray:
    """Answer from some columns, with an interaction."""
    return 1 / (1 + np.exp(-2 * rows[:, 0] * rows[:, 1] - rows[:, 2:8].sum(1)))


def main() -> None:
    """Measure every way and precision."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--chunk", type=int, default=2**18)
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, FEATURES))
    explainer = Explainer(black_box, effort="quick", queries=20_000, verbose=False).fit(X)
    wanted = explainer(X[:CHECKED_ROWS])
    encoded = explainer.encoding_.transform(as_frame(X[:CHECKED_ROWS])).X
    known = [torch.from_numpy(each).float().to(device) for each in (encoded, wanted.probabilities)]
    rows = torch.randn(arguments.rows, FEATURES, device=device)
    for precision in get_args(Precision):
        for way, compiling in WAYS.items():
            module = torch_module(
                explainer, precision=precision, chunk_rows=arguments.chunk, compiling=compiling
            ).to(device)
            figures: dict[str, object] = {"way": way, "precision": precision, "rows": len(rows)}
            try:
                found = module(*known).contributions[:, 0].double().cpu().numpy()
                figures["largest_error"] = float(np.abs(found - wanted.values).max() / wanted.values.std())
                module(rows)
                synchronise(device)
                figures["rows_per_second"] = len(rows) / seconds(lambda: module(rows), device)  # noqa: B023
            except Exception as error:  # some ways do not work everywhere
                figures["failed"] = f"{type(error).__name__}: {error}"[:300]
            record("gpu_values", **figures)


if __name__ == "__main__":
    main()
