"""How networks are trained: levels of effort, one thread, progress, interrupts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from illume.data.require import require_choice
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
TIERS = (2_000, 10_000, 50_000, 250_000, 1_250_000)  # numbers of queries
FOR_EACH_FEATURE = 250  # queries, or the next tier is taken
QUERIES_PER_FEATURE = 600  # enough for walks of held-out rows, which measure errors
MOST_CODES = 150_000_000  # codes of all queries that are held in memory
MOST_SECONDS = 240.0  # for the model to answer all queries, or the tier below is taken
STEPS_PER_QUERY = 30 / BATCH  # no query is learned from more than 30 times
WALK_STEPS_PER_QUERY = 400
FEWEST_STEPS, FEWEST_WALKS = 300, 4_000
OPERATIONS_A_SECOND, STEP_SECONDS = 1e11, 2e-6  # of a core, and of a step of a walk; for estimates


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

    n_queries: int  # one of the tiers, if their number is not given
    operations: float  # floating-point operations for training the model's network
    n_units: int  # gated units of that network, for up to 64 features
    most_steps: int  # of training the model's network
    n_value_units: int
    walks: float  # for training the values' network

    def sizes(self, m: int, n_queries: int) -> Sizes:
        """Return sizes of networks for m features."""
        n_embedding = 8 if m <= 64 else 4 if m <= 256 else 2
        n_units = self.n_units if m <= 64 else max(64, self.n_units // 2)
        per_step = _per_step(m, n_embedding, n_units)
        n_steps = min(self.operations / per_step, STEPS_PER_QUERY * n_queries, self.most_steps)
        n_walks = min(self.walks, WALK_STEPS_PER_QUERY * n_queries) / m
        n_steps, n_walks = max(FEWEST_STEPS, int(n_steps)), max(FEWEST_WALKS, int(n_walks))
        return Sizes(n_embedding, n_units, self.n_value_units, n_steps, n_walks)

    def training_seconds(self, m: int, n_queries: int) -> float:
        """Return about how long training takes on one core."""
        walking = self.sizes(m, n_queries).n_walks * m * STEP_SECONDS
        return self.training_operations(m, n_queries) / OPERATIONS_A_SECOND + walking

    def training_operations(self, m: int, n_queries: int) -> float:
        """Return the floating-point operations for training the model's network."""
        sizes = self.sizes(m, n_queries)
        return sizes.n_steps * _per_step(m, sizes.n_embedding, sizes.n_units)


def _per_step(m: int, n_embedding: int, n_units: int) -> float:
    """Return the floating-point operations of a step of training."""
    return 6.0 * BATCH * max(m * n_embedding, 64) * 2 * n_units


EFFORTS = {
    "quick": Effort(50_000, 2e11, 128, 1_200, 48, 1.6e6),
    "standard": Effort(250_000, 1.2e12, 256, 3_000, 64, 5e6),
    "thorough": Effort(1_250_000, 8e12, 384, 24_000, 96, 2e7),
}


def require_effort(effort: object) -> None:
    """Raise unless `effort` is the name of a level."""
    require_choice("effort", effort, list(EFFORTS))


def count_queries(effort: Effort, m: int) -> int:
    """Return how many queries m features deserve: the effort's tier, or a higher one for many features.

    >>> [count_queries(EFFORTS["quick"], m) for m in (4, 40, 500)]
    [50000, 50000, 250000]
    """
    enough = next((n for n in TIERS if n >= FOR_EACH_FEATURE * m), TIERS[-1])
    wanted = min(max(effort.n_queries, enough), MOST_CODES // m)
    return max(n for n in TIERS if n <= max(TIERS[0], wanted))


def affordable_queries(n_queries: int, seconds: float) -> int:
    """Return the highest tier, up to `n_queries`, that takes no minutes at so many seconds a row.

    Tiers are a factor of 5 apart, so that how busy a machine is hardly ever matters.

    >>> affordable_queries(50_000, 1e-3), affordable_queries(50_000, 1e-2), affordable_queries(50_000, 9.0)
    (50000, 10000, 2000)
    """
    affordable = min(n_queries, MOST_SECONDS / max(seconds, 1e-9))
    return max(n for n in TIERS if n <= max(TIERS[0], affordable))


def next_effort(effort: str, m: int, n_queries: int) -> NextEffort | None:
    """Return the next level for m features; None after the highest."""
    names = list(EFFORTS)
    if effort not in names or effort == names[-1]:
        return None
    name = names[names.index(effort) + 1]
    most = max(count_queries(EFFORTS[name], m), n_queries)
    now = EFFORTS[effort].training_operations(m, n_queries)
    return NextEffort(name, most, EFFORTS[name].training_operations(m, most) / now)
