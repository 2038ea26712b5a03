import errno
import os
import shutil

import numpy as np
import pandas as pd
import pytest

from illume import Checkpoints, Explainer, SurrogateOptions, Training
from illume.data import archive
from illume.data.frames import as_frame
from illume.data.load_rows import LoadedRows
from illume.data.schema import Schema
from illume.errors import CheckpointError, CheckpointWarning
from illume.fit.resume import fingerprint, hash_frame
from illume.fit.settings import Settings
from tests.checkpoints.common import ROWS, Model, contents, explainer, kill_fit, same


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a fit that was killed in its third epoch."""
    path = tmp_path_factory.mktemp("killed")
    kill_fit(path)
    return path


@pytest.mark.parametrize(
    ("settings", "rows", "differs"),
    [
        ({"random_state": 1}, ROWS, "random_state"),
        ({"n_latents": 3, "queries": 61}, ROWS, "queries, surrogate_options"),
        ({"training": Training(max_epochs=7)}, ROWS, "surrogate_options"),
        ({}, ROWS[:79], "the data"),
        ({}, np.where(ROWS[5, 1] == ROWS, 0.0, ROWS), "the data"),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused_and_left_alone(folder, settings, rows, differs):
    before = contents(folder)
    with pytest.raises(
        CheckpointError, match=f"differs in {differs}; use another folder, or remove the .checkpoint files"
    ):
        explainer(folder, **settings).fit(rows)
    assert contents(folder) == before


def test_another_model_is_refused(folder):
    before = contents(folder)
    with pytest.raises(CheckpointError, match=r"answers have changed .* on 16 of 16 rows, by up to"):
        explainer(folder, Model(slope=-4.0)).fit(ROWS)
    with pytest.raises(CheckpointError, match="the model answered 3 classes, 2 when"):
        explainer(folder, lambda rows: np.full((len(rows), 3), 1 / 3)).fit(ROWS)
    assert contents(folder) == before


def test_a_stage_of_another_fit_is_refused(folder, tmp_path):
    kill_fit(tmp_path, 0, random_state=5)
    (tmp_path / "training.checkpoint").write_bytes((folder / "training.checkpoint").read_bytes())
    with pytest.raises(CheckpointError, match=r"training.checkpoint belongs to another fit; use another"):
        explainer(tmp_path, random_state=5).fit(ROWS)


@pytest.mark.parametrize("name", ["fit", "answers", "training"])
def test_a_damaged_checkpoint_is_an_error_with_advice(folder, tmp_path, name):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    damaged = tmp_path / f"{name}.checkpoint"
    damaged.write_bytes(damaged.read_bytes()[:-40])
    with pytest.raises(CheckpointError, match=f"cannot be read: {name}.checkpoint: .*to begin again"):
        explainer(tmp_path).fit(ROWS)


def test_half_written_files_of_a_killed_process_are_swept(tmp_path):
    left = tmp_path / ".training.0123456789abcdef.tmp.checkpoint"
    left.write_bytes(b"half")
    (tmp_path / "notes.txt").write_text("mine")
    explainer(tmp_path).fit(ROWS)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_full_disk_leaves_the_old_checkpoint_and_training_goes_on(folder, tmp_path, monkeypatch):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    before = contents(tmp_path)

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(archive.os, "fsync", full)
    with pytest.warns(CheckpointWarning, match="fitting goes on: .*No space left on device; what") as warned:
        fitted = explainer(tmp_path, keep=True).fit(ROWS)
    monkeypatch.undo()
    assert len([each for each in warned if each.category is CheckpointWarning]) == 1
    assert contents(tmp_path) == before
    assert same(fitted, explainer().fit(ROWS))


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"the folder .*file.* for checkpoints cannot be made"):
        explainer(tmp_path / "file" / "inside").fit(ROWS)


def test_what_cannot_be_repeated_cannot_be_resumed(tmp_path):
    for seed in (None, np.random.RandomState(0)):
        with pytest.raises(ValueError, match="random_state must be a number, found"):
            explainer(tmp_path, random_state=seed).fit(ROWS)
    with pytest.raises(ValueError, match="every must be 0 or more seconds, found -1"):
        Checkpoints(tmp_path, every=-1)


def test_a_plain_folder_will_do_and_is_not_saved_with_the_explainer(tmp_path):
    from illume import load

    fitted = explainer(tmp_path / "a" / "b").set_params(checkpoint_dir=str(tmp_path / "a" / "b")).fit(ROWS)
    fitted.save(tmp_path / "file.illume")
    assert load(tmp_path / "file.illume").checkpoint_dir is None
    assert b"checkpoint_dir" not in (tmp_path / "file.illume").read_bytes()


def test_the_digest_sees_every_value_and_every_kind_of_column():
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": ["x", None], "c": pd.to_datetime(["2020-01-01"] * 2)})
    others = [
        frame.assign(a=[1.0, 2.0]),
        frame.assign(b=["x", "y"]),
        frame.assign(c=pd.to_datetime(["2020-01-01", "2020-01-02"])),
        frame.rename(columns={"a": "d"}),
        frame[:1],
        frame[::-1],
    ]
    found = [hash_frame(as_frame(each)) for each in [frame, *others]]
    assert len(set(found)) == len(found)
    assert hash_frame(as_frame(frame.copy())) == found[0]


def test_settings_without_a_lasting_name_are_no_obstacle():
    class Own:
        """An object whose text names its address."""

    rows = LoadedRows(as_frame(ROWS), Schema.infer(ROWS), frozenset(), len(ROWS))
    one, other = (Explainer(None, surrogate_options=SurrogateOptions(model=Own())) for _ in range(2))
    assert fingerprint(Settings(**vars(one)), rows) == fingerprint(Settings(**vars(other)), rows)
