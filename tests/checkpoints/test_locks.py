import errno
import json
import os
import subprocess
import sys
import threading
import warnings

import pytest

from illume import CheckpointError, CheckpointWarning
from illume.storage import locks
from illume.storage.locks import HeldError, locked
from tests.checkpoints.common import ROWS, Killed, explainer, kill_at, refused, same

HOLD = """
import sys
from pathlib import Path
from illume.storage.locks import locked

with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
unix = pytest.mark.skipif(os.name != "posix", reason="of another system")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.lock"


@pytest.fixture
def other(path):
    """Another process that holds the lock."""
    words = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_lock_is_there_while_it_is_held_and_then_gone(path):
    with locked(path):
        assert json.loads(path.read_text())["pid"] == os.getpid()
        assert refused(path) == "this very process"
        assert path.exists()
    assert not path.exists()
    with pytest.raises(Killed), locked(path):
        raise Killed
    assert list(path.parent.iterdir()) == []
    assert refused(path) == "not at all"


def test_the_thread_that_holds_a_lock_may_take_it_again(path):
    with locked(path):
        with locked(path):
            pass
        assert path.exists()
        assert refused(path) == "this very process"
    assert not path.exists()


def test_a_living_process_is_named_and_a_dead_one_keeps_nobody_away(path, other):
    with pytest.raises(HeldError, match=f"^process {other.pid}$"), locked(path):
        raise AssertionError
    assert path.exists()
    other.kill()
    other.wait()
    assert path.exists()
    with locked(path):
        assert json.loads(path.read_text())["pid"] == os.getpid()
    assert list(path.parent.iterdir()) == []


def test_a_process_of_another_machine_is_named_with_it(path, other):
    path.write_text(json.dumps({"pid": 7, "host": "elsewhere"}))
    with pytest.raises(HeldError, match=r"^process 7 on elsewhere$"), locked(path):
        raise AssertionError


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}'])
def test_what_a_file_says_is_of_no_consequence(path, other, text):
    path.write_text(text)
    with pytest.raises(HeldError, match=r"^another process$"), locked(path):
        raise AssertionError
    other.kill()
    other.wait()
    path.write_text(text)
    with locked(path):
        assert json.loads(path.read_text())["pid"] == os.getpid()


def test_of_many_who_want_it_one_has_it(path):
    path.write_text("left by somebody who was killed")
    inside, away, start, done = [], [], threading.Barrier(8), threading.Event()

    def want():
        start.wait()
        try:
            with locked(path):
                inside.append(1)
                done.wait(5)
        except HeldError:
            away.append(1)
            if len(away) == 7:
                done.set()

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(inside), len(away)) == (1, 7)


@unix
def test_somebody_who_opened_a_file_that_was_then_removed_locks_the_next_one(path, monkeypatch):
    original, seen = locks._lock, []

    def late(file):
        seen.append(file)
        if len(seen) == 1:  # its holder leaves between opening and locking
            path.unlink()
        original(file)

    monkeypatch.setattr(locks, "_lock", late)
    with locked(path):
        assert len(seen) == 2
        assert json.loads(path.read_text())["pid"] == os.getpid()
    assert not path.exists()


@unix
def test_the_lock_of_somebody_else_is_not_removed(path):
    with locked(path):
        path.unlink()
        path.write_text("theirs")
    assert path.read_text() == "theirs"


@forks
def test_a_fork_does_not_hold_what_its_parent_does(path):
    with locked(path):
        child = os.fork()
        if not child:
            try:
                with locked(path):
                    os._exit(1)
            except HeldError as error:
                os._exit(0 if str(error) == f"process {os.getppid()}" else 2)
        assert os.waitpid(child, 0)[1] == 0
        child = os.fork()
        if not child:
            code = 0
            try:
                locks._give_back(os.open(path, os.O_RDONLY), path, os.getppid())
            except BaseException:
                code = 1
            os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert path.exists(), "a fork that leaves the block leaves the file"
        assert refused(path) == "this very process"


@unix
@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_where_files_cannot_be_locked_there_is_one_warning_and_no_lock(path, monkeypatch, code):
    def refuses(file):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(locks, "_lock", refuses)
    with pytest.warns(CheckpointWarning, match=r"cannot be locked \(.*\); see to it"), locked(path):
        assert not path.exists()
    with warnings.catch_warnings(action="error"), locked(path):
        pass


def test_where_nothing_can_be_written_there_is_no_lock(path):
    with pytest.warns(CheckpointWarning, match="cannot be locked"), locked(path.parent / "a" / "fit.lock"):
        pass
    assert not (path.parent / "a").exists()


@unix
def test_a_file_that_may_only_be_read_is_locked_and_one_that_may_not_keeps_away(path, monkeypatch):
    path.write_text("of another user")
    original, allowed = os.open, {os.O_RDONLY}

    def denied(name, flags, *mode):
        if str(name) == str(path) and flags not in allowed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(name))
        return original(name, flags, *mode)

    monkeypatch.setattr(locks.os, "open", denied)
    with locked(path):
        assert refused(path) == "this very process"
    path.write_text("of another user")
    allowed.clear()
    with pytest.raises(HeldError, match=r"another user, who does not let .* be opened"), locked(path):
        raise AssertionError
    assert path.exists()


def test_a_fit_in_a_folder_that_another_one_uses_is_refused(path, other):
    with pytest.raises(CheckpointError, match=rf"another fit, of process {other.pid}, is using .*; wait"):
        explainer(path.parent).fit(ROWS)
    assert list(path.parent.iterdir()) == [path]


def test_a_fit_that_failed_leaves_no_lock_and_goes_on(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        kill_at(patch, 2)
        with pytest.raises(Killed):
            explainer(tmp_path).fit(ROWS)
    names = [each.name for each in tmp_path.iterdir()]
    assert "fit.lock" not in names
    assert "fit.checkpoint" in names
    assert same(explainer(tmp_path).fit(ROWS), explainer().fit(ROWS))
    assert list(tmp_path.iterdir()) == []
