import os

import pytest

from benchmarks import crashes
from illume import Objective
from tests.checkpoints.common import ROWS, SMALL, Killed, Model, explainer, kill_at, kill_fit, same
from tests.common import CHECKS

SEVERAL = {"objective": "joint", "n_latents": "auto"}
FITS = {
    "one training and Shapley values": {"contributions": "shapley"},
    "sparse": {"objective": Objective(lambda_co=0.0, lambda_so=1.0, lambda_g=1.0, alpha=2, width=8)},
    "trials": SEVERAL,
    "low rank": {"rank": 2},
}


@pytest.fixture(scope="module", params=list(FITS))
def kind(request):
    """Settings, the explainer of a fit that was left alone, and how many epochs that took."""
    settings, epochs = FITS[request.param], []
    with pytest.MonkeyPatch.context() as patch:
        epochs = kill_at(patch, 10**9)
        whole = explainer(**settings).fit(ROWS)
    return settings, whole, len(epochs)


def test_a_fit_that_is_killed_anywhere_goes_on_to_the_same_result(kind, tmp_path):
    settings, whole, n_epochs = kind
    for epoch in sorted({0, 1, n_epochs // 3, n_epochs // 2, n_epochs - 1}):
        folder = tmp_path / str(epoch)
        kill_fit(folder, epoch, **settings)
        with pytest.MonkeyPatch.context() as patch:
            seen = kill_at(patch, 10**9)
            assert same(explainer(folder, **settings).fit(ROWS), whole), f"killed at epoch {epoch}"
            assert len(seen) == n_epochs - epoch, "no epoch is done twice"
        assert not list(folder.iterdir())


def test_checkpoints_change_nothing(kind, tmp_path):
    settings, whole, _ = kind
    assert same(explainer(tmp_path, **settings).fit(ROWS), whole)


def test_the_model_is_not_asked_twice(tmp_path, monkeypatch):
    first, second = Model(), Model()
    kill_at(monkeypatch, 2)
    with pytest.raises(Killed):
        explainer(tmp_path, first, contributions="shapley").fit(ROWS)
    monkeypatch.undo()
    fitted = explainer(tmp_path, second, contributions="shapley").fit(ROWS)
    assert first.n_asked == 80 + CHECKS + 60 == fitted.quality_.n_asked
    assert second.n_asked == 16, "only a few rows, to see that it is the same model"


def test_a_rule_encoder_is_a_stage_too(tmp_path, monkeypatch):
    settings = {"rule_objective": "so"}
    whole = explainer(**settings).fit(ROWS).fit_rules()
    fitted = explainer(tmp_path, **settings).fit(ROWS)
    assert (tmp_path / "fit.checkpoint").exists(), "rules are still to come"
    kill_at(monkeypatch, 3)
    with pytest.raises(Killed):
        fitted.fit_rules()
    monkeypatch.undo()
    seen = kill_at(monkeypatch, 10**9)
    again = explainer(tmp_path, **settings).fit(ROWS)
    assert not seen
    assert same(again.fit_rules(), whole)
    assert not list(tmp_path.iterdir())


def test_an_interrupted_fit_keeps_its_checkpoint_and_can_be_finished(tmp_path, monkeypatch):
    whole = explainer().fit(ROWS)
    with monkeypatch.context() as patch:
        kill_at(patch, 3, KeyboardInterrupt)
        with pytest.warns(UserWarning, match="interrupted, the best so far was kept"):
            part = explainer(tmp_path).fit(ROWS)
    assert part.history_.interrupted
    assert same(explainer(tmp_path).fit(ROWS), whole)
    assert not list(tmp_path.iterdir())


def test_an_interrupt_while_rules_are_trained_is_told_and_keeps_the_checkpoint(tmp_path, monkeypatch):
    def fresh(folder=None):
        return explainer(folder, rule_objective=SMALL).fit(ROWS)

    whole, part = fresh().fit_rules(), fresh(tmp_path)
    with monkeypatch.context() as patch:
        kill_at(patch, 2, KeyboardInterrupt)
        with pytest.warns(
            UserWarning, match=r"rules' encoder ended early: interrupted, the best so far .* fit"
        ):
            part.fit_rules()
    assert "training ended early: interrupted" in part.rule_quality_.reason
    assert list(tmp_path.iterdir())
    assert same(fresh(tmp_path).fit_rules(), whole)
    assert not list(tmp_path.iterdir())


def test_a_fit_with_kept_checkpoints_reads_instead_of_training(tmp_path, monkeypatch):
    settings = {"every": 1e6, "keep": True, "contributions": "shapley"}
    whole = explainer(tmp_path, **settings).fit(ROWS)
    names = ["answers", "fit", "mixed rows", "noise", "queries", "training"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{name}.checkpoint" for name in names]
    seen = kill_at(monkeypatch, 10**9)
    assert same(explainer(tmp_path, **settings).fit(ROWS), whole)
    assert not seen


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks the fits that are killed")
@pytest.mark.slow
def test_a_process_that_is_killed_while_fitting_goes_on_to_the_same_explainer():
    found = crashes.kill_fits(kills=5, kinds=(1,))
    assert found["killed"] == 5
    assert found["same"] >= 1
    assert found["with a checkpoint"] >= 1
    assert found["unreadable"] + found["other"] + found["failed"] + found["left behind"] == 0
