from types import SimpleNamespace

import numpy as np
import pytest

from illume import MetaEncoder, Objective
from illume.data.class_outputs import Classes
from illume.data.sampling import Split
from illume.encoders.base import IdentityEncoder
from illume.encoders.training import Trainer
from illume.explanations.fitted import AnsweredRows, FitRows
from illume.explanations.trial import Setting
from illume.fit.settings import Settings
from illume.fit.trials import fit_pair, validation_fidelity
from tests.brief_fits import ROWS, explainer


def test_no_more_validation_rows_choose_than_are_needed():
    X = np.random.default_rng(0).normal(size=(60, 2))
    P = np.column_stack([X[:, 0] > 0, X[:, 0] <= 0]).astype(float)
    split = Split(np.arange(20), np.arange(20, 45), np.arange(45, 60))
    rows = FitRows.split(Classes(("no", "yes")), AnsweredRows(X, P), split, AnsweredRows.empty())
    pair = fit_pair(IdentityEncoder(), "logistic", rows)
    assert [validation_fidelity(pair, rows, most).n_rows for most in (25, 10, 5)] == [25, 9, 5]


def test_what_was_chosen_is_what_a_fit_that_is_told_so_finds():
    chosen = explainer(n_latents="auto", objective="aligned").fit(ROWS)
    setting = Setting(chosen.fitted_.local.n_latents, chosen.quality_.alignment)
    assert setting in [trial.setting for trial in chosen.fitted_.trials]
    objective = Objective.preset("aligned").with_alignment(setting.alignment)
    told = explainer(n_latents=setting.n_latents, objective=objective).fit(ROWS)
    assert not told.fitted_.trials
    for name, weight in told.fitted_.local.encoder.weights_.items():
        np.testing.assert_array_equal(weight, chosen.fitted_.local.encoder.weights_[name])
    assert len(told.history_) == len(chosen.history_)


def test_encoders_that_are_thinned_out_are_tried_by_all_phases(monkeypatch):
    monkeypatch.delattr(Trainer, "fit_trial")
    sparse = Objective(lambda_co=0.0, lambda_so=1.0, lambda_g=1.0, alpha=2, width=8)
    found = explainer(n_latents="auto", objective=sparse).fit(ROWS)
    assert [trial.setting.n_latents for trial in found.fitted_.trials] == [4, 8, 16]
    assert found.fitted_.local.encoder.alpha_ == 2


@pytest.mark.parametrize("encoder", ["meta", "linear", MetaEncoder(2)], ids=["meta", "linear", "an object"])
def test_encoders_are_told_what_they_learn_and_which_inputs_are_categories(encoder):
    settings = Settings(**explainer(encoder=encoder, rule_objective="shared").get_params(deep=False))
    encoding = SimpleNamespace(onehot=np.array([False, True, True]))
    for task in ("classification", "regression"):
        made = settings.encoder_maker(encoding, task)(Setting(3), False)
        assert (made.task, made.onehot) == (task, [1, 2])
    assert settings.encoder_maker(encoding)(Setting(3), False).task == "classification"


def test_the_encoder_of_rules_learns_the_same():
    settings = Settings(**explainer(rule_objective="so").get_params(deep=False))
    encoding = SimpleNamespace(onehot=np.array([False, True, True]))
    assert settings.rule_encoder(encoding, 3, "regression").task == "regression"
