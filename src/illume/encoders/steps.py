"""One step of training, or of measuring, on one batch; on a GPU recorded once and then replayed."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from illume.encoders.objective import Batch

Work = Callable[[Batch], Tensor]
MATMUL_PRECISION = "highest"  # of products on a GPU; "high" shortens their factors to TF32
EAGER = 3  # steps before recording, in which libraries and the optimiser allocate what they need


def optimiser(parameters: list[torch.nn.Parameter], learning_rate: float) -> torch.optim.Adam:
    """Return Adam; on a GPU its learning rate is a tensor, so that a recorded step sees it change."""
    if parameters[0].device.type != "cuda":
        return torch.optim.Adam(parameters, lr=learning_rate, fused=True)
    rate = torch.tensor(learning_rate, device=parameters[0].device)
    return torch.optim.Adam(parameters, lr=rate, capturable=True, fused=True)


@contextmanager
def precision(device: torch.device) -> Iterator[None]:
    """Multiply in the precision meant for training on a GPU; afterwards as it was before."""
    before = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision(MATMUL_PRECISION)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def set_learning_rate(adam: torch.optim.Adam, learning_rate: float) -> None:
    """Change the learning rate, in place where it is a tensor."""
    for group in adam.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(learning_rate)
        else:
            group["lr"] = learning_rate


class Steps:
    """Does some work on batches.

    A step is hundreds of small operations, and on a GPU starting them takes far longer than doing them.
    There, the work on a batch of some shape is recorded as a CUDA graph, and later batches of that shape
    are copied to where the first one was and the graph is replayed. Work that speaks with other
    processes is not `recorded`.
    """

    def __init__(self, work: Work, before: Callable[[], None], *, recorded: bool = True) -> None:
        self.work, self.before, self.recorded = work, before, recorded
        self.seen: dict[tuple[int, ...], int] = {}
        self.recordings: dict[tuple[int, ...], Recording] = {}

    def __call__(self, batch: Batch) -> Tensor:
        """Return the result for a batch, a tensor of its own."""
        if batch.X.device.type != "cuda" or not self.recorded:
            self.before()
            return self.work(batch)
        key = (len(batch.X), len(batch.v))
        if key in self.recordings:
            return self.recordings[key](batch)
        self.seen[key] = self.seen.get(key, 0) + 1
        if self.seen[key] <= EAGER:
            return self._aside(batch)
        self.before()
        self.recordings[key] = Recording.of(self.work, batch)
        return self.recordings[key](batch)

    def forget(self) -> None:
        """Drop what was recorded, for the work has changed."""
        self.seen.clear()
        self.recordings.clear()

    def _aside(self, batch: Batch) -> Tensor:
        """Work on a stream of its own, as what is to be recorded later must."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.before()
            result = self.work(batch)
        torch.cuda.current_stream().wait_stream(stream)
        return result


@dataclass(frozen=True, eq=False)
class Recording:
    """A CUDA graph, the batch that it reads and the result that it writes."""

    graph: torch.cuda.CUDAGraph
    batch: Batch
    result: Tensor

    @classmethod
    def of(cls, work: Work, batch: Batch) -> Recording:
        """Record the work on a copy of a batch; nothing is done yet."""
        mine = Batch(*(part.clone() for part in (batch.X, batch.P, batch.v)))
        graph = torch.cuda.CUDAGraph()
        collecting = gc.isenabled()
        gc.disable()  # a graph of an earlier training that is thrown away meanwhile would spoil this one
        try:
            with torch.cuda.graph(graph):
                result = work(mine)
        finally:
            if collecting:
                gc.enable()
        return cls(graph, mine, result)

    def __call__(self, batch: Batch) -> Tensor:
        """Replay on another batch of the same shape."""
        for mine, new in ((self.batch.X, batch.X), (self.batch.P, batch.P), (self.batch.v, batch.v)):
            mine.copy_(new)
        self.graph.replay()
        return self.result.clone()
