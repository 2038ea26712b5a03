import errno
import os

import pytest

import illume
from benchmarks import crashes
from illume.data import archive


@pytest.fixture
def other_file(small, tmp_path):
    path = tmp_path / "other.illume"
    small.save(path, rows=8)
    return path


def test_a_process_that_is_killed_while_saving_leaves_a_whole_file(small_file, other_file):
    found = crashes.kill_saves(small_file, other_file, kills=15)
    assert found["neither"] == 0
    assert found["one"] + found["other"] == 15
    assert found["other"] + found["left behind"] > 0, "no kill came while a file was written"


@pytest.mark.parametrize("call", ["fsync", "write_bytes"])
def test_a_full_disk_leaves_the_old_file_and_says_so(small, tmp_path, monkeypatch, call):
    path = tmp_path / "a.illume"
    small.save(path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(archive.os if call == "fsync" else archive.Path, call, full)
    with pytest.raises(
        illume.errors.SaveError, match="No space left on device; what was there before is unchanged"
    ):
        small.save(path, rows="none")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.illume"]


def test_a_missing_folder_and_a_folder_as_path_are_told(small, tmp_path):
    with pytest.raises(illume.errors.SaveError, match="does not exist; make it first"):
        small.save(tmp_path / "nowhere" / "a.illume")
    with pytest.raises(illume.errors.SaveError, match="is a folder; name a file in it"):
        small.save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_loading_what_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        illume.load(tmp_path / "none.illume")
    with pytest.raises(IsADirectoryError):
        illume.load(tmp_path)


def test_saving_through_a_link_changes_what_it_points_to(small, tmp_path):
    target, link = tmp_path / "real.illume", tmp_path / "link.illume"
    target.write_bytes(b"old")
    link.symlink_to(target)
    small.save(link)
    assert link.is_symlink()
    assert illume.load(target).quality_ == small.quality_


def test_files_are_as_readable_as_others_of_their_folder(small, tmp_path):
    small.save(tmp_path / "a.illume")
    (tmp_path / "b").write_bytes(b"")
    assert (tmp_path / "a.illume").stat().st_mode == (tmp_path / "b").stat().st_mode
