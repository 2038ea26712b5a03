"""What the machine itself could do: matrix products at the network's shapes, and moving memory."""

from __future__ import annotations

import statistics
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.problems import Asked, Problem
from illume._typing import FloatArray

CHUNK = 4096
ROWS = 100_000
COPIED_MB = 256
MAPS = "encoder.0.maps."  # what explains attributions, among the arrays of a file
Matrices = Sequence["np.ndarray[Any, np.dtype[np.float32]]"]


def network(path: Path) -> list[np.ndarray[Any, np.dtype[np.float32]]]:
    """Return the weight matrices of a saved explainer's network, in the order in which rows meet them."""
    from safetensors.numpy import load

    with zipfile.ZipFile(path) as file:
        arrays = load(file.read("model.safetensors"))
    names = [name for name in sorted(arrays) if name.startswith(MAPS) and arrays[name].ndim == 2]
    return [np.ascontiguousarray(arrays[name], dtype=np.float32) for name in names]


def flops(weights: Matrices) -> int:
    """Return the operations that one row costs.

    >>> flops([np.ones((4, 3), np.float32), np.ones((2, 4), np.float32)])
    40
    """
    return 2 * sum(W.size for W in weights)


def chained(weights: Matrices, X: Any, product: Callable[[Any, Any], Any]) -> Any:
    """Multiply a chunk by all matrices, each by the latest result that fits it."""
    known = [X]
    for W in weights:
        h = next((h for h in reversed(known) if h.shape[1] == W.shape[1]), None)
        if h is None:
            raise ValueError(f"nothing before it has the {W.shape[1]} columns of a matrix {W.shape}")
        known.append(product(h, W))
    return known[-1]


def bare(weights: Matrices, X: FloatArray) -> float:
    """Return the seconds that a bare sequence of the same products takes, of two libraries the faster.

    The rows are converted to single precision on the way, as an explainer must; nothing is added, bent or
    written.
    """
    import torch

    tensors = [torch.from_numpy(W) for W in weights]

    def by_numpy() -> None:
        for i in range(0, len(X), CHUNK):
            chained(weights, X[i : i + CHUNK].astype(np.float32), lambda h, W: h @ W.T)

    def by_torch() -> None:
        with torch.inference_mode():
            for i in range(0, len(X), CHUNK):
                start = torch.from_numpy(X[i : i + CHUNK].astype(np.float32))
                chained(tensors, start, lambda h, W: torch.mm(h, W.T))

    return min(_seconds(by_numpy), _seconds(by_torch))


def products(weights: Matrices) -> float:
    """Return the seconds a row that each product alone, repeated over the same memory, takes at least."""
    import torch

    total = 0.0
    with torch.inference_mode():
        for W in map(torch.from_numpy, weights):
            h, out = torch.ones(CHUNK, W.shape[1]), torch.empty(CHUNK, W.shape[0])
            total += min(_seconds(lambda h=h, W=W, out=out: torch.mm(h, W.T, out=out)) for _ in range(20))
    return total / CHUNK


def bandwidth() -> float:
    """Return the bytes a second, read and written, of a large copy."""
    import torch

    source = torch.ones(COPIED_MB * 125_000, dtype=torch.float64)
    target = torch.empty_like(source)
    best = min(_seconds(lambda: target.copy_(source)) for _ in range(6))
    return 2 * source.nbytes / best


def measured(problem: Problem, model: Asked, budget_s: float) -> dict[str, Any]:
    """Return the machine's figures, and illume's share of them, taken in turns."""
    from benchmarks.speed.ours import loaded

    explainer = loaded(problem, model)
    weights = network(problem.explainer_path)
    if not weights:
        return {"note": "the explainer has no network: it fell back to a global surrogate"}
    X = problem.rows(ROWS)
    X = X[: max(CHUNK, min(len(X), int(budget_s * 2e10 / flops(weights))))]
    agreed = np.concatenate([piece.agreed for piece in explainer.stream(X)])
    pairs = [_own_and_bare(explainer, model, weights, X) for _ in range(5)]
    own, alone = (statistics.median(values) for values in zip(*pairs, strict=True))
    plain = np.resize(X[agreed], X.shape)  # as many rows, none of which needs refinement
    unrefined = statistics.median(_own(explainer, model, plain) for _ in range(3))
    cheapest, copied = products(weights), bandwidth()
    moved = 3 * X.itemsize * X.shape[1]  # a row in; contributions and slopes out
    limit = max(cheapest, moved / copied)
    return {
        "rows_timed": len(X),
        "flops_per_row": flops(weights),
        "shapes": [list(W.shape) for W in weights],
        "product_gflops": flops(weights) / cheapest / 1e9,
        "copy_gb_per_second": copied / 1e9,
        "limit_rows_per_second": 1 / limit,
        "bare_rows_per_second": len(X) / alone,
        "own_rows_per_second": len(X) / own,
        "share_of_bare": statistics.median(b / o for o, b in pairs),
        "share_of_limit": limit / (own / len(X)),
        "share_of_bare_unrefined": alone / unrefined,
        "refined_share": float(1 - agreed.mean()),
    }


def _own_and_bare(explainer: Any, model: Asked, weights: Matrices, X: FloatArray) -> tuple[float, float]:
    """Return the seconds of illume without its model, and of the bare products."""
    return _own(explainer, model, X), bare(weights, X)


def _own(explainer: Any, model: Asked, X: FloatArray) -> float:
    asked = model.seconds
    seconds = _seconds(lambda: [len(piece) for piece in explainer.stream(X)])
    return seconds - (model.seconds - asked)


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
