"""Training by several processes, each on its share of every batch.

The processes are those of an initialised `torch.distributed` group, such as `torchrun` starts. Gradients are
averaged by one all-reduce of a flat bucket, as in `DistributedDataParallel`; that wrapper itself expects one
call of a module's `forward` per step, and the stability term needs derivatives of it as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from torch import Tensor

    from illume.encoders.batches import Batch
    from illume.encoders.options import Training

Value = TypeVar("Value")


@dataclass(frozen=True)
class Ranks:
    """The rank of this process, and the number of processes.

    >>> import torch
    >>> from illume.encoders.batches import Batch
    >>> rows = torch.arange(12.0)[:, None]
    >>> Ranks(rank=1, n=4).share(Batch(rows, rows, v=rows[:6])).X[:, 0]
    tensor([ 1.,  5.,  7., 11.])
    """

    rank: int = 0
    n: int = 1

    @property
    def alone(self) -> bool:
        """Whether there is only one process."""
        return self.n == 1

    def widen(self, training: Training) -> Training:
        """Multiply the batch size by the number of processes."""
        if self.alone:
            return training
        directions = None if training.stability_rows is None else self.n * training.stability_rows
        return replace(training, batch_size=self.n * training.batch_size, stability_rows=directions)

    def share(self, batch: Batch) -> Batch:
        """Return this process's rows of a batch: every n-th of those with a direction, and of the others.

        A batch that is too small to share is taken whole by every process.
        """
        n_first = len(batch.v)
        if self.alone or n_first < self.n or len(batch.X) < 2 * self.n:
            return batch
        import torch

        def mine(rows: Tensor) -> Tensor:
            return torch.cat([rows[self.rank : n_first : self.n], rows[n_first + self.rank :: self.n]])

        return replace(batch, X=mine(batch.X), P=mine(batch.P), v=batch.v[self.rank :: self.n])

    def average(self, loss: Tensor, parameters: Iterable[Tensor], n_rows: int) -> Tensor:
        """Average gradients (in place) and the loss over all processes, weighted by their rows.

        Afterwards all processes hold the same gradients to the last bit, and so take the same steps.
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
        """Copy the first process's weights and random state to all processes."""
        if self.alone:
            return
        from torch import distributed

        for each in parameters:
            distributed.broadcast(each.detach(), src=0)
        generator.set_state(self.agree(generator.get_state()))

    def agree(self, value: Value) -> Value:
        """Return the first process's value in all processes."""
        return self.from_first(lambda: value)

    def from_first(self, work: Callable[[], Value]) -> Value:
        """Run `work` in the first process only; return its result, or raise its error, in all processes."""
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
    """Return the rank in torch's default process group, or rank 0 of 1 without a group.

    >>> ranks().alone
    True
    """
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not (distributed.is_available() and distributed.is_initialized()):
        return Ranks()
    return Ranks(distributed.get_rank(), distributed.get_world_size())
