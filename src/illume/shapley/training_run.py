"""How networks are trained: in one thread, with progress, until the end or an interrupt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def single_threaded() -> Iterator[None]:
    """Let linear algebra and torch use one thread in this block.

    Their own threads spin while they wait, and on a machine that is busy otherwise they wait for each other:
    fits beside two busy processes took 40 times as long. One thread also makes results independent of the
    number of cores.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        torch = _torch()
        if torch is None:
            yield
            return
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def choose_device(name: str) -> str:
    """Return the device to train on: the one that is named; for `auto`, a CUDA device where there is one."""
    if name != "auto":
        return name
    torch = _torch()
    return "cuda" if torch is not None and torch.cuda.is_available() else "cpu"


def _torch() -> Any:
    """Return torch, or None where it is not installed: not every fit needs it."""
    try:
        import torch
    except ImportError:
        return None
    return torch


@contextmanager
def training_threads(device: str) -> Iterator[str]:
    """Yield the device to train on; on the CPU, one thread is used in this block."""
    found = choose_device(device)
    if found != "cpu":
        yield found
        return
    with single_threaded():
        yield found


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
