from types import SimpleNamespace

import numpy as np
import pytest

from illume import Explainer, MetaEncoder
from illume.data.class_outputs import Classes
from illume.data.number_outputs import Numbers
from illume.data.sampling import Split
from illume.encoders.base import IdentityEncoder
from illume.explanations.fitted import AnsweredRows, FitRows
from illume.fit.settings import Settings
from illume.fit.trials import fit_pair, validation_fidelity
from tests.brief_fits import explainer


def test_no_more_validation_rows_choose_than_are_needed():
    X = np.random.default_rng(0).normal(size=(60, 2))
    P = np.column_stack([X[:, 0] > 0, X[:, 0] <= 0]).astype(float)
    split = Split(np.arange(20), np.arange(20, 45), np.arange(45, 60))
    rows = FitRows.split(Classes(("no", "yes")), AnsweredRows(X, P), split, AnsweredRows.empty())
    pair = fit_pair(IdentityEncoder(), "logistic", rows)
    assert [validation_fidelity(pair, rows, most).n_rows for most in (25, 10, 5)] == [25, 9, 5]


@pytest.mark.parametrize("encoder", ["meta", "linear", MetaEncoder(2)], ids=["meta", "linear", "an object"])
def test_encoders_are_told_what_they_learn_and_which_inputs_are_categories(encoder):
    settings = Settings(**explainer(encoder=encoder, rule_objective="shared").get_params(deep=False))
    encoding = SimpleNamespace(onehot=np.array([False, True, True]))
    for outputs in (Classes(("no", "yes")), Numbers(("price",))):
        made = settings.encoder_maker(encoding, outputs)()
        assert (made.task, made.onehot) == (outputs.task, [1, 2])


def test_many_classes_have_more_latents_and_wider_layers_and_longer_trainings():
    settings = Settings(**Explainer(None).get_params(deep=False))
    encoding = SimpleNamespace(onehot=np.array([False, True, True]))
    few, many = (settings.encoder_maker(encoding, Classes(tuple(names)))() for names in ("ab", "abcdefg"))
    assert (few.n_latents, many.n_latents) == (8, 14)
    assert few.objective.width < many.objective.width
    assert few.training.max_steps < many.training.max_steps
    assert settings.n_pairs(1) < settings.n_pairs(7)


def test_the_encoder_of_rules_learns_the_same():
    settings = Settings(**explainer(rule_objective="so").get_params(deep=False))
    encoding = SimpleNamespace(onehot=np.array([False, True, True]))
    assert settings.rule_encoder(encoding, 3, "regression").task == "regression"
