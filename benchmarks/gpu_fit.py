"""A whole fit on a GPU: 1,000,000 rows of 50 numbers, default settings, where the time goes.

Then whether a fit that was stopped goes on from its checkpoints, and the speed of training steps and the
agreement with and without the GPU's shortened products (TF32). No part begins late, so that all ends after
some 200 seconds.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from benchmarks.records import record
from illume import Checkpoints, Explainer
from illume.encoders import steps
from illume.encoders.options import QUICK
from illume.encoders.training import Trainer

TABLE = "gpu_fit"
N_INPUTS = 50


class Stopped(BaseException):
    """What stands for a process that was killed."""


class Bent:
    """A vectorised model that no linear surrogate follows."""

    def __init__(self, n_inputs: int) -> None:
        self.weights = np.random.default_rng(1).normal(size=n_inputs) / np.sqrt(n_inputs)

    def __call__(self, rows: Any) -> Any:
        """Return the probability of the second class."""
        return 1 / (1 + np.exp(-3 * (rows @ self.weights + rows[:, 0] * rows[:, 1])))


def explainer(options: argparse.Namespace, **settings: Any) -> Explainer:
    """Return an unfitted explainer of default settings on the device."""
    if options.max_steps is not None:
        settings["training"] = replace(QUICK, max_steps=options.max_steps)
    return Explainer(Bent(N_INPUTS), device=options.device, verbose=False, **settings)


def steps_per_epoch(fitted: Explainer) -> int:
    """Return how many steps an epoch of a fit's last training took."""
    training = fitted.local_.encoder.training
    rows = min(len(fitted.material_.learned), training.epoch_rows)
    return int(-(-rows // training.batch_size))


def whole_fit(X: Any, options: argparse.Namespace) -> None:
    """Fit with default settings and record the time of every stage."""
    start = time.perf_counter()
    fitted = explainer(options).fit(X)
    seconds = time.perf_counter() - start
    peak = torch.cuda.max_memory_allocated() / 2**20 if options.device == "cuda" else float("nan")
    record(
        TABLE,
        what="fit",
        device=options.name,
        rows=len(X),
        inputs=N_INPUTS,
        seconds=seconds,
        agreement=fitted.quality_.agreement,
        global_agreement=fitted.quality_.baseline.agreement,
        n_latents=fitted.quality_.n_latents,
        epochs=len(fitted.history_.epochs),
        trials=len(fitted.trials_),
        gpu_megabytes=peak,
    )


def precision(X: Any, options: argparse.Namespace) -> None:
    """Train with 8 latents in full float32 and with TF32."""
    for name in ("highest", "high"):
        steps.MATMUL_PRECISION = name
        fitted = explainer(options, n_latents=8).fit(X)
        epochs = fitted.history_.epochs
        done = (len(epochs) - 1) * steps_per_epoch(fitted)
        after_first = epochs[-1].seconds - epochs[0].seconds  # recording belongs to the first
        record(
            TABLE,
            what="precision",
            device=options.name,
            matmul=name,
            rows=len(X),
            steps_per_second=done / after_first if done else float("nan"),
            agreement=fitted.quality_.agreement,
            validation_loss=min(epoch.validation_loss for epoch in epochs),
        )
    steps.MATMUL_PRECISION = "highest"


def resumed(X: Any, options: argparse.Namespace) -> None:
    """Stop a fit within a training, start it again, and compare with one that was never stopped."""
    original, seen = Trainer._train, []

    def stopping(self: Trainer) -> float:
        seen.append(1)
        if len(seen) == options.stop_at:
            raise Stopped
        return original(self)

    with tempfile.TemporaryDirectory() as folder:
        settings = {"n_latents": 8, "checkpoint_dir": Checkpoints(folder, every=0.0, keep=True)}
        Trainer._train = stopping  # type: ignore[method-assign]
        stopped = False
        try:
            explainer(options, **settings).fit(X)
        except Stopped:
            stopped = True
        finally:
            Trainer._train = original  # type: ignore[method-assign]
        start = time.perf_counter()
        again = explainer(options, **settings).fit(X)
        seconds = time.perf_counter() - start
    whole = explainer(options, n_latents=8).fit(X)
    record(
        TABLE,
        what="resumed",
        device=options.name,
        rows=len(X),
        stopped=stopped,
        seconds_after=seconds,
        epochs=len(again.history_.epochs),
        whole_epochs=len(whole.history_.epochs),
        agreement=again.quality_.agreement,
        whole_agreement=whole.quality_.agreement,
        finite=bool(np.isfinite(again(X[:100]).values).all()),
        same=bool(np.array_equal(again(X[:100]).values, whole(X[:100]).values)),
    )


def main() -> None:
    """Do one part after the other while there is time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--few-rows", type=int, default=100_000, help="rows of the later parts")
    parser.add_argument("--stop-at", type=int, default=7, help="epoch, counted over all trainings")
    parser.add_argument("--max-steps", type=int, help="of a training; by default as always")
    parser.add_argument("--seconds", type=float, default=200.0, help="no part begins after so many")
    options = parser.parse_args()
    options.name = torch.cuda.get_device_name() if options.device == "cuda" else options.device
    start = time.perf_counter()
    X = np.random.default_rng(0).normal(size=(options.rows, N_INPUTS))
    few = X[: options.few_rows]
    for part, rows in ((whole_fit, X), (resumed, few), (precision, few)):
        if time.perf_counter() - start > 0.75 * options.seconds:
            print(f"no time left for {part.__name__}", flush=True)
            continue
        part(rows, options)
        gc.collect()


if __name__ == "__main__":
    main()
