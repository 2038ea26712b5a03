"""How networks are trained: levels of effort, one thread, progress, interrupts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from illume.results.quality import NextEffort


@contextmanager
def training_threads(device: str) -> Iterator[str]:
    """Yield the device to train on, for `auto` a CUDA device where there is one; on the CPU, use one thread.

    Threads of linear algebra and torch spin while they wait, and on a machine that is busy otherwise they
    wait for each other: fits beside two busy processes took 40 times as long. One thread also makes results
    independent of the number of cores.
    """
    from threadpoolctl import threadpool_limits

    torch: Any = None
    with suppress(ImportError):  # not every fit needs torch
        import torch
    if device == "auto":
        device = "cuda" if torch is not None and torch.cuda.is_available() else "cpu"
    with ExitStack() as stack:
        if device == "cpu":
            stack.enter_context(threadpool_limits(limits=1))
            if torch is not None:
                stack.callback(torch.set_num_threads, torch.get_num_threads())
                torch.set_num_threads(1)
        yield device


class TrainingProgress:
    """A training that can be interrupted: what it has learned so far is kept."""

    def __init__(self, progress: Callable[[float], None] = lambda share: None) -> None:
        self.progress, self.interrupted = progress, False

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """End the block at an interrupt, and remember that."""
        try:
            yield
        except KeyboardInterrupt:
            self.interrupted = True


BATCH = 512
FEWEST_QUERIES, MOST_QUERIES = 10_000, 2_000_000
QUERIES_PER_FEATURE = 600  # enough for walks of held-out rows, which measure errors
MOST_CODES = 150_000_000  # codes of all queries that are held in memory
FIRST_QUERIES = 500  # to measure the model's speed
STEPS_PER_QUERY = 30 / BATCH  # no query is learned from more than 30 times
WALKS_PER_QUERY = 20
FEWEST_STEPS, FEWEST_WALKS = 300, 4_000


@dataclass(frozen=True)
class Sizes:
    """Sizes of the networks and lengths of their training."""

    n_embedding: int
    n_units: int
    n_value_units: int
    n_steps: int
    n_walks: int


@dataclass(frozen=True)
class Effort:
    """A level of effort; walks are counted times features."""

    ask_seconds: float  # for the model to answer all queries, if their number is not given
    operations: float  # floating-point operations for training the model's network
    n_units: int  # gated units of that network, for up to 64 features
    walks: float  # for training the values' network
    most_steps: int  # of training the model's network

    def sizes(self, m: int, n_queries: int) -> Sizes:
        """Return sizes of networks for m features."""
        n_embedding = 8 if m <= 64 else 4 if m <= 256 else 2
        n_units = self.n_units if m <= 64 else max(64, self.n_units // 2)
        per_step = _per_step(m, n_embedding, n_units)
        n_steps = min(self.operations / per_step, STEPS_PER_QUERY * n_queries, self.most_steps)
        n_walks = min(self.walks / m, WALKS_PER_QUERY * n_queries, 80 * self.most_steps)
        n_steps, n_walks = max(FEWEST_STEPS, int(n_steps)), max(FEWEST_WALKS, int(n_walks))
        return Sizes(n_embedding, n_units, 48, n_steps, n_walks)

    def most_queries(self, m: int) -> int:
        """Return the largest number of queries that training can use."""
        useful = self.sizes(m, MOST_QUERIES).n_steps * BATCH
        return max(fewest_queries(m), min(MOST_QUERIES, useful, MOST_CODES // max(m, 1)))

    def training_operations(self, m: int, n_queries: int) -> float:
        """Return the floating-point operations for training the model's network."""
        sizes = self.sizes(m, n_queries)
        return sizes.n_steps * _per_step(m, sizes.n_embedding, sizes.n_units)


def _per_step(m: int, n_embedding: int, n_units: int) -> float:
    """Return the floating-point operations of a step of training."""
    return 6.0 * BATCH * max(m * n_embedding, 64) * 2 * n_units


EFFORTS = {
    "quick": Effort(3.0, 2e11, 128, 1e6, 1_200),
    "standard": Effort(15.0, 1.2e12, 256, 4e6, 5_000),
    "thorough": Effort(60.0, 8e12, 384, 1.2e7, 24_000),
}


def require_effort(effort: object) -> None:
    """Raise unless `effort` is the name of a level."""
    if effort not in EFFORTS:
        raise ValueError(f"effort must be one of {list(EFFORTS)}, found {effort!r}")


def fewest_queries(m: int) -> int:
    """Return how many queries even a slow model is asked: where that is affordable, enough to measure errors.

    >>> fewest_queries(4), fewest_queries(30), fewest_queries(500)
    (10000, 18000, 30000)
    """
    return max(FEWEST_QUERIES, min(QUERIES_PER_FEATURE * m, 3 * FEWEST_QUERIES))


def resolve_queries(effort: Effort, m: int, ask: Callable[[int], None]) -> int:
    """Return how many queries the model can answer in the time that the effort gives it.

    `ask(n)` asks the model about n rows. The result is a round number, so that noise in the measured speed
    hardly changes it.
    """
    for asked in (FIRST_QUERIES, 10 * FIRST_QUERIES):
        start = time.perf_counter()
        ask(asked)
        seconds = time.perf_counter() - start
        if seconds >= 0.25:  # less is mostly overhead
            break
    found = effort.ask_seconds * asked / max(seconds, 1e-6)
    return max(fewest_queries(m), min(round_down(found), effort.most_queries(m)))


def round_down(number: float) -> int:
    """Return the next lower one of 1, 2, 5, 10, 20, 50 and so on.

    >>> round_down(1), round_down(4.9), round_down(99_000)
    (1, 2, 50000)
    """
    power = 10 ** math.floor(math.log10(max(number, 1.0)))
    return int(power * max(step for step in (1, 2, 5) if step * power <= max(number, 1.0)))


def next_effort(effort: str, m: int, n_queries: int) -> NextEffort | None:
    """Return the next level for m features; None after the highest."""
    names = list(EFFORTS)
    if effort not in names or effort == names[-1]:
        return None
    name = names[names.index(effort) + 1]
    most = max(EFFORTS[name].most_queries(m), n_queries)
    now = EFFORTS[effort].training_operations(m, n_queries)
    return NextEffort(name, most, EFFORTS[name].training_operations(m, most) / now)
