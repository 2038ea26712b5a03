"""One thread for each library while a part is worked on, and what the process had before after that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from illume.data.threads import Shared, by_thread, one_thread
from illume.distributed.columns import arrow
from illume.distributed.freed import freed_kept


@contextmanager
def bounded() -> Iterator[None]:
    """Let libraries have one thread each while the block runs: every worker has a core of its own.

    The process may be an engine's, with other work to do afterwards.
    """
    with _shared(), one_thread([library for library in _libraries() if by_thread(library)]):
        yield


def _bind(after: ExitStack) -> None:
    pa = arrow()
    after.callback(pa.set_cpu_count, pa.cpu_count())
    pa.set_cpu_count(1)
    after.enter_context(one_thread([library for library in _libraries() if not by_thread(library)]))
    after.enter_context(freed_kept())


def _libraries() -> list[Any]:
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().lib_controllers)


_shared = Shared(_bind)
