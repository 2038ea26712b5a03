"""Rows a second and memory of attributions from a NumPy array."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from benchmarks.children import alternate, peak_mb, run_child
from benchmarks.harness import Cell, Line
from benchmarks.packages import short_training

CHUNK = 4096


def throughput(
    rows: int = 1_000_000,
    features: int = 30,
    latents: int = 8,
    rounds: int = 5,
) -> Iterator[Cell]:
    """Measure attributions a second without the black box, with one thread and with all.

    The black box costs almost nothing. All measurements take turns with the bare matrix products of the same
    network, in PyTorch or NumPy, whichever is faster. Rows that need refinement are measured apart. `eager`
    also computes what is otherwise computed when it is read: slopes, trust figures and novelty.
    """
    import torch

    from illume import Explainer

    X = np.random.default_rng(0).normal(size=(rows, features))
    short = short_training(latents, max_epochs=3)
    explainer = Explainer(cheap_black_box, queries=2000, surrogate_options=short, verbose=False).fit(X[:3000])
    for threads in sorted({1, torch.get_num_threads()}):
        settings = {"rows": rows, "features": features, "latents": latents, "threads": threads}
        yield Cell(settings, partial(_measure, explainer, X, rounds, threads))


def cheap_black_box(rows: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-4 * rows[:, 0] * rows[:, 1]))


def _measure(explainer: Any, X: np.ndarray, rounds: int, threads: int) -> Line:
    facts = {"encoder": explainer.fit_latents().quality_.surrogate.encoder}
    facts["openblas_thread_timeout"] = os.environ.get("OPENBLAS_THREAD_TIMEOUT")
    with limit_threads(threads):
        return facts | measure(explainer, X, rounds)


def measure(
    explainer: Any,
    X: np.ndarray,
    rounds: int,
    black_box: Callable[[np.ndarray], np.ndarray] = cheap_black_box,
) -> Line:
    """Return rows a second and processor time of all ways to explain, with the current threads."""
    explainer(X[:20_000])
    agreed = explainer(X).agreed
    plain = np.resize(X[agreed], X.shape)  # as many rows without refinement
    layers = network_layers(explainer)

    def explain_eagerly(rows: np.ndarray) -> object:
        result = explainer(rows)
        return result, result.trust.share, result.outside, result.slopes

    def stream(rows: np.ndarray) -> int:
        return sum(len(piece.values) for piece in explainer.stream(rows))

    calls: dict[str, Callable[[], object]] = {
        "model": lambda: black_box(X),
        "torch": lambda: torch_products(layers, len(X)),
        "numpy": lambda: numpy_products(layers, len(X)),
        "unrefined": lambda: explainer(plain),
        "refined": lambda: explainer(X),
        "eager": lambda: explain_eagerly(plain),
        "refined_eager": lambda: explain_eagerly(X),
        "streamed": lambda: stream(plain),
        "refined_streamed": lambda: stream(X),
    }
    clock, work = alternate(calls, rounds)
    figures = {"refined_share": float(1 - agreed.mean())}
    for taken in (clock, work):
        model, bare = taken.pop("model"), min(taken.pop("torch"), taken.pop("numpy"))
        taken |= {name: each - model for name, each in taken.items()} | {"bare_products": bare}
    figures |= {f"{name}_rows_per_second": len(X) / each for name, each in clock.items()}
    figures |= {f"{name}_processor_us": 1e6 * each / len(X) for name, each in work.items()}
    for name in ("unrefined", "refined", "eager", "streamed"):
        figures[f"{name}_share_of_bare"] = clock["bare_products"] / clock[name]
        figures[f"{name}_processor_share_of_bare"] = work["bare_products"] / work[name]
    one, _ = alternate({"one": lambda: explainer(plain[:1])}, min(1000, len(X)))
    return figures | {"single_row_ms": 1e3 * one["one"]}


def network_layers(explainer: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return weights (in, out) and biases of the network of Shapley values."""
    values = explainer.fitted_.twin.model.values
    return [(values.first, values.first_bias), (values.last, values.last_bias)]


def torch_products(layers: list[tuple[np.ndarray, np.ndarray]], n: int) -> None:
    import torch

    tensors = [(torch.from_numpy(W), torch.from_numpy(b)) for W, b in layers]
    with torch.inference_mode():
        for start in range(0, n, CHUNK):
            for W, b in tensors:
                torch.addmm(b, W.new_ones(min(CHUNK, n - start), len(W)), W)


def numpy_products(layers: list[tuple[np.ndarray, np.ndarray]], n: int) -> None:
    for start in range(0, n, CHUNK):
        for W, b in layers:
            h = np.ones((min(CHUNK, n - start), len(W)), dtype=np.float32) @ W
            h += b


@contextmanager
def limit_threads(n: int) -> Iterator[None]:
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        with threadpool_limits(n):
            yield
    finally:
        torch.set_num_threads(before)


def memory(rows: int = 1_000_000, features: int = 50) -> Iterator[Cell]:
    """Measure the memory beside the data of a fit, and of streaming 200,000 and 2,000,000 rows.

    Each figure is the rise of the peak in a process of its own.
    """
    for what, n in (("fit", rows), ("stream", 200_000), ("stream", 2_000_000)):
        settings = {"what": what, "rows": n, "features": features}
        yield Cell(settings, lambda settings=settings: run_child(measure_memory, **settings).last())


def measure_memory(what: str, rows: int, features: int) -> Iterator[Line]:
    from illume import Explainer

    few_steps = short_training(max_steps=300, stability_rows=64)
    X = np.random.default_rng(0).normal(size=(rows, features))

    def fit(X: np.ndarray) -> Explainer:  # further steps would add no memory
        return Explainer(cheap_black_box, surrogate_options=few_steps, verbose=False).fit(X)

    explainer = fit(X[:2000])  # loads torch
    if what == "stream":
        explainer(X[:1000])
        before = peak_mb()
        for piece in explainer.stream(X):
            len(piece)
        yield {"added_mb": peak_mb() - before}
        return
    before, start = peak_mb(), time.perf_counter()
    explainer = fit(X)
    added, data_mb = peak_mb() - before, X.nbytes / 1e6
    figures = {"data_mb": data_mb, "added_mb": added, "times_the_data": added / data_mb}
    yield figures | {
        "fit_seconds": time.perf_counter() - start,
        "agreement": explainer.quality_.agreement,
    }
