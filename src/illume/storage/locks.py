"""A file that says who is at work in a folder, so that nobody else is at the same time."""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

PATIENCE = 2.0  # seconds after which a lock that says nothing was left by somebody who died writing it
PAUSE = 0.05
_held: set[str] = set()  # tokens of this process


@dataclass(frozen=True)
class Holder:
    """Who holds a lock: a process, told from a later one of the same number by when it was born."""

    pid: int
    host: str
    born: str
    token: str

    @classmethod
    def me(cls) -> Holder:
        """Return this process, with a token for one lock."""
        return cls(os.getpid(), socket.gethostname(), _born(os.getpid()), secrets.token_hex(8))

    @property
    def gone(self) -> bool:
        """Whether it is sure that nobody is there any more; of another machine that is never sure."""
        if self.host != socket.gethostname():
            return False
        if self.pid == os.getpid():
            return self.token not in _held
        return not _alive(self.pid) or _born(self.pid) != self.born

    def __str__(self) -> str:
        here = self.host == socket.gethostname()
        mine = "this very process" if self.pid == os.getpid() and here else f"process {self.pid}"
        return mine if here else f"{mine} on {self.host}"


class HeldError(Exception):
    """Somebody else is at work; `holder` is None where that is not known."""

    def __init__(self, holder: Holder | None) -> None:
        self.holder = holder
        super().__init__(str(holder or "another process"))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock while the block runs; raises `HeldError` where another process, that lives, holds it.

    Where no file can be written, there is no lock, and nobody to keep away.
    """
    mine = Holder.me()
    try:
        _take(path, mine)
    except OSError:
        yield
        return
    _held.add(mine.token)
    try:
        yield
    finally:
        _held.discard(mine.token)
        with suppress(OSError):
            if _read(path) == mine:
                path.unlink()


def _take(path: Path, mine: Holder) -> None:
    try:
        _write(path, mine, os.O_EXCL)
    except FileExistsError:
        theirs = _waited_for(path)
        if theirs is not None and not theirs.gone:
            raise HeldError(theirs) from None
        _take_over(path, mine, theirs)


def _take_over(path: Path, mine: Holder, theirs: Holder | None) -> None:
    """Put one's own name over that of somebody gone; of several who do so at once, the last one holds it."""
    if _read(path) != theirs:
        raise HeldError(_read(path))
    beside = path.with_name(f"{path.name}.{mine.token}")
    try:
        _write(beside, mine, os.O_EXCL)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    time.sleep(PAUSE)
    if _read(path) != mine:
        raise HeldError(_read(path))


def _waited_for(path: Path) -> Holder | None:
    """Read who holds a lock; somebody who has just made it may still be writing."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        holder = _read(path)
        if holder is not None or not path.exists():
            return holder
        time.sleep(PAUSE)
    return None


def _write(path: Path, holder: Holder, flags: int) -> None:
    file = os.open(path, os.O_CREAT | os.O_WRONLY | flags, 0o644)
    try:
        os.write(file, json.dumps(asdict(holder)).encode())
    except OSError:  # a full disk must not leave a lock of nobody's
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(file)


def _read(path: Path) -> Holder | None:
    try:
        found = json.loads(path.read_bytes())
        return Holder(int(found["pid"]), str(found["host"]), str(found["born"]), str(found["token"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _born(pid: int) -> str:
    """Return when a process began, where the system tells; else nothing."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _alive(pid: int) -> bool:
    """Say whether a process of this machine is there; signal 0 only asks, but on Windows it would kill."""
    if sys.platform == "win32":
        import ctypes

        handle = ctypes.windll.kernel32.OpenProcess(0x1000, False, pid)  # may be asked about itself
        if not handle:
            return False
        code = ctypes.c_ulong()
        known = ctypes.windll.kernel32.GetExitCodeProcess(handle, ctypes.byref(code))
        ctypes.windll.kernel32.CloseHandle(handle)
        return not known or code.value == 259  # still active
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is there, but somebody else's
        return True
    return True
