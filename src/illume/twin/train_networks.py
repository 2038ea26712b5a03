"""The two networks behind Shapley values, in torch, and their training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from illume._typing import FloatArray
from illume.data.rounded_weights import round_weights
from illume.metrics.fidelity import r_squared
from illume.twin.network_arrays import Codes, Coding, ModelArrays, Table, ValueArrays
from illume.twin.training_run import BATCH, Sizes, TrainingProgress
from illume.twin.walks import QuadraticUnits, Walks, network_walks

AT_ONCE = 2**23  # coefficients that are computed at once, 32 MB
NODE_BITS = 12  # main values are added as they are
SPREAD = 1.5  # of a feature's embedding over its table, at the start


class FeatureTable(nn.Module):
    """Each feature's value as numbers: `main` (c of them) and an embedding (d of them).

    Entries of a number are steps from one knot to the next, so that neighbouring bins learn together.
    """

    is_step: Tensor
    start: Tensor

    def __init__(self, coding: Coding, n_main: int, n_embedding: int, generator: torch.Generator) -> None:
        super().__init__()
        self.n_main = n_main
        steps = torch.from_numpy(coding.steps)
        start = torch.from_numpy(coding.starts[coding.owner])
        widths = torch.from_numpy(coding.widths[coding.owner]).float()
        self.register_buffer("is_step", steps)
        self.register_buffer("start", start)
        scale = torch.where(steps, SPREAD / widths.sqrt(), torch.tensor(SPREAD / 2))
        embedding = torch.randn(coding.size, n_embedding, generator=generator) * scale[:, None]
        self.weights = nn.Parameter(torch.cat([torch.zeros(coding.size, n_main), embedding], 1))

    def nodes(self) -> Tensor:
        """Return the table itself, (size, c + d): steps added up."""
        up = torch.where(self.is_step[:, None], self.weights, 0.0).cumsum(0)
        level = self.weights[self.start] + up - up[self.start]
        return torch.where(self.is_step[:, None], level, self.weights)

    def forward(self, at: Tensor, part: Tensor) -> tuple[Tensor, Tensor]:
        """Return main values (n, m, c) and embeddings (n, m, d) of codes (n, m)."""
        nodes = self.nodes()
        rise = torch.cat([nodes[1:] - nodes[:-1], torch.zeros_like(nodes[:1])])
        width = nodes.shape[1]
        found = functional.embedding(at, torch.cat([nodes, rise], 1))
        values = found[..., :width] + part[..., None] * found[..., width:]
        return values[..., : self.n_main], values[..., self.n_main :]


def _linear(n_in: int, n_out: int, generator: torch.Generator, scale: float = 1.0) -> nn.Linear:
    layer = nn.utils.skip_init(nn.Linear, n_in, n_out)
    with torch.no_grad():
        layer.weight.copy_(scale * torch.randn(n_out, n_in, generator=generator) / n_in**0.5)
        layer.bias.zero_()
    return layer


def gate_units(hidden: Tensor) -> Tensor:
    """Return SiLU of the first half times the second half, on the last axis."""
    gate, value = hidden.chunk(2, -1)
    return functional.silu(gate) * value


class ModelNetwork(nn.Module):
    """The model's scores: main effects of each feature, and gated units of all embeddings together.

    The first layer is a sum over features, so that a walk that changes one feature at a time changes one
    summand at a time.
    """

    def __init__(
        self, coding: Coding, n_outputs: int, n_embedding: int, n_units: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.table = FeatureTable(coding, n_outputs, n_embedding, generator)
        self.first = _linear(coding.n_features * n_embedding, 2 * n_units, generator)
        self.last = _linear(n_units, n_outputs, generator, scale=0.0)

    def forward(self, at: Tensor, part: Tensor) -> Tensor:
        """Return outputs (n, c)."""
        main, embedding = self.table(at, part)
        return main.sum(1) + self.last(gate_units(self.first(embedding.flatten(1))))


class ValueNetwork(nn.Module):
    r"""Shapley values: :math:`\phi_j = g_j(x_j) + \langle C_j(x), e_j(x_j) \rangle`.

    Each feature's own embedding times coefficients that depend on the whole row: a row has its own linear
    map of its features' embeddings.
    """

    def __init__(
        self, coding: Coding, n_outputs: int, n_embedding: int, n_units: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        m = coding.n_features
        self.shape = (m, n_embedding, n_outputs)
        self.table = FeatureTable(coding, n_outputs, n_embedding, generator)
        self.constant = nn.Parameter(torch.zeros(m, n_outputs))
        self.first = _linear(m * n_embedding, 3 * n_units, generator)
        self.last = _linear(2 * n_units, m * n_embedding * n_outputs, generator, scale=0.1)

    def forward(self, at: Tensor, part: Tensor) -> Tensor:
        """Return values (n, m, c)."""
        main, embedding = self.table(at, part)
        hidden = self.first(embedding.flatten(1))
        units = hidden.shape[1] // 3
        context = torch.cat([gate_units(hidden[:, : 2 * units]), hidden[:, 2 * units :]], 1)
        # Many classes have many coefficients; tensors above 32 MB are taken from the system anew each time.
        size = max(1, AT_ONCE // self.last.out_features)
        found = [
            (self.last(some).unflatten(1, self.shape) * own[..., None]).sum(2)
            for some, own in zip(context.split(size), embedding.split(size), strict=True)
        ]
        return main + self.constant + torch.cat(found)


Answered = tuple[Codes, FloatArray]  # coded rows and the model's scores (n, c)

RATE, VALUE_RATE = 1e-2, 3e-3  # single walks are noisy: values are learned slowly
DECAY, VALUE_DECAY = 1e-2, 1e-1
WARM_UP, COOL_DOWN = 0.05, 0.4  # shares of the steps
CHECKS = 12  # how often the validation error is looked at
GOOD, BETTER = 0.998, 5e-4  # R² that is good enough; R² that a longer training must bring
PATIENCE = 2  # looks without that
WALK_ROWS = 8_192  # walks at once
NOISE_ROWS = 2_048
USUAL_NOISE = 0.6  # variance of walks of a row in that of its values, for which effort says how many walks
FEWER, MORE = 1 / 3, 2.0  # times as many walks, at least and at most
MOST_OUTPUTS = 10  # of a walk that costs as much as of one class
TINY = 1e-12


class Descent:
    """Steps of AdamW, whose rate goes up, stays while validation improves, and goes down to 0 at the end."""

    def __init__(
        self, network: nn.Module, rate: float, decay: float, n_steps: int, running: TrainingProgress
    ) -> None:
        options: Any = {"weight_decay": decay, "betas": (0.9, 0.99), "fused": True}
        self.optimiser = torch.optim.AdamW(network.parameters(), lr=rate, **options)
        self.rate, self.n_steps, self.done = rate, n_steps, 0
        self.cool_from = int((1 - COOL_DOWN) * n_steps)
        self.running, self.progress = running, 1 / n_steps

    def finish_early(self) -> None:
        """Begin to lower the rate now, over as many steps as the steps so far deserve."""
        if self.done < self.cool_from:
            self.cool_from = self.done
            self.n_steps = min(self.n_steps, int(self.done / (1 - COOL_DOWN)) + 1)

    def step(self, loss: Tensor) -> None:
        """Take one step down the gradient of a loss."""
        up = (self.done + 1) / max(1.0, WARM_UP * self.n_steps)
        down = (self.n_steps - self.done) / max(1, self.n_steps - self.cool_from)
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate * min(1.0, up, down)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        self.done += 1
        self.running.progress(self.progress)


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
    learned: Answered,
    validation: Answered,
    sizes: Sizes,
    *,
    seed: int,
    device: str,
    running: TrainingProgress,
) -> ModelArrays:
    """Learn the scores of coded rows; an interrupt ends the training with what there is."""
    (codes, targets), where = learned, torch.device(device)
    generator = torch.Generator().manual_seed(seed)
    network = ModelNetwork(coding, targets.shape[1], sizes.n_embedding, sizes.n_units, generator).to(where)
    middle = targets.mean(0)
    scale = max(float(targets.std(0).mean()), 1e-12)
    at, part = _tensors(codes, where)
    goal = torch.from_numpy(((targets - middle) / scale).astype(np.float32)).to(where)
    descent = Descent(network, RATE, DECAY, sizes.n_steps, running)
    every, best, worse = max(1, sizes.n_steps // CHECKS), -np.inf, 0
    batches = _batches(len(codes), generator)
    with running.interruptible():
        while descent.done < descent.n_steps:
            chosen = next(batches).to(where)
            descent.step(functional.mse_loss(network(at[chosen], part[chosen]), goal[chosen]))
            if descent.done % every == 0 and descent.done < descent.cool_from:
                found = _r_squared(network, validation, middle, scale, where)
                worse = 0 if found >= best + BETTER else worse + 1
                if found >= GOOD or worse == PATIENCE:
                    descent.finish_early()
                best = max(best, found)
    return _model_arrays(network, coding, codes, scale, middle)


@torch.no_grad()
def _r_squared(
    network: nn.Module, validation: Answered, middle: FloatArray, scale: float, where: torch.device
) -> float:
    codes, targets = validation
    answers = [
        network(*_tensors(codes[i : i + 4096], where)).cpu().numpy() for i in range(0, len(codes), 4096)
    ]
    return r_squared((targets - middle) / scale, np.concatenate(answers))


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
    """Return the network as arrays whose answers are scores."""
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
    model: ModelArrays,
    rows: Codes,
    background: Codes,
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
    c, d = model.last.shape[1], sizes.n_embedding
    network = ValueNetwork(coding, c, d, sizes.n_value_units, generator).to(where)
    with torch.no_grad():
        _start_from(network.table, model.table.nodes[:, c:])
    correct = QuadraticUnits.fit(model, background)
    mean = model.coded_interactions(background).mean(0)

    def walk(drawn: Codes) -> FloatArray:
        walks = Walks.draw(len(drawn), coding.n_features, len(background), rng)
        return network_walks(model, drawn, background, walks, correct)

    few = draw_rows_like(rows, NOISE_ROWS, rng)
    n_walks = _count_walks(sizes.n_walks, walk(few), walk(few))
    n_steps = max(1, n_walks // BATCH)
    descent = Descent(network, VALUE_RATE, VALUE_DECAY, n_steps, running)
    scale = 0.0
    with running.interruptible():
        while descent.done < n_steps:
            drawn = draw_rows_like(rows, min(WALK_ROWS, n_walks), rng)
            wanted = walk(drawn)
            totals = model.coded_interactions(drawn) - mean
            scale = scale or max(float(wanted.std()), 1e-12)
            at, part = _tensors(drawn, where)
            goal, total = (torch.from_numpy(each / scale).to(where) for each in (wanted, totals))
            batches = _batches(len(drawn), generator)
            for _ in range(max(1, len(drawn) // BATCH)):
                if descent.done == n_steps:
                    break
                chosen = next(batches).to(where)
                found = network(at[chosen], part[chosen])
                found = found + ((total[chosen] - found.sum(1)) / found.shape[1])[:, None]
                descent.step(functional.mse_loss(found, goal[chosen]))
    return _value_arrays(network, coding, model, rows, background, scale=scale or 1.0)


def _count_walks(usual: int, first: FloatArray, second: FloatArray) -> int:
    """Return how many walks to learn from: more where they are noisy, fewer where each has many outputs.

    `first` and `second` (n, m, c) are two walks of the same rows.

    >>> same = np.array([[[1.0]], [[-1.0]]])
    >>> _count_walks(6_000, same, same), _count_walks(6_000, same, -same)
    (2000, 12000)
    """
    noise = np.square(first - second).mean() / 2
    spread = ((first - first.mean(0)) * (second - second.mean(0))).mean()
    share = noise / max(float(spread), TINY)
    times = np.clip(share / USUAL_NOISE, FEWER, MORE) * min(1.0, MOST_OUTPUTS / first.shape[2])
    return int(usual * times)


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
    return rows[first].mix(rows[second], keep)


def _value_arrays(
    network: ValueNetwork, coding: Coding, model: ModelArrays, rows: Codes, background: Codes, *, scale: float
) -> ValueArrays:
    """Return the network as arrays whose values are those of the whole model: main effects are added."""
    c = model.last.shape[1]
    nodes = _nodes(network.table, coding, rows)
    nodes[:, :c] = scale * nodes[:, :c] + model.table.nodes[:, :c]
    nodes = np.hstack([round_weights(part, NODE_BITS) for part in (nodes[:, :c], nodes[:, c:])])
    main, _ = model.table.look_up(background)
    return ValueArrays(
        Table(nodes, c),
        (scale * _array(network.constant) - main.mean(0)).astype(np.float32),
        round_weights(_array(network.first.weight.T)),
        _array(network.first.bias),
        round_weights(_array(scale * network.last.weight.T)),
        _array(scale * network.last.bias),
    )
