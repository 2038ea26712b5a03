"""Training Shapley values in a second thread while encoders are trained in the first, one core each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Generic, TypeVar

Result = TypeVar("Result")


@contextmanager
def single_threaded() -> Iterator[None]:
    """Let linear algebra and torch use one thread in this block.

    Their own threads spin while they wait, and on a machine that is busy otherwise they wait for each other.
    One thread also makes results independent of the number of cores.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        if find_spec("torch") is None:
            yield
            return
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def device_of(name: str | None) -> str:
    """Return the device to train on: the one that is named, else a CUDA device where there is one."""
    if name is not None:
        return name
    if find_spec("torch") is None:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


class Worker(Generic[Result]):
    """Work in a thread of its own; leaving the block early asks it to stop."""

    def __init__(self, work: Callable[[Callable[[], bool]], Result]) -> None:
        self._work = work
        self._stop = threading.Event()
        self._result: list[Result] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="illume-shapley", daemon=True)

    def __enter__(self) -> Worker[Result]:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:
            self._stop.set()
        self._thread.join()

    def stop(self) -> None:
        """Ask the work to end with what it has."""
        self._stop.set()

    def result(self) -> Result:
        """Wait for the work and return its result, or raise its error."""
        try:
            self._thread.join()
        except KeyboardInterrupt:  # the training ends early, with what it has learned
            self._stop.set()
            self._thread.join()
        if self._error is not None:
            raise self._error
        return self._result[0]

    def _run(self) -> None:
        try:
            with single_threaded():
                self._result.append(self._work(self._stop.is_set))
        except BaseException as error:  # raised again where the result is asked for
            self._error = error
