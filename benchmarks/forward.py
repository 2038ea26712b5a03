"""The forward pass in NumPy against the same in torch, alternating in one run.

Rows per second of processor time and thread, so that it hardly matters what else the machine does.

Both give slopes and latents with sums in float64 after a network in float32; `products` is NumPy's matrix
products of the network alone. Threads are Python's, each with its own rows; linear algebra has one thread.
Run: `python -m benchmarks.forward`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from benchmarks.records import record
from illume.encoders.base import EPSILON
from illume.encoders.forward import DenseForward

SIZES = {"m=30, k=8": (30, 128, 128, 8), "m=105, k=16": (105, 265, 667, 16)}
REPETITIONS = 7

Work = Callable[[np.ndarray], object]


def weights_of(m: int, first: int, second: int, k: int) -> dict[str, np.ndarray]:
    """Return random weights, as at the start of a training."""
    rng, found = np.random.default_rng(0), {}
    for i, (a, b) in enumerate(pairwise([m, first, second, k * m])):
        for name, shape in (("weight", (b, a)), ("bias", (b,))):
            found[f"layers.{2 * i}.{name}"] = (rng.uniform(-1, 1, shape) / a**0.5).astype(np.float32)
    return found


def torch_work(weights: dict[str, np.ndarray], shape: tuple[int, int], coef: np.ndarray, chunk: int) -> Work:
    """Return the forward pass in torch, as it was before there was one in NumPy."""
    layers = [torch.from_numpy(array) for array in weights.values()]
    beta = torch.from_numpy(coef)

    def work(X: np.ndarray) -> None:
        with torch.inference_mode():
            for start in range(0, len(X), chunk):
                rows = torch.from_numpy(X[start : start + chunk])
                h = rows.clamp(-1e6, 1e6).float()
                for i, (weight, bias) in enumerate(zip(layers[::2], layers[1::2], strict=True)):
                    h = torch.nn.functional.linear(h, weight, bias)
                    h = h.relu_() if i < 2 else h
                V = h.unflatten(1, shape)
                length = torch.linalg.vector_norm(V, dim=-1).double().clamp(min=EPSILON)
                V = V.double()
                torch.bmm(beta / length[:, None, :], V)
                _ = torch.bmm(V, rows[:, :, None]).squeeze(-1) / length

    return work


def products(forward: DenseForward) -> Work:
    """Return the matrix products of the network alone."""

    def work(X: np.ndarray) -> None:
        size = forward.rows_at_once
        buffers = forward._buffers(size)
        buffers[0][:] = np.resize(X, buffers[0].shape)
        for _ in range(0, len(X), size):
            for layer, before, after in zip(forward.layers, buffers[:-1], buffers[1:], strict=True):
                np.matmul(before, layer, out=after)

    return work


def seconds(work: Work, parts: list[np.ndarray], pool: ThreadPoolExecutor) -> float:
    """Return the processor time that all parts take, each on a thread of its own."""
    start = time.process_time()
    list(pool.map(work, parts))
    return time.process_time() - start


def measure(size: str, n_threads: int, n_rows: int, chunks: list[int]) -> None:
    """Measure one size of network; ways take turns, and the median of each counts."""
    m, first, second, k = SIZES[size]
    weights = weights_of(m, first, second, k)
    forward, coef = DenseForward(weights, (k, m)), np.random.default_rng(1).normal(size=(1, k))
    ways: dict[str, Work] = {"products": products(forward)}
    ways["numpy"] = lambda X: forward.pull_back(X, coef, None, m)
    ways |= {f"torch, {chunk}": torch_work(weights, (k, m), coef, chunk) for chunk in chunks}
    X = np.random.default_rng(2).normal(size=(n_rows, m))
    parts = np.array_split(X, n_threads)
    times: dict[str, list[float]] = {name: [] for name in ways}
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in range(REPETITIONS):
            for name, work in ways.items():
                times[name].append(seconds(work, parts, pool))
    rates = {name: n_rows / statistics.median(each) for name, each in times.items()}
    best = max(rate for name, rate in rates.items() if name.startswith("torch"))
    alone = statistics.median(_alone(lambda: forward.pull_back(X[:1], coef, None, m)) for _ in range(200))
    figures = {"against_torch": rates["numpy"] / best, "one_row_microseconds": 1e6 * alone}
    record("forward", size=size, threads=n_threads, **rates, **figures)


def _alone(work: Callable[[], object]) -> float:
    start = time.process_time()
    for _ in range(10):
        work()
    return (time.process_time() - start) / 10


def main() -> None:
    """Measure both sizes with one thread and with two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=65_536)
    parser.add_argument("--chunks", type=int, nargs="+", default=[256, 512, 1024, 2048, 4096])
    options = parser.parse_args()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        for size in SIZES:
            n_rows = options.rows * 30 * 8 // (SIZES[size][0] * SIZES[size][3])
            for n_threads in (1, 2):
                measure(size, n_threads, n_rows, options.chunks)


if __name__ == "__main__":
    main()
