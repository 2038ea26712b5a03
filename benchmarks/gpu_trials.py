"""Milliseconds to bring the trials of 4, 8 and 16 latents one step further: apart, and at once.

`apart` steps each model by itself, `stacked` all as one padded model (torch.func), `side_by_side` lets one
step, on a GPU one recorded graph with a stream per model, hold all of them. On the CPU, times are
processor times.

Imports the training loop alone, so that it also runs where only torch and tqdm are installed. Ends after a
minute at the latest.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial

import torch

from benchmarks.ensemble import Ensemble
from illume.encoders.batches import Model, Rows
from illume.encoders.distances import Columns
from illume.encoders.networks import MetaNetwork, head
from illume.encoders.objective import Batch, loss_terms, total
from illume.encoders.options import PRESETS, QUICK
from illume.encoders.steps import Steps, Work, optimiser

LATENTS = (4, 8, 16)
OBJECTIVE = PRESETS["aligned"]
LIMIT = 60.0


def models_of(n_inputs: int, device: str) -> list[Model]:
    """Return one untrained model for every number of latents."""
    made = []
    for k in LATENTS:
        generator = torch.Generator().manual_seed(k)
        maps = MetaNetwork(n_inputs, k, generator, width=OBJECTIVE.width)
        made.append(Model(maps.to(device), head(k, 2, generator).to(device)))
    return made


def work_on(model: Model, columns: Columns) -> tuple[Work, torch.optim.Adam]:
    """Return what steps one model, and its optimiser."""
    adam = optimiser(list(model.modules.parameters()), QUICK.learning_rate)

    def work(batch: Batch) -> torch.Tensor:
        loss = total(OBJECTIVE, loss_terms(OBJECTIVE, model, batch, columns, batch.X.shape[1]))
        loss.backward()
        adam.step()
        return loss.detach()

    return work, adam


def apart(models: list[Model], columns: Columns) -> Callable[[Batch], torch.Tensor]:
    """Return what steps each model by itself."""
    steps = []
    for model in models:
        work, adam = work_on(model, columns)
        steps.append(Steps(work, partial(adam.zero_grad, set_to_none=True)))
    return lambda batch: torch.stack([step(batch) for step in steps])


def stacked(models: list[Model], columns: Columns) -> Callable[[Batch], torch.Tensor]:
    """Return what steps all models as one padded model."""
    ensemble = Ensemble(models, OBJECTIVE)
    adam = optimiser(list(ensemble.parameters()), QUICK.learning_rate)

    def work(batch: Batch) -> torch.Tensor:
        loss = ensemble.losses(batch, columns)
        loss.sum().backward()
        adam.step()
        return loss.detach()

    return Steps(work, partial(adam.zero_grad, set_to_none=True))


def side_by_side(models: list[Model], columns: Columns) -> Callable[[Batch], torch.Tensor]:
    """Return what steps all models in one step, each on a stream of its own."""
    works = [work_on(model, columns) for model in models]
    cuda = columns.onehot.is_cuda
    streams = [torch.cuda.Stream() if cuda else None for _ in models]

    def work(batch: Batch) -> torch.Tensor:
        found = []
        for (each, _), stream in zip(works, streams, strict=True):
            if stream is None:
                found.append(each(batch))
                continue
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                found.append(each(batch))
        for stream in streams:
            if stream is not None:
                torch.cuda.current_stream().wait_stream(stream)
        return torch.stack(found)

    def before() -> None:
        for _, adam in works:
            adam.zero_grad(set_to_none=True)

    return Steps(work, before)


def measured(step: Callable[[Batch], object], batch: Batch, until: float) -> float:
    """Return the median milliseconds of a step, recording and warming up not counted."""
    seconds: list[float] = []
    clock = time.perf_counter if batch.X.is_cuda else time.process_time
    for i in range(60):
        start = clock()
        step(batch)
        if batch.X.is_cuda:
            torch.cuda.synchronize()
        if i >= 8:
            seconds.append(clock() - start)
        if time.perf_counter() > until and seconds:
            break
    return 1e3 * sorted(seconds)[len(seconds) // 2]


WAYS = (apart, stacked, side_by_side)


def main() -> None:
    """Print one JSON line per number of inputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--inputs", type=int, nargs="+", default=[30, 61, 105])
    options = parser.parse_args()
    device, begin = options.device, time.perf_counter()
    name = torch.cuda.get_device_name() if device.startswith("cuda") else device
    for i, m in enumerate(options.inputs):
        generator = torch.Generator().manual_seed(0)
        X = torch.randn(QUICK.batch_size, m, generator=generator)
        p = torch.sigmoid(4 * X[:, 0] * X[:, 1])
        rows = Rows(X.to(device), torch.stack([1 - p, p], 1).to(device))
        batch = next(rows.batches(torch.arange(len(rows)), len(rows), generator, QUICK.stability_rows))
        columns = Columns.of(torch.zeros(m, dtype=torch.bool, device=device))
        share = LIMIT / len(options.inputs) / len(WAYS)
        found = {}
        for j, make in enumerate(WAYS):
            until = begin + (len(WAYS) * i + j + 1) * share
            found[make.__name__] = measured(make(models_of(m, device), columns), batch, until)
        threads = {} if device.startswith("cuda") else {"threads": torch.get_num_threads()}
        print(
            json.dumps({"device": name, "torch": torch.__version__, "inputs": m} | threads | found),
            flush=True,
        )


if __name__ == "__main__":
    main()
