"""File locks: one process and thread at a time; the system releases a lock when its process ends."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from illume.errors import warn

_warned: set[str] = set()


@contextmanager
def lock(path: Path, refuse: Callable[[str], Exception]) -> Iterator[None]:
    """Hold a lock on a file while the block runs; the thread that holds it may take it again.

    If another process or thread holds it, raise what `refuse` makes of the holder's description. Where files
    cannot be locked, warn once and go on without a lock.
    """
    # A thread-local singleton: reentrant in its thread, closed to other threads, not inherited by forks.
    held = FileLock(path, blocking=False, is_singleton=True, fallback_to_soft=False)
    try:
        held.acquire()
    except Timeout:
        raise refuse(_holder(path)) from None
    except (OSError, NotImplementedError) as error:
        if isinstance(error, PermissionError) and path.exists():
            raise refuse(f"another user, whose {path} cannot be opened") from None
        _warn(path, error)
        yield
        return
    pid, outermost = os.getpid(), held.lock_counter == 1
    try:
        if outermost:
            _sign(path)
        yield
    finally:
        if os.getpid() == pid:  # a fork neither removes nor releases its parent's lock
            if outermost:
                with suppress(OSError):
                    path.unlink()  # while it is held; Windows refuses, and leaves an empty file
            held.release()


def _sign(path: Path) -> None:
    with suppress(OSError):
        path.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))


def _holder(path: Path) -> str:
    try:
        found = json.loads(path.read_text())
        pid, host = int(found["pid"]), str(found["host"])
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
    if host != socket.gethostname():
        return f"process {pid} on {host}"
    return "this very process" if pid == os.getpid() else f"process {pid}"


def _warn(path: Path, error: Exception) -> None:
    if str(path) in _warned:
        return
    _warned.add(str(path))
    warn(
        f"{path.parent} cannot be locked ({getattr(error, 'strerror', None) or error}); make sure that "
        f"nothing else writes there",
    )
