import errno
import json
import os
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from illume.data import locks
from illume.data.locks import lock

HOLD = """
import sys
from pathlib import Path
from illume.data.locks import lock

with lock(Path(sys.argv[1]), RuntimeError):
    print("held", flush=True)
    sys.stdin.read()
"""


class HeldError(Exception):
    """Raised for a lock that somebody else holds."""


def refusal(path):
    """Return how another thread that wants a lock is refused, None if it gets it."""

    def acquire():
        try:
            with lock(path, HeldError):
                return None
        except HeldError as error:
            return str(error)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(acquire).result()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.lock"


@pytest.fixture
def other(path):
    """Another process that holds the lock."""
    words = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_lock_is_reentrant_in_its_thread_and_gone_afterwards(path):
    with lock(path, HeldError):
        with lock(path, HeldError):
            assert refusal(path) == "this very process"
        assert json.loads(path.read_text())["pid"] == os.getpid()
        assert refusal(path) == "this very process"
    assert not list(path.parent.iterdir())
    with pytest.raises(KeyboardInterrupt), lock(path, HeldError):
        raise KeyboardInterrupt
    assert not list(path.parent.iterdir())
    assert refusal(path) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "process {pid}"),
        (json.dumps({"pid": 7, "host": "elsewhere"}), "process 7 on elsewhere"),
        ("", "another process"),
        ('{"pid": "x"}', "another process"),
    ],
)
def test_a_living_process_is_named_and_a_killed_one_leaves_no_lock(path, other, text, said):
    if text is not None:
        path.write_text(text)
    with pytest.raises(HeldError, match=f"^{said.format(pid=other.pid)}$"), lock(path, HeldError):
        raise AssertionError
    other.kill()
    other.wait()
    assert path.exists()
    with lock(path, HeldError):
        assert json.loads(path.read_text())["pid"] == os.getpid()
    assert not list(path.parent.iterdir())


def test_of_many_threads_that_want_a_lock_one_gets_it(path):
    path.write_text("left by a process that was killed")
    inside, refused, start, done = [], [], threading.Barrier(8), threading.Event()

    def want():
        start.wait()
        try:
            with lock(path, HeldError):
                inside.append(1)
                done.wait(5)
        except HeldError:
            refused.append(1)
            if len(refused) == 7:
                done.set()

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(inside), len(refused)) == (1, 7)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_fork_does_not_hold_the_lock_of_its_parent(path):
    with lock(path, HeldError):
        child = os.fork()
        if not child:
            try:
                with lock(path, HeldError):
                    os._exit(1)
            except HeldError as error:
                os._exit(0 if str(error) == f"process {os.getppid()}" else 2)
            os._exit(3)
        assert os.waitpid(child, 0)[1] == 0
        assert path.exists()
        assert refusal(path) == "this very process"


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EROFS, errno.ENOSYS])
def test_where_files_cannot_be_locked_there_is_one_warning_and_no_lock(path, monkeypatch, code):
    def refuse(self):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(locks.FileLock, "_acquire", refuse)
    with pytest.warns(UserWarning, match=r"cannot be locked \(.*\); make sure"), lock(path, HeldError):
        assert not path.exists()
    with warnings.catch_warnings(action="error"), lock(path, HeldError):
        pass


def test_the_lock_of_another_user_is_respected(path, monkeypatch):
    def refuse(self):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    path.write_text("of another user")
    monkeypatch.setattr(locks.FileLock, "_acquire", refuse)
    with pytest.raises(HeldError, match=r"another user, whose .* cannot be opened"), lock(path, HeldError):
        raise AssertionError
    assert path.exists()
