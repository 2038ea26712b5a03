"""Training the two networks: torch begins and ends here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from illume._typing import FloatArray
from illume.shapley.codes import Codes, Coding
from illume.shapley.effort import BATCH, Sizes
from illume.shapley.network_arrays import ModelArrays, Table, ValueArrays
from illume.shapley.torch_networks import ModelNetwork, ValueNetwork
from illume.shapley.training_run import TrainingProgress
from illume.shapley.walks import Game, WalkLabels

RATE, VALUE_RATE, DECAY = 1e-2, 5e-3, 1e-2
WARM_UP, COOL_DOWN = 0.05, 0.4  # shares of the steps
CHECKS = 12  # how often the validation error is looked at
GOOD, BETTER = 0.998, 5e-4  # R² that is good enough; R² that a longer training must bring
MODEL_SHARE = 0.6  # of the time, for the network that learns the model
REUSE = 3  # how often a walk is learned from
WALK_ROWS = 8_192  # walks at once


class Schedule:
    """Learning rate: up, constant while validation improves, then down to 0 over a share of the steps."""

    def __init__(self, optimiser: Any, rate: float, n_steps: int) -> None:
        self.optimiser, self.rate, self.n_steps, self.done = optimiser, rate, n_steps, 0
        self.cool_from = int((1 - COOL_DOWN) * n_steps)

    def finish_early(self) -> None:
        """Begin to lower the rate now, over as long as the steps so far deserve."""
        if self.done < self.cool_from:
            self.cool_from = self.done
            self.n_steps = min(self.n_steps, int(self.done / (1 - COOL_DOWN)) + 1)

    def step(self) -> bool:
        """Set the rate of the next step; return whether there is one."""
        if self.done >= self.n_steps:
            return False
        up = (self.done + 1) / max(1.0, WARM_UP * self.n_steps)
        down = (self.n_steps - self.done) / max(1, self.n_steps - self.cool_from)
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate * min(1.0, up, down)
        self.done += 1
        return True


def _optimiser(network: nn.Module, rate: float) -> torch.optim.Optimizer:
    return torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=DECAY, betas=(0.9, 0.99), fused=True)


def _tensors(codes: Codes, device: torch.device) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(codes.at).to(device), torch.from_numpy(codes.part).to(device)


def _batches(n: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Yield batches of positions without end, all rows once before any comes again."""
    size = min(BATCH, n)
    while True:
        order = torch.randperm(n, generator=generator)
        for start in range(0, n - size + 1, size):
            yield order[start : start + size]


def train_model_network(
    coding: Coding,
    codes: Codes,
    targets: FloatArray,
    validation: tuple[Codes, FloatArray],
    sizes: Sizes,
    *,
    seed: int,
    device: str,
    running: TrainingProgress,
) -> ModelArrays:
    """Learn log-odds `targets` (n, c) of coded rows; an interrupt ends the training with what there is."""
    where = torch.device(device)
    generator = torch.Generator().manual_seed(seed)
    network = ModelNetwork(coding, targets.shape[1], sizes.n_embedding, sizes.n_units, generator).to(where)
    middle = targets.mean(0)
    scale = max(float(targets.std(0).mean()), 1e-12)
    at, part = _tensors(codes, where)
    goal = torch.from_numpy(((targets - middle) / scale).astype(np.float32)).to(where)
    optimiser = _optimiser(network, RATE)
    schedule = Schedule(optimiser, RATE, sizes.n_steps)
    every, best = max(1, sizes.n_steps // CHECKS), -np.inf
    batches = _batches(len(codes), generator)
    with running.interruptible():
        while schedule.step():
            chosen = next(batches).to(where)
            loss = functional.mse_loss(network(at[chosen], part[chosen]), goal[chosen])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            running.progress(MODEL_SHARE / sizes.n_steps)
            if schedule.done % every == 0 and schedule.done < schedule.cool_from:
                found = _r_squared(network, validation, middle, scale, where)
                if found >= GOOD or found < best + BETTER:
                    schedule.finish_early()
                best = max(best, found)
    return _model_arrays(network, coding, codes, scale, middle)


@torch.no_grad()
def _r_squared(
    network: nn.Module,
    validation: tuple[Codes, FloatArray],
    middle: FloatArray,
    scale: float,
    where: torch.device,
) -> float:
    codes, targets = validation
    answers = [
        network(*_tensors(codes[i : i + 4096], where)).cpu().numpy() for i in range(0, len(codes), 4096)
    ]
    wanted = (targets - middle) / scale
    error = np.square(np.concatenate(answers) - wanted).sum()
    return float(1 - error / max(np.square(wanted - wanted.mean(0)).sum(), 1e-12))


def _array(tensor: Tensor) -> FloatArray:
    return np.ascontiguousarray(tensor.detach().cpu().numpy().astype(np.float32))


def _nodes(table: Any, coding: Coding, codes: Codes) -> FloatArray:
    """Return the table; entries that no row was coded with, such as missing values, are the mean of all."""
    nodes = _array(table.nodes())
    used = np.bincount(codes.at.ravel(), minlength=coding.size)
    last = coding.starts + coding.widths
    for j in range(coding.n_features):
        for entry in [last[j]] if coding.numeric[j] else range(coding.starts[j], last[j] + 1):
            if not used[entry]:
                counts = used[coding.starts[j] : last[j] + 1]
                nodes[entry] = np.average(nodes[coding.starts[j] : last[j] + 1], axis=0, weights=counts)
    return nodes


def _model_arrays(
    network: ModelNetwork, coding: Coding, codes: Codes, scale: float, middle: FloatArray
) -> ModelArrays:
    """Return the network as arrays whose answers are log-odds."""
    nodes = _nodes(network.table, coding, codes)
    nodes[:, : len(middle)] *= scale
    return ModelArrays(
        Table(nodes, len(middle)),
        _array(network.first.weight.T),
        _array(network.first.bias),
        _array(scale * network.last.weight.T),
        (scale * _array(network.last.bias) + middle).astype(np.float32),
    )


def train_value_network(
    coding: Coding,
    game: Game,
    sizes: Sizes,
    *,
    seed: int,
    device: str,
    running: TrainingProgress,
) -> ValueArrays:
    """Learn the Shapley values of the network that learned the model, from its walks."""
    where = torch.device(device)
    generator = torch.Generator().manual_seed(seed)
    rng = np.random.default_rng(seed)
    c, d = game.model.last.shape[1], sizes.n_embedding
    network = ValueNetwork(coding, c, d, sizes.n_value_units, generator).to(where)
    with torch.no_grad():
        _start_from(network.table, game.model.table.nodes[:, c:])
    labels = WalkLabels(game, rng)
    n_steps = max(1, REUSE * sizes.n_walks // BATCH)
    optimiser = _optimiser(network, VALUE_RATE)
    schedule = Schedule(optimiser, VALUE_RATE, n_steps)
    scale = 0.0
    with running.interruptible():
        while schedule.done < n_steps:
            rows = draw_rows_like(game.rows, min(WALK_ROWS, sizes.n_walks), rng)
            wanted, totals = labels.draw(rows), labels.totals(rows)
            scale = scale or max(float(wanted.std()), 1e-12)
            at, part = _tensors(rows, where)
            goal, total = (torch.from_numpy(each / scale).to(where) for each in (wanted, totals))
            batches = _batches(len(rows), generator)
            for _ in range(max(1, REUSE * len(rows) // BATCH)):
                if not schedule.step():
                    break
                chosen = next(batches).to(where)
                found = network(at[chosen], part[chosen])
                found = found + ((total[chosen] - found.sum(1)) / found.shape[1])[:, None]
                loss = functional.mse_loss(found, goal[chosen])
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                optimiser.step()
                running.progress((1 - MODEL_SHARE) / n_steps)
    return _value_arrays(network, coding, game, scale or 1.0)


def _start_from(table: Any, embedding: FloatArray) -> None:
    """Let embeddings begin as those of the network that learned the model."""
    nodes = torch.from_numpy(embedding).to(table.weights)
    before = torch.cat([nodes[:1], nodes[:-1]])
    table.weights[:, table.n_main :] = torch.where(table.is_step[:, None], nodes - before, nodes)


def draw_rows_like(rows: Codes, n: int, rng: np.random.Generator) -> Codes:
    """Draw rows; more than half of them have some features of another row."""
    m = rows.at.shape[1]
    first, second = rng.integers(len(rows), size=(2, n))
    keep = (rng.random((n, m), dtype=np.float32) >= 0.15) | (rng.random((n, 1)) < 0.4)
    return rows.mixed(first, second, keep)


def _value_arrays(network: ValueNetwork, coding: Coding, game: Game, scale: float) -> ValueArrays:
    """Return the network as arrays whose values are those of the whole model: main effects are added."""
    c = game.model.last.shape[1]
    nodes = _nodes(network.table, coding, game.rows)
    nodes[:, :c] = scale * nodes[:, :c] + game.model.table.nodes[:, :c]
    main, _ = game.model.table.look_up(game.background)
    return ValueArrays(
        Table(nodes, c),
        (scale * _array(network.constant) - main.mean(0)).astype(np.float32),
        _array(network.first.weight.T),
        _array(network.first.bias),
        _array(scale * network.last.weight.T),
        _array(scale * network.last.bias),
    )
