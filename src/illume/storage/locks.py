"""One at a time in a folder: a lock on a file that the system gives back when its holder ends, however."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from illume.errors import CheckpointWarning

TRIES = 100  # each of them lost to somebody who was just leaving
ABOUT_BYTES = 1_000
_held: dict[tuple[int, str], _Holder] = {}  # by process, for a fork is another one, and path
_warned: set[str] = set()

if sys.platform == "win32":
    import msvcrt

    ASIDE = 2**30  # what is locked cannot be read; nothing is written there

    def _lock(file: int) -> None:
        os.lseek(file, ASIDE, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class HeldError(Exception):
    """Somebody else is at work; the message says who, as far as that is known."""


@dataclass(frozen=True, eq=False)
class _Holder:
    """A thread that holds a lock."""

    thread: int = field(default_factory=threading.get_ident)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock while the block runs; raises `HeldError` where another process or thread holds it.

    The thread that holds it may take it again. The file is there only meanwhile, or left by a process that
    was killed, and then keeps nobody away. Where files cannot be locked, there is a warning, and no lock.
    """
    key, mine = (os.getpid(), os.path.realpath(path)), _Holder()
    found = _held.setdefault(key, mine)
    if found is not mine:
        if found.thread != mine.thread:
            raise HeldError("this very process")
        yield
        return
    try:
        file = _taken(path)
        try:
            yield
        finally:
            if file is not None:
                _give_back(file, path, key[0])
    finally:
        _held.pop(key, None)


@contextmanager
def locked_or(path: Path, refused: Callable[[HeldError], Exception]) -> Iterator[None]:
    """Hold a lock while the block runs; where another holds it, raise what `refused` makes of that."""
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(path))
        except HeldError as error:
            raise refused(error) from None
        yield


def _taken(path: Path) -> int | None:
    """Return the file, open and locked, or None where files cannot be locked."""
    try:
        for _ in range(TRIES):
            file = _opened(path)
            if _is_mine(file, path):
                return file
    except OSError as error:
        _warn(path, error)
        return None
    raise HeldError("another process")


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    except PermissionError:  # of another user, perhaps: to read will do
        if not path.exists():
            raise
    try:
        return os.open(path, os.O_RDONLY)
    except PermissionError:
        raise HeldError(f"another user, who does not let {path} be opened") from None


def _is_mine(file: int, path: Path) -> bool:
    """Lock the file; say no, and close it, where its holder has removed it since it was opened."""
    try:
        _lock(file)
        if _is_at(file, path):
            _sign(file)
            return True
    except (BlockingIOError, PermissionError):
        said = _signed(file)
        os.close(file)
        raise HeldError(said) from None
    except OSError:
        with suppress(OSError):
            if not os.fstat(file).st_size:
                path.unlink()
        os.close(file)
        raise
    os.close(file)
    return False


def _is_at(file: int, path: Path) -> bool:
    try:
        found = os.fstat(file)
        return found.st_nlink > 0 and os.path.samestat(found, os.stat(path))
    except OSError:
        return False


def _give_back(file: int, path: Path, pid: int) -> None:
    """Remove the file, if it is still the one that was locked, and let go of it; a fork leaves it alone."""
    mine = os.getpid() == pid and _is_at(file, path)
    with suppress(OSError):
        if mine and sys.platform != "win32":
            path.unlink()  # while it is held: nobody else can have locked it yet
    os.close(file)
    with suppress(OSError):
        if mine and sys.platform == "win32":
            path.unlink()  # fails where somebody has opened it meanwhile


def _sign(file: int) -> None:
    """Write down who holds the lock, for others to read; it holds without that, too."""
    with suppress(OSError):
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        os.write(file, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())


def _signed(file: int) -> str:
    try:
        os.lseek(file, 0, os.SEEK_SET)
        found = json.loads(os.read(file, ABOUT_BYTES))
        pid, host = int(found["pid"]), str(found["host"])
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
    return f"process {pid}" if host == socket.gethostname() else f"process {pid} on {host}"


def _warn(path: Path, error: OSError) -> None:
    """Say once of a folder that nobody is kept out of it."""
    if str(path) not in _warned:
        _warned.add(str(path))
        warnings.warn(
            f"{path.parent} cannot be locked ({error.strerror or error}); see to it that nothing else writes "
            f"there meanwhile",
            CheckpointWarning,
            stacklevel=5,
        )
