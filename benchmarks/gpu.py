"""A whole fit on a GPU, and attributions and Shapley values a second from GPU memory.

They also run on a CPU, with few rows.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from typing import Any, get_args

import numpy as np
import torch

from benchmarks.harness import Cell, Line
from illume import Explainer, SurrogateOptions, torch_module
from illume.data.class_outputs import Classes
from illume.encoders.options import QUICK
from illume.explanations.forward_pass import ForwardPass
from illume.io.forward_pass import Precision
from illume.io.torch_modules import Explained, ExplainingModule

CHECKED_ROWS = 4096
REPETITIONS = 7
COMPILED: dict[str, Line] = {
    "eager": {},
    "compiled": {"dynamic": False},
    "max-autotune": {"dynamic": False, "mode": "max-autotune-no-cudagraphs"},
}


def default_device() -> tuple[torch.device, str]:
    """Return the GPU or the CPU with its name, which results then mention."""
    cuda = torch.cuda.is_available()
    name = torch.cuda.get_device_name() if cuda else "CPU"
    os.environ.setdefault("ILLUME_DEVICE_NAME", name)
    return torch.device("cuda" if cuda else "cpu"), name


def gpu_fit(rows: int = 1_000_000, inputs: int = 50, max_steps: int = 0) -> Iterator[Cell]:
    """Fit with default settings; max-steps: the most training steps, 0 for the default."""
    settings = {"what": "fit", "device": default_device()[1], "rows": rows, "inputs": inputs}
    yield Cell(settings, partial(_fit, rows, inputs, max_steps), "gpu_fit")


def _fit(rows: int, inputs: int, max_steps: int) -> Line:
    weights = np.random.default_rng(1).normal(size=inputs) / np.sqrt(inputs)
    X, device = np.random.default_rng(0).normal(size=(rows, inputs)), default_device()[0].type

    def bent_model(rows: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-3 * (rows @ weights + rows[:, 0] * rows[:, 1])))

    options = SurrogateOptions(training=replace(QUICK, max_steps=max_steps) if max_steps else None)
    start = time.perf_counter()
    fitted = Explainer(bent_model, device=device, verbose=False, surrogate_options=options).fit(X)
    seconds, quality = time.perf_counter() - start, fitted.quality_
    return {
        "seconds": seconds,
        "agreement": quality.agreement,
        "global_agreement": quality.baseline.agreement,
        "n_latents": quality.n_latents,
        "epochs": len(fitted.history_ or ()),
        "gpu_megabytes": torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else None,
    }


def gpu_throughput(
    rows: int = 2**23,
    features: int = 30,
    latents: int = 8,
    width: int = 128,
    chunks: tuple[int, ...] = (2**16, 2**18, 2**20),
    ways: tuple[str, ...] = tuple(COMPILED),
) -> Iterator[Cell]:
    """Measure slopes, contributions and log-odds a second for a network with random weights.

    Every variant is compared with float64 first. ways: eager, compiled, max-autotune.
    """
    device, name = default_device()
    parts = random_parts(features, latents, width)
    X = torch.randn(rows, features, generator=torch.Generator().manual_seed(0)).to(device)
    about = {"m": features, "k": latents, "width": width, "rows": rows, "device": name}
    for way, precision, chunk in product(ways, get_args(Precision), chunks):
        settings = {"way": way, "precision": precision, "chunk_rows": chunk, "cuda_graph": False}
        measure = partial(measure_variant, parts, X, way, precision, chunk)
        yield Cell(about | settings, measure, "gpu_throughput")


def measure_variant(parts: ForwardPass, X: torch.Tensor, way: str, precision: Any, chunk: int) -> Line:
    begun = time.perf_counter()
    torch.compiler.reset()  # compiled functions count towards a limit
    module = ExplainingModule(parts, precision, chunk, **COMPILED[way]).to(X.device)
    figures = float64_errors(parts, module, X)
    module(X)
    synchronise(X.device)
    figures["start_seconds"] = time.perf_counter() - begun
    return figures | {
        "rows_per_second": len(X) / median_seconds(lambda: module(X), X.device),
        "torch": torch.__version__,
    }


def random_parts(m: int, k: int, width: int, seed: int = 0) -> ForwardPass:
    """Return a network of the default size with initial weights."""
    rng = np.random.default_rng(seed)
    weights = {}
    for i, (a, b) in enumerate(pairwise([m, width, width, k * m])):
        weights[f"layers.{2 * i}.weight"] = rng.uniform(-1, 1, size=(b, a)) / a**0.5
        weights[f"layers.{2 * i}.bias"] = rng.uniform(-1, 1, size=b) / a**0.5
    return ForwardPass(
        weights, m, rng.normal(size=(1, k)), np.array([0.1]), np.arange(m), m, Classes(("no", "yes"))
    )


def float64_explanations(parts: ForwardPass, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return slopes and log-odds with all products in float64."""
    h = X.astype(np.float64)
    *hidden, (last, last_bias) = parts.forward.layers
    for weight, bias in hidden:
        h = np.maximum(h @ weight + bias, 0)
    V = (h @ last + last_bias).reshape(len(X), *parts.shape)
    W = V / np.linalg.norm(V, axis=-1, keepdims=True)
    slopes = parts.coef @ W
    return slopes, (slopes * X[:, None, :]).sum(-1) + parts.intercept


def float64_errors(parts: ForwardPass, module: ExplainingModule, X: torch.Tensor) -> Line:
    """Return the errors of slopes and log-odds against float64, relative to their root mean square."""
    found = module(X[: module.chunk_rows])  # the size that is measured, so that it is compiled once
    found = Explained(*(part[:CHECKED_ROWS] for part in found))
    wanted = float64_explanations(parts, X[: len(found.slopes)].cpu().numpy())
    figures = {}
    for name, mine, right in zip(("slopes", "log_odds"), (found.slopes, found.score), wanted, strict=True):
        off = np.abs(mine.double().cpu().numpy() - right) / np.sqrt((right**2).mean())
        figures |= {f"{name}_mean_error": float(off.mean()), f"{name}_max_error": float(off.max())}
    total = found.contributions.double().sum(-1) + torch.as_tensor(parts.intercept, device=X.device)
    figures["additivity"] = float((total - found.score).abs().max() / np.abs(wanted[1]).max())
    return figures


def median_seconds(work: Callable[[], object], device: torch.device) -> float:
    times = []
    for _ in range(REPETITIONS):
        synchronise(device)
        start = time.perf_counter()
        work()
        synchronise(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def gpu_values(rows: int = 8_000_000, features: int = 30, chunk: int = 2**18) -> Iterator[Cell]:
    """Measure Shapley values, slopes and log-odds a second, after a comparison with the library's values."""
    device, name = default_device()
    X = np.random.default_rng(0).normal(size=(4_000, features))

    def black_box(rows: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-2 * rows[:, 0] * rows[:, 1] - rows[:, 2:8].sum(1)))

    explainer = Explainer(black_box, effort="quick", queries=20_000, verbose=False).fit(X)
    wanted, fitted = explainer(X), explainer.fitted_
    encoded = fitted.encoding.transform(fitted.as_frame(X)).X
    known = [torch.from_numpy(each).float().to(device) for each in (encoded, wanted.probabilities)]
    many = torch.randn(rows, features, device=device)

    def measure(precision: Any, compiling: Line | None) -> Line:
        module = torch_module(explainer, precision=precision, chunk_rows=chunk, compiling=compiling)
        module = module.to(device)
        found = module(*known).contributions[:, 0].double().cpu().numpy()
        error = float(np.abs(found - wanted.values).max() / wanted.values.std())
        module(many)
        rate = len(many) / median_seconds(lambda: module(many), device)
        return {"largest_error": error, "rows_per_second": rate}

    for precision in get_args(Precision):
        for way in ("eager", "compiled"):
            settings = {"way": way, "precision": precision, "rows": rows, "device": name}
            yield Cell(settings, partial(measure, precision, COMPILED[way] or None), "gpu_values")


def gpu_trees(rows: int = 2_000_000, features: int = 30, background: int = 5_000) -> Iterator[Cell]:
    """Measure exact contributions a second of 300 trees of LightGBM, after a comparison with NumPy's."""
    device, name = default_device()

    def measure() -> Line:
        from lightgbm import LGBMClassifier

        rng = np.random.default_rng(0)
        X = rng.normal(size=(50_000, features))
        y = X[:, 0] * X[:, 1] + X[:, 2:8].sum(1) + rng.normal(size=len(X)) > 0
        model = LGBMClassifier(n_estimators=300, max_depth=8, verbose=-1).fit(X, y)
        explainer = Explainer(model, background=X[:background], twin="exact", verbose=False).fit(X)
        module, wanted = torch_module(explainer).to(device), explainer(X[:10_000]).values
        found = module(torch.from_numpy(X[:10_000]).to(device)).contributions[:, 0].cpu().numpy()
        many = torch.randn(rows, features, device=device, dtype=torch.float64)
        rate = rows / median_seconds(lambda: module(many), device)
        return {"largest_error": float(np.abs(found - wanted).max()), "rows_per_second": rate}

    yield Cell({"rows": rows, "background": background, "device": name}, measure, "gpu_trees")
