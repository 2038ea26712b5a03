"""Several processes that train one encoder together, each on its share of every batch.

They are the processes of an initialised `torch.distributed` group, such as `torchrun` starts. Gradients
are averaged by one all-reduce of a flat bucket, as `DistributedDataParallel` does; the wrapper itself does
not fit, for it counts on one call of a module's `forward` per step, and a step here differentiates the
network forwards as well, on some of the rows, and calls it again on the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from torch import Tensor

    from illume.encoders.objective import Batch
    from illume.encoders.options import Training

Value = TypeVar("Value")


@dataclass(frozen=True)
class Ranks:
    """How many processes there are, and which of them this one is.

    >>> import torch
    >>> from illume.encoders.objective import Batch
    >>> rows = torch.arange(12.0)[:, None]
    >>> Ranks(rank=1, n=4).share(Batch(rows, rows, v=rows[:6])).X[:, 0]
    tensor([ 1.,  5.,  7., 11.])
    """

    rank: int = 0
    n: int = 1

    @property
    def alone(self) -> bool:
        """Whether there is but one process."""
        return self.n == 1

    def widened(self, training: Training) -> Training:
        """Return a training whose batches are as many times larger as there are processes."""
        if self.alone:
            return training
        first = training.stability_rows
        wide = None if first is None else self.n * first
        return replace(training, batch_size=self.n * training.batch_size, stability_rows=wide)

    def share(self, batch: Batch) -> Batch:
        """Return this process's rows of a batch: every n-th of those with a direction, and of the others.

        Of a batch that is too small for all, everybody takes all.
        """
        n_first = len(batch.v)
        if self.alone or n_first < self.n or len(batch.X) < 2 * self.n:
            return batch
        import torch

        def mine(rows: Tensor) -> Tensor:
            return torch.cat([rows[self.rank : n_first : self.n], rows[n_first + self.rank :: self.n]])

        return replace(batch, X=mine(batch.X), P=mine(batch.P), v=batch.v[self.rank :: self.n])

    def average(self, loss: Tensor, parameters: Iterable[Tensor], n_rows: int) -> Tensor:
        """Average gradients, in place, and the loss over all processes, each by its number of rows.

        All processes then hold the same gradients to the last bit, and so go the same steps.
        """
        if self.alone:
            return loss
        import torch
        from torch import distributed

        gradients = [each.grad for each in parameters if each.grad is not None]
        parts = [*(gradient.flatten() for gradient in gradients), loss.reshape(1), loss.new_ones(1)]
        bucket = torch.cat(parts) * n_rows
        distributed.all_reduce(bucket)
        bucket /= bucket[-1].clone()
        for gradient, mean in zip(gradients, bucket.split([len(part) for part in parts]), strict=False):
            gradient.copy_(mean.view_as(gradient))
        return bucket[-2].clone()

    def align(self, parameters: Iterable[Tensor], generator: Any) -> None:
        """Give all processes the first one's weights and random numbers."""
        if self.alone:
            return
        from torch import distributed

        for each in parameters:
            distributed.broadcast(each.detach(), src=0)
        generator.set_state(self.agreed(generator.get_state()))

    def agreed(self, value: Value) -> Value:
        """Return the first process's value, so that all decide alike."""
        return self.from_first(lambda: value)

    def from_first(self, work: Callable[[], Value]) -> Value:
        """Let the first process work, and return its result, or raise its error, in all of them."""
        if self.alone:
            return work()
        from torch import distributed

        answer: list[Any] = [None, None]
        if self.rank == 0:
            try:
                answer[0] = work()
            except Exception as error:
                answer[1] = error
        distributed.broadcast_object_list(answer, src=0)
        if answer[1] is not None:
            raise answer[1]
        result: Value = answer[0]
        return result


def ranks() -> Ranks:
    """Return the processes of torch's default group; where none was made, this one is alone.

    >>> ranks().alone
    True
    """
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not (distributed.is_available() and distributed.is_initialized()):
        return Ranks()
    return Ranks(distributed.get_rank(), distributed.get_world_size())
