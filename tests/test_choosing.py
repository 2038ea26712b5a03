import numpy as np
import pytest

from illume import CheckpointError, Objective, choosing, fitting
from illume.data.sampling import Split
from illume.encoders.identity import IdentityEncoder
from illume.encoders.together import Together
from tests.checkpoints.common import ROWS, Killed, explainer, kill_at


def test_no_more_validation_rows_choose_than_are_needed(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 2))
    P = np.column_stack([X[:, 0] > 0, X[:, 0] <= 0]).astype(float)
    split = Split(np.arange(20), np.arange(20, 45), np.arange(45, 60))
    material = fitting.Material.of(X, P, split, fitting.Answered.none())
    pair = fitting.fit_pair(IdentityEncoder(), "logistic", material)
    assert fitting.on_validation(pair, material).n_rows == 25
    monkeypatch.setattr(fitting, "CHOOSING_ROWS", 10)
    assert fitting.on_validation(pair, material).n_rows == 9  # every third
    assert fitting.on_validation(pair, material, 5).n_rows == 5


def test_what_was_chosen_is_what_a_fit_that_is_told_so_finds():
    chosen = explainer(n_latents="auto", objective="aligned").fit(ROWS)
    setting = choosing.Setting(chosen.local_.n_latents, chosen.quality_.alignment)
    assert setting in [trial.setting for trial in chosen.trials_]
    objective = Objective.preset("aligned").softened(setting.alignment)
    told = explainer(n_latents=setting.n_latents, objective=objective).fit(ROWS)
    assert not told.trials_
    for name, weight in told.local_.encoder.weights_.items():
        np.testing.assert_array_equal(weight, chosen.local_.encoder.weights_[name])
    assert len(told.history_) == len(chosen.history_)


def test_encoders_that_are_thinned_out_are_tried_by_all_phases(monkeypatch):
    monkeypatch.delattr(Together, "go")
    sparse = Objective(lambda_co=0.0, lambda_so=1.0, lambda_g=1.0, alpha=2, width=8)
    found = explainer(n_latents="auto", objective=sparse).fit(ROWS)
    assert [trial.setting.n_latents for trial in found.trials_] == [4, 8, 16]
    assert found.local_.encoder.alpha_ == 2


def test_trials_that_were_made_are_not_made_again(tmp_path, monkeypatch):
    settings = {"n_latents": "auto", "objective": "aligned"}
    with pytest.MonkeyPatch.context() as patch:
        kill_at(patch, 2)
        with pytest.raises(Killed):
            explainer(tmp_path, **settings).fit(ROWS)
    monkeypatch.delattr(Together, "go")
    again = explainer(tmp_path, **settings).fit(ROWS)
    assert [trial.setting.n_latents for trial in again.trials_[:3]] == [4, 8, 16]


def test_stored_trials_that_cannot_be_read_are_told(tmp_path):
    settings = {"n_latents": "auto", "objective": "joint"}
    with pytest.MonkeyPatch.context() as patch:
        kill_at(patch, 0)
        with pytest.raises(Killed):
            explainer(tmp_path, **settings).fit(ROWS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choosing, "dump", lambda hint, value: [{"setting": 3}])
        (tmp_path / "trials.checkpoint").unlink()
        kill_at(patch, 0)
        with pytest.raises(Killed):
            explainer(tmp_path, **settings).fit(ROWS)
    with pytest.raises(CheckpointError, match="the trials of the checkpoint cannot be read"):
        explainer(tmp_path, **settings).fit(ROWS)
