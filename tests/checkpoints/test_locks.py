import json
import os
import socket
import subprocess
import sys
import threading

import pytest

from illume import CheckpointError
from illume.storage import locks
from illume.storage.locks import HeldError, Holder, locked
from tests.checkpoints.common import ROWS, Killed, explainer, kill_at, same


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.lock"


def left(path, **changes):
    """Leave a lock as another process would."""
    about = {"pid": os.getppid(), "host": socket.gethostname(), "token": "theirs"}
    about["born"] = locks._born(changes.get("pid", about["pid"]))
    path.write_text(json.dumps(about | changes))


@pytest.fixture
def dead():
    """The number of a process that was, and is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_lock_is_there_while_it_is_held_and_then_gone(path):
    with locked(path):
        assert json.loads(path.read_text())["pid"] == os.getpid()
        with pytest.raises(HeldError, match="this very process"), locked(path):
            raise AssertionError
        assert path.exists()
    assert not path.exists()
    with pytest.raises(Killed), locked(path):
        raise Killed
    assert list(path.parent.iterdir()) == []


def test_a_living_process_is_named(path):
    left(path)
    with pytest.raises(HeldError, match=f"^process {os.getppid()}$"), locked(path):
        raise AssertionError
    assert path.exists()


def test_a_process_of_another_machine_may_live(path, dead):
    left(path, pid=dead, host="elsewhere")
    with pytest.raises(HeldError, match=f"^process {dead} on elsewhere$"), locked(path):
        raise AssertionError


@pytest.mark.parametrize("why", ["dead", "its number was given again", "this number, by an earlier process"])
def test_the_lock_of_a_process_that_is_gone_is_taken_over(path, dead, why):
    changes = {
        "dead": {"pid": dead},
        "its number was given again": {"born": "1"},
        "this number, by an earlier process": {"pid": os.getpid()},
    }
    left(path, **changes[why])
    with locked(path):
        assert json.loads(path.read_text())["token"] != "theirs"
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}'])
def test_a_lock_that_says_nothing_is_taken_over_after_a_while(path, text, monkeypatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.1)
    path.write_text(text)
    with locked(path):
        assert json.loads(path.read_text())["pid"] == os.getpid()


def test_of_many_who_want_it_one_has_it(path, dead):
    left(path, pid=dead)
    inside, refused, start = [], [], threading.Barrier(8)

    def want():
        start.wait()
        try:
            with locked(path):
                inside.append(1)
                done.wait(5)
        except HeldError:
            refused.append(1)
            if len(refused) == 7:
                done.set()

    done = threading.Event()
    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(inside) == 1
    assert len(refused) == 7


def test_the_lock_of_somebody_else_is_not_removed(path):
    with locked(path):
        left(path)
    assert path.exists()


def test_where_nothing_can_be_written_there_is_no_lock(path):
    with locked(path.parent / "absent" / "fit.lock"):
        pass
    assert not (path.parent / "absent").exists()


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="the system does not tell")
def test_processes_of_one_number_are_told_apart_by_when_they_were_born():
    assert Holder.me().born.isdigit()
    assert locks._born(os.getppid()) != "" != locks._born(os.getpid())


def test_a_fit_in_a_folder_that_another_one_uses_is_refused(tmp_path):
    left(tmp_path / "fit.lock")
    with pytest.raises(
        CheckpointError, match=rf"another fit, of process {os.getppid()}, is using .*fit\.lock"
    ):
        explainer(tmp_path).fit(ROWS)
    assert [each.name for each in tmp_path.iterdir()] == ["fit.lock"]


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
