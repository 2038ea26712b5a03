"""How many times faster the library trains than a straightforward loop: same data, same epochs, same CPU.

Both train the paper's objective `co` on all rows of every batch, from equal weights, one after the other,
several times; the ratio is that of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import replace

import torch
from tqdm.auto import tqdm

from benchmarks.plain_training import PlainTraining
from benchmarks.records import record
from illume.encoders.batches import Model, Rows
from illume.encoders.networks import MetaNetwork
from illume.encoders.options import PAPER, PRESETS
from illume.encoders.training import Trainer


def problem(n_rows: int, n_inputs: int) -> Rows:
    """Return normal rows, of which the product of the first two decides."""
    X = torch.randn(n_rows, n_inputs, generator=torch.Generator().manual_seed(0))
    p = torch.sigmoid(4 * X[:, 0] * X[:, 1])
    return Rows(X, torch.stack([1 - p, p], 1))


def ours(rows: Rows, validation: Rows, n_latents: int, n_epochs: int) -> float:
    """Train with the library; return the last validation loss."""
    generator = torch.Generator().manual_seed(1)
    maps = MetaNetwork(rows.X.shape[1], n_latents, generator)
    trainer = Trainer(
        Model(maps, None),
        PRESETS["co"],
        replace(PAPER, max_epochs=n_epochs),
        (rows, validation),
        onehot=torch.zeros(rows.X.shape[1], dtype=torch.bool),
        generator=generator,
    )
    return trainer.run(tqdm(disable=True))[-1].validation_loss


def plain(rows: Rows, validation: Rows, n_latents: int, n_epochs: int) -> float:
    """Train with the straightforward loop; return the last validation loss."""
    generator = torch.Generator().manual_seed(1)
    maps = MetaNetwork(rows.X.shape[1], n_latents, generator)
    loop = PlainTraining(maps, rows, validation, PAPER.batch_size, PAPER.learning_rate, generator)
    return loop.run(n_epochs)[-1]


def measure(threads: int, options: argparse.Namespace) -> None:
    """Alternate the two and record the medians of their times."""
    torch.set_num_threads(threads)
    rows = problem(options.rows, options.inputs)
    validation = problem(options.rows // 4, options.inputs)
    seconds: dict[str, list[float]] = {"ours": [], "plain": []}
    processor: dict[str, list[float]] = {"ours": [], "plain": []}
    losses = {}
    ours(validation, validation, options.latents, 1)  # libraries are loaded before the clock runs
    for _ in range(options.repeats):
        for name, train in (("ours", ours), ("plain", plain)):
            wall, busy = time.perf_counter(), time.process_time()
            losses[name] = train(rows, validation, options.latents, options.epochs)
            seconds[name].append(time.perf_counter() - wall)
            processor[name].append(time.process_time() - busy)
    wall_of = {name: statistics.median(found) for name, found in seconds.items()}
    busy_of = {name: statistics.median(found) for name, found in processor.items()}
    record(
        "fit_speed",
        inputs=options.inputs,
        latents=options.latents,
        rows=options.rows,
        epochs=options.epochs,
        batch_size=PAPER.batch_size,
        repeats=options.repeats,
        threads=threads,
        seconds=wall_of["ours"],
        plain_seconds=wall_of["plain"],
        times_faster=wall_of["plain"] / wall_of["ours"],
        processor_times_less=busy_of["plain"] / busy_of["ours"],
        validation_loss=losses["ours"],
        plain_validation_loss=losses["plain"],
    )


def main() -> None:
    """Measure with one thread and with two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=64)
    parser.add_argument("--latents", type=int, default=32)
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    options = parser.parse_args()
    for threads in options.threads:
        measure(threads, options)


if __name__ == "__main__":
    main()
