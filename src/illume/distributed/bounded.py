"""One thread for each library while a part is worked on, and what the process had before after that."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from illume._crew import by_thread, one_thread
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
            with one_thread([library for library in _libraries() if by_thread(library)]):
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
        self.after.enter_context(one_thread([library for library in _libraries() if not by_thread(library)]))
        self.after.enter_context(freed_kept())


def _libraries() -> list[Any]:
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().lib_controllers)


_bounded = _Bounded()


def bounded() -> AbstractContextManager[None]:
    """Let libraries have one thread each while the block runs: every worker has a core of its own.

    The process may be an engine's, with other work to do afterwards.
    """
    return _bounded()
