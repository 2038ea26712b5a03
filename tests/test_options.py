"""Options are checked alike everywhere: `True` is no integer, and the error has the option's name."""

import pickle
from dataclasses import fields

import numpy as np
import pytest

import illume
from illume import DataOptions, Explainer, MetaEncoder, Objective, SurrogateOptions, Training, plots
from illume.encoders.options import PairObjective
from illume.errors import OptionError
from tests.common import linear_black_box

OF_TRAINING = [each.name for each in fields(Training) if each.name not in ("learning_rate", "decay")]


ROWS = np.random.default_rng(0).normal(size=(40, 3))


def fit(**settings):
    Explainer(linear_black_box([1, 1, 1]), **settings).fit(ROWS)


def encode(**options):
    MetaEncoder(**{"n_latents": 2, **options}).fit(ROWS, ROWS[:, 0] > 0)


WITHOUT_A_FIT = {
    "queries": lambda value: fit(queries=value),
    "n_latents": lambda value: fit(surrogate_options=SurrogateOptions(n_latents=value)),
    "rank": lambda value: fit(surrogate_options=SurrogateOptions(rank=value)),
    "row_budget": lambda value: fit(data_options=DataOptions(row_budget=value)),
    "alpha": lambda value: Objective(alpha=value),
    "width": lambda value: Objective(width=value),
    **{name: lambda value, name=name: Training(**{name: value}) for name in OF_TRAINING},
}
OF_ENCODERS = ("n_latents", "rank", "n_bins")
OF_EXPLANATIONS = {
    "refine": lambda e, X, value: e(X, refine=value),
    "max_conditions": lambda e, X, value: e.rules(X, max_conditions=value),
    "max_rules": lambda e, X, value: e.rule_set(max_rules=value),
    "max_conditions ": lambda e, X, value: e.rule_set(max_conditions=value),
    "n": lambda e, X, value: e.counterfactuals(X, n=value),
    "max_changes": lambda e, X, value: e.counterfactuals(X, max_changes=value),
    "max_features": lambda e, X, value: e.interactions(X, max_features=value),
    "sample": lambda e, X, value: e.check(X, sample=value),
    "chunk_rows": lambda e, X, value: list(e.stream(X, chunk_rows=value)),
    "max_rows": lambda e, X, value: e.report(X, max_rows=value),
    "n_counterfactuals": lambda e, X, value: e.report(X, n_counterfactuals=value),
    "max_counterfactual_rows": lambda e, X, value: e.report(X, max_counterfactual_rows=value),
    "max_rows ": lambda e, X, value: e.explorer(X, max_rows=value),
    "rows": lambda e, X, value: e.save("unwritten", rows=value),
    "n_features": lambda e, X, value: plots.bar(e(X), n_features=value),
    "n_features ": lambda e, X, value: plots.waterfall(e(X)[0], n_features=value),
    "n_inputs": lambda e, X, value: plots.exemplification(e.latents(X, maps=True)[0], n_inputs=value),
}


@pytest.mark.parametrize("value", [True, 1.5, np.True_], ids=repr)
@pytest.mark.parametrize("name", WITHOUT_A_FIT)
def test_what_is_no_integer_is_refused_before_a_fit(name, value):
    with pytest.raises(OptionError, match=f"^{name} must be .*integer.*, found ") as raised:
        WITHOUT_A_FIT[name](value)
    assert raised.value.option == name


@pytest.mark.parametrize("name", OF_ENCODERS)
def test_encoders_do_not_take_true_for_an_integer(name):
    with pytest.raises(OptionError, match=f"^{name} must be .*integer.*, found True"):
        encode(**{name: True})


@pytest.mark.parametrize("name", OF_EXPLANATIONS)
def test_explanations_take_no_true_for_an_integer(name, loan_explainer, loan_frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match=f"^{name.strip()} must be .*integer.*, found True$"):
        OF_EXPLANATIONS[name](loan_explainer, loan_frame[:4], True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [True, "0.9", float("nan"), 1.0])
@pytest.mark.parametrize("name", ["precision", "interval"])
def test_shares_are_numbers(loan_explainer, loan_frame, name, value):
    with pytest.raises(OptionError, match=f"^{name} must be a number from 0.5 to below 1, found "):
        loan_explainer.rules(loan_frame[:4], **{name: value})


def test_weights_of_losses_are_numbers():
    for make in (lambda: Objective(lambda_x=True), lambda: PairObjective(lambda_d="1")):
        with pytest.raises(OptionError, match="must be a finite number >= 0"):
            make()


def test_the_error_survives_a_worker_process():
    with pytest.raises(OptionError) as raised:
        illume.Training(batch_size=True)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (again.option, str(again)) == ("batch_size", str(raised.value))
