import copy
import shutil
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from illume.data.checkpoints import Stages
from illume.data.locks import lock
from illume.errors import CheckpointWarning
from tests.checkpoints.common import ROWS, SMALL, HeldError, contents, explainer, kill_fit, refusal, same

OWN = {"rule_objective": SMALL}  # rules have an encoder of their own


@pytest.fixture(scope="module")
def whole():
    """Rules of a fit without checkpoints."""
    return explainer(**OWN).fit(ROWS).fit_rules()


@pytest.mark.parametrize("settings", [{}, OWN], ids=["shared", "own"])
def test_checkpoints_are_removed_while_nobody_else_can_begin(tmp_path, monkeypatch, settings):
    removed, original = [], Stages.remove

    def remove(self):
        removed.append(refusal(tmp_path / "fit.lock"))
        original(self)

    monkeypatch.setattr(Stages, "remove", remove)
    fitted = explainer(tmp_path, **settings).fit(ROWS)
    assert len(removed) == (not settings)
    fitted.fit_rules()
    assert removed == ["this very process"]
    assert not list(tmp_path.iterdir())


def test_rules_that_train_nothing_leave_the_folder_to_the_next_fit(tmp_path):
    fitted = explainer(tmp_path).fit(ROWS)
    left = kill_fit(tmp_path, random_state=1)
    fitted.fit_rules()
    assert contents(tmp_path) == left


def test_rules_go_on_without_checkpoints_where_another_fit_holds_the_folder(tmp_path, whole):
    fitted, held, done = explainer(tmp_path, **OWN).fit(ROWS), Event(), Event()
    left = contents(tmp_path)

    def hold():
        with lock(tmp_path / "fit.lock", HeldError):
            held.set()
            done.wait(60)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(hold)
        assert held.wait(60)
        with pytest.warns(CheckpointWarning, match="rules are trained without checkpoints: another fit, of"):
            fitted.fit_rules()
        done.set()
    assert same(fitted, whole)
    assert contents(tmp_path) == left


def test_rules_go_on_without_checkpoints_where_the_folder_is_lost(tmp_path, whole):
    folder = tmp_path / "run"
    fitted = explainer(folder, **OWN).fit(ROWS)
    shutil.rmtree(folder)
    left = kill_fit(folder, random_state=1, **OWN)
    with pytest.warns(CheckpointWarning, match="without checkpoints: .* which differs in random_state"):
        assert same(copy.copy(fitted).fit_rules(), whole)
    assert contents(folder) == left
    shutil.rmtree(folder)
    folder.write_text("a file")
    with pytest.warns(CheckpointWarning, match="without checkpoints: the folder .* cannot be made"):
        assert same(fitted.fit_rules(), whole)
