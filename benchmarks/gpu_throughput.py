"""Rows per second of attributions from GPU memory: slopes, contributions and log-odds at m = 30, k = 8.

Weights are random, for speed does not depend on them. Every variant is checked against float64 first. It
runs on a CPU, too, with `--rows` and `--chunks` small. Run: `python -m benchmarks.gpu_throughput`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, get_args

import numpy as np
import torch

from benchmarks import records
from illume.io.forward_pass import ForwardPass, Precision
from illume.io.torch_modules import Explained, ExplainingModule

CHECKED_ROWS = 4096
REPETITIONS = 7
COMPILED: dict[str, dict[str, Any]] = {
    "eager": {},
    "compiled": {"dynamic": False},
    "max-autotune": {"dynamic": False, "mode": "max-autotune-no-cudagraphs"},
}
SLOW_START = {
    "eager": 2.0,
    "compiled": 25.0,
    "max-autotune": 60.0,
}  # seconds that a variant may take to begin


def random_parts(m: int, k: int, width: int, seed: int = 0) -> ForwardPass:
    """Return a network of the size that is trained by default, with weights as at the start."""
    rng = np.random.default_rng(seed)
    sizes = [m, width, width, k * m]
    layers = tuple(
        (rng.uniform(-1, 1, size=(b, a)) / a**0.5, rng.uniform(-1, 1, size=b) / a**0.5)
        for a, b in pairwise(sizes)
    )
    coef = rng.normal(size=(1, k))
    return ForwardPass(layers, None, m, coef, np.array([0.1]), np.arange(m), m)


def in_float64(parts: ForwardPass, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return slopes and log-odds, every product in float64."""
    h = X.astype(np.float64)
    for i, (weight, bias) in enumerate(parts.layers):
        h = h @ weight.T + bias
        h = np.maximum(h, 0) if i < len(parts.layers) - 1 else h
    V = h.reshape(len(X), *parts.shape)
    W = V / np.linalg.norm(V, axis=-1, keepdims=True)
    slopes = parts.coef @ W
    return slopes, (slopes * X[:, None, :]).sum(-1) + parts.intercept


def errors(parts: ForwardPass, module: ExplainingModule, X: torch.Tensor) -> dict[str, float]:
    """Return how far slopes and log-odds are from float64, as shares of their usual size."""
    found = module(X[: module.chunk_rows])  # of the size that is measured, so that it is compiled once
    found = Explained(*(part[:CHECKED_ROWS] for part in found))
    wanted = in_float64(parts, X[: len(found.slopes)].cpu().numpy())
    shares = {}
    for name, mine, right in zip(("slopes", "log_odds"), (found.slopes, found.log_odds), wanted, strict=True):
        off = np.abs(mine.double().cpu().numpy() - right)
        size = np.sqrt((right**2).mean())
        shares |= {
            f"{name}_mean_error": float(off.mean() / size),
            f"{name}_max_error": float(off.max() / size),
        }
    total = found.contributions.double().sum(-1) + torch.as_tensor(parts.intercept, device=X.device)
    shares["additivity"] = float((total - found.log_odds).abs().max() / np.abs(wanted[1]).max())
    return shares


def seconds(work: Callable[[], object], device: torch.device) -> float:
    """Return the median time of a few runs."""
    times = []
    for _ in range(REPETITIONS):
        synchronise(device)
        start = time.perf_counter()
        work()
        synchronise(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def synchronise(device: torch.device) -> None:
    """Wait until the device has done all it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def recorded(module: ExplainingModule, X: torch.Tensor) -> Callable[[], object]:
    """Return the work on these rows as a CUDA graph, recorded once."""
    module(X)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            module(X)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        module(X)
    return graph.replay


def measured(
    parts: ForwardPass, X: torch.Tensor, way: str, precision: Any, chunk: int, *, graph: bool
) -> dict[str, Any]:
    """Measure one variant; what does not work here says why."""
    figures: dict[str, Any] = {"way": way, "precision": precision, "chunk_rows": chunk, "cuda_graph": graph}
    begun = time.perf_counter()
    torch.compiler.reset()  # what was compiled before counts towards a limit, beyond which nothing is
    try:
        module = ExplainingModule(parts, precision, chunk, **COMPILED[way]).to(X.device)
        figures |= errors(parts, module, X)
        work = recorded(module, X) if graph else lambda: module(X)
        work()
        synchronise(X.device)
        figures["start_seconds"] = time.perf_counter() - begun
        figures["rows_per_second"] = len(X) / seconds(work, X.device)
    except Exception as error:
        figures["failed"] = f"{type(error).__name__}: {error}"[:300]
    return figures


def variants(chunks: list[int], on_gpu: bool) -> Iterator[tuple[str, str, int, bool]]:
    """Yield way, precision, chunk and whether it is recorded; what is quick to start comes first."""
    middle = chunks[len(chunks) // 2]
    for precision in get_args(Precision):
        for chunk in chunks:
            yield "eager", precision, chunk, False
    if on_gpu:
        yield "eager", "tf32", middle, True
    for precision in ("tf32", "bfloat16", "float32"):
        yield "compiled", precision, middle, False
    for chunk in (chunks[0], chunks[-1]):
        yield "compiled", "bfloat16", chunk, False
    if on_gpu:
        yield "compiled", "bfloat16", middle, True
        yield "max-autotune", "bfloat16", middle, False
        yield "max-autotune", "tf32", middle, False


def bare(parts: ForwardPass, X: torch.Tensor, chunk: int) -> float:
    """Return the rows per second of the network's matrix products alone, in bfloat16."""
    weights = [torch.as_tensor(w, dtype=torch.bfloat16, device=X.device) for w, _ in parts.layers]
    half = X[:chunk].bfloat16()

    def work() -> None:
        with torch.inference_mode():
            for _ in range(max(1, len(X) // chunk)):
                h = half
                for weight in weights:
                    h = h @ weight.T

    work()
    return max(1, len(X) // chunk) * len(half) / seconds(work, X.device)


def main() -> None:
    """Measure all variants that fit into the time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2**23)
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--latents", type=int, default=8)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--chunks", type=int, nargs="+", default=[2**16, 2**18, 2**20])
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--ways", nargs="+", default=list(COMPILED), choices=list(COMPILED))
    parser.add_argument("--record", action="store_true", help="append to results/gpu_throughput.jsonl")
    options = parser.parse_args()
    end = time.perf_counter() + options.seconds
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    os.environ.setdefault("ILLUME_DEVICE_NAME", name)
    parts = random_parts(options.features, options.latents, options.width)
    X = torch.randn(options.rows, options.features, generator=torch.Generator().manual_seed(0)).to(device)
    about = {"m": options.features, "k": options.latents, "width": options.width, "rows": options.rows}
    about |= {"device": name, "torch": torch.__version__}
    about["bare_bfloat16_rows_per_second"] = bare(parts, X, options.chunks[-1])
    best: dict[str, Any] = {}
    for way, precision, chunk, graph in variants(options.chunks, device.type == "cuda"):
        if way not in options.ways:
            continue
        if time.perf_counter() + SLOW_START[way] > end:
            print(json.dumps({"left out": [way, precision, chunk], "why": "out of time"}), flush=True)
            continue
        found = about | measured(parts, X, way, precision, chunk, graph=graph)
        print(json.dumps(found), flush=True)
        if options.record:
            records.record("gpu_throughput", **found)
        if found.get("rows_per_second", 0) > best.get("rows_per_second", 0):
            best = found
    print(json.dumps({"best": best} | records.provenance()), flush=True)


if __name__ == "__main__":
    main()
