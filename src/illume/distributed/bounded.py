"""One thread for each library while a part is worked on, and what the process had before after that."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from illume._crew import set_threads
from illume.distributed.columns import arrow
from illume.distributed.freed import freed_kept


class _Bounded:
    """How many work at a time in this process, and what gives back what it had before."""

    def __init__(self) -> None:
        self.lock, self.count, self.after = threading.Lock(), 0, ExitStack()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Bind libraries while the block runs; the last to leave gives back what they had."""
        with self.lock:
            self.count += 1
            if self.count == 1:
                self._bind()
        try:
            with _one_thread("openmp"):  # which counts by the thread that asks
                yield
        finally:
            with self.lock:
                self.count -= 1
                if not self.count:
                    self.after.close()

    def _bind(self) -> None:
        pa = arrow()
        self.after.callback(pa.set_cpu_count, pa.cpu_count())
        pa.set_cpu_count(1)
        self.after.enter_context(_one_thread("blas"))
        self.after.enter_context(freed_kept())


@contextmanager
def _one_thread(kind: str) -> Iterator[None]:
    from threadpoolctl import ThreadpoolController

    libraries = ThreadpoolController().select(user_api=kind).lib_controllers
    before = [library.get_num_threads() for library in libraries]
    set_threads(libraries, [1] * len(libraries))
    try:
        yield
    finally:
        set_threads(libraries, before)


_bounded = _Bounded()


def bounded() -> AbstractContextManager[None]:
    """Let libraries have one thread each while the block runs: every worker has a core of its own.

    The process may be an engine's, with other work to do afterwards.
    """
    return _bounded()
