"""Rows a second of attributions from a NumPy array, the black box apart, with and without rows to refine.

The black box is a callable that costs next to nothing. Beside it stands what a bare sequence of the same
matrix products reaches in the same run, in PyTorch or in NumPy over the same threads, whichever is faster.
Measurements take turns, so that a busy machine slows all of them alike. `eager` asks at once for all that is
otherwise computed when it is read: slopes, trust figures, and which rows are far from all fitted ones.

The products keep nothing; a result of 1,000,000 rows has half a gigabyte. What the system takes for memory
that it hands out is a figure of its own, `fresh_ns_per_byte`. With `--memory kept`, the process keeps what it
was given once (two variables of the C library), so that only the first round pays for it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import threadpool_limits

import illume
from benchmarks.records import record
from illume import Explainer, Training
from illume.data.threads import in_chunks, row_chunks

Call = Callable[[], object]
KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}  # glibc's, on Linux


def cheap_black_box(rows: np.ndarray) -> np.ndarray:
    """Answer from two columns only."""
    return 1 / (1 + np.exp(-4 * rows[:, 0] * rows[:, 1]))


class Multiplying:
    """The same answers, after matrix products such as those of a small network."""

    def __init__(self, n_features: int) -> None:
        rng = np.random.default_rng(0)
        self.layers = [rng.normal(size=shape) for shape in ((n_features, 64), (64, 32))]

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Multiply, and answer."""
        for part in row_chunks(len(rows), 65_536):
            h = rows[part]
            for layer in self.layers:
                h = h @ layer
        return cheap_black_box(rows)


def replaced_model(explainer: Explainer, model: Callable[[np.ndarray], np.ndarray]) -> Explainer:
    """Return the same explainer for another model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "explainer.illume"
        explainer.save(path)
        return illume.load(path, model)


def layers_of(explainer: Explainer) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the weights (in, out) and biases of the layers of the network that gives Shapley values."""
    values = explainer.shapley_.values
    return [(values.first, values.first_bias), (values.last, values.last_bias)]


def torch_products(explainer: Explainer, X: np.ndarray, chunk: int = 4096) -> None:
    """Do the network's matrix products alone, in PyTorch."""
    layers = [(torch.from_numpy(W), torch.from_numpy(b)) for W, b in layers_of(explainer)]
    with torch.inference_mode():
        for i in range(0, len(X), chunk):
            rows = torch.from_numpy(X[i : i + chunk].astype(np.float32))
            for W, b in layers:
                torch.addmm(b, rows.new_ones(len(rows), len(W)), W)


def numpy_products(explainer: Explainer, X: np.ndarray, chunk: int = 1024) -> None:
    """Do the same in NumPy, a chunk in each thread."""
    layers = layers_of(explainer)

    def products(rows: slice) -> None:
        n = len(X[rows].astype(np.float32))
        for W, b in layers:
            h = np.ones((n, len(W)), dtype=np.float32) @ W
            h += b

    in_chunks(products, len(X), chunk)


def seconds(call: Call) -> tuple[float, float]:
    """Return how long a call takes, and how long processors work for it."""
    start, worked = time.perf_counter(), time.process_time()
    kept = call()
    taken = time.perf_counter() - start, time.process_time() - worked
    del kept  # when the clock has stopped
    return taken


def in_turns(calls: dict[str, Call], rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the median seconds of every call, taken in turns: by the clock, and of the processors."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(seconds(call))
    median = {name: np.median(taken, axis=0) for name, taken in times.items()}
    clock, work = ({name: float(taken[i]) for name, taken in median.items()} for i in (0, 1))
    return clock, work


@contextmanager
def limited(n_threads: int) -> Iterator[None]:
    """Bound the threads of all libraries."""
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        with threadpool_limits(n_threads):
            yield
    finally:
        torch.set_num_threads(before)


def eager(explainer: Explainer, X: np.ndarray) -> object:
    """Explain, and look everything up: slopes and the surrogate's answers, too."""
    result = explainer(X)
    return result, result.trust.agreement, result.outside, result.slopes


def streamed(explainer: Explainer, X: np.ndarray) -> int:
    """Explain piece by piece."""
    return sum(len(piece.values) for piece in explainer.stream(X))


def measure(explainer: Explainer, X: np.ndarray, rounds: int) -> dict[str, float]:
    """Return rows a second of everything, with the threads that are allowed now."""
    explainer(X[:20_000])
    agreed = explainer(X).agreed
    plain = np.resize(X[agreed], X.shape)  # as many rows, none of which needs refinement
    kept = np.ones_like(X)
    multiplying = replaced_model(explainer, Multiplying(X.shape[1]))
    clock, work = in_turns(
        {
            "asked": lambda: cheap_black_box(X),
            "torch": lambda: torch_products(explainer, X),
            "numpy": lambda: numpy_products(explainer, X),
            "unrefined": lambda: explainer(plain),
            "refined": lambda: explainer(X),
            "eager": lambda: eager(explainer, plain),
            "refined_eager": lambda: eager(explainer, X),
            "streamed": lambda: streamed(explainer, plain),
            "refined_streamed": lambda: streamed(explainer, X),
            "multiplied": lambda: Multiplying(X.shape[1])(plain),
            "after_products": lambda: streamed(multiplying, plain),
            "fresh": lambda: np.empty_like(X).fill(1.0),
            "again": lambda: kept.fill(1.0),
        },
        rounds,
    )
    fresh = 1e9 * (clock["fresh"] - clock["again"]) / X.nbytes
    for taken in (clock, work):
        del taken["fresh"], taken["again"]
        taken["after_products"] -= taken.pop("multiplied") - taken["asked"]
        asked, bare = taken.pop("asked"), min(taken.pop("torch"), taken.pop("numpy"))
        taken |= {name: each - asked for name, each in taken.items()} | {"bare_products": bare}
    figures = {f"{name}_rows_per_second": len(X) / each for name, each in clock.items()}
    figures |= {f"{name}_processor_us": 1e6 * each / len(X) for name, each in work.items()}
    for name in ("unrefined", "refined", "eager", "streamed"):
        figures[f"{name}_share_of_bare"] = clock["bare_products"] / clock[name]
        figures[f"{name}_processor_share_of_bare"] = work["bare_products"] / work[name]
    figures |= {"refined_share": float(1 - agreed.mean()), "fresh_ns_per_byte": fresh}
    one, _ = in_turns({"one": lambda: explainer(plain[:1])}, 1000)
    return figures | {"single_row_ms": 1e3 * one["one"]}


def main() -> None:
    """Measure one size, 1,000,000 rows of 30 numbers by default, with one thread and with all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--latents", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", choices=("given back", "kept"), default="given back")
    options = parser.parse_args()
    if options.memory == "kept" and not KEPT.keys() <= os.environ.keys():
        os.execve(sys.executable, sys.orig_argv, os.environ | KEPT)
    X = np.random.default_rng(0).normal(size=(options.rows, options.features))
    short = Training(batch_size=256, learning_rate=3e-3, max_epochs=3, decay=True)
    explainer = Explainer(
        cheap_black_box, n_latents=options.latents, queries=2000, training=short, verbose=False
    ).fit(X[:3000])
    for threads in sorted({1, torch.get_num_threads()}):
        with limited(threads):
            record(
                "throughput",
                rows=options.rows,
                features=options.features,
                latents=options.latents,
                encoder=explainer.quality_.encoder,
                threads=threads,
                memory=options.memory,
                openblas_thread_timeout=os.environ.get("OPENBLAS_THREAD_TIMEOUT"),
                **measure(explainer, X, options.rounds),
            )


if __name__ == "__main__":
    main()
