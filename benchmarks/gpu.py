"""A whole fit on a GPU; it also runs on a CPU, with few rows."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch

from benchmarks.harness import Cell, Line
from illume import Explainer


def default_device() -> tuple[torch.device, str]:
    """Return the GPU or the CPU with its name, which results then mention."""
    cuda = torch.cuda.is_available()
    name = torch.cuda.get_device_name() if cuda else "CPU"
    os.environ.setdefault("ILLUME_DEVICE_NAME", name)
    return torch.device("cuda" if cuda else "cpu"), name


def gpu_fit(rows: int = 1_000_000, inputs: int = 50, effort: str = "standard") -> Iterator[Cell]:
    """Fit a twin that is learned; effort: quick, standard or thorough."""
    settings = {
        "what": "fit",
        "device": default_device()[1],
        "rows": rows,
        "inputs": inputs,
        "effort": effort,
    }
    yield Cell(settings, partial(_fit, rows, inputs, effort), "gpu_fit")


def _fit(rows: int, inputs: int, effort: str) -> Line:
    weights = np.random.default_rng(1).normal(size=inputs) / np.sqrt(inputs)
    X, device = np.random.default_rng(0).normal(size=(rows, inputs)), default_device()[0].type

    def bent_model(rows: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-3 * (rows @ weights + rows[:, 0] * rows[:, 1])))

    start = time.perf_counter()
    fitted = Explainer(bent_model, device=device, verbose=False, effort=effort).fit(X)
    return {
        "seconds": time.perf_counter() - start,
        "agreement": fitted.quality_.agreement,
        "gpu_megabytes": torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else None,
    }
