"""Models that are random, depend on the batch, answer in another order, or ignore columns are noticed."""

import warnings

import numpy as np
import pandas as pd
import pytest

import illume
from illume.errors import (
    BlackBoxError,
    IgnoredColumnsWarning,
    LostDigitsWarning,
    ModelChangedWarning,
    NoisyModelWarning,
)
from illume.fit import model_checks
from tests.common import brief_shapley, global_explainer

ROWS = np.random.default_rng(0).normal(size=(200, 3))


def logistic(scores):
    return 1 / (1 + np.exp(-scores))


def steady(X):
    return logistic(2 * X[:, 0] - X[:, 1])


class Noisy:
    """Adds normal noise to each answer."""

    def __init__(self, scale, seed=0):
        self.scale, self.rng = scale, np.random.default_rng(seed)

    def __call__(self, X):
        return np.clip(steady(X) + self.rng.normal(scale=self.scale, size=len(X)), 0, 1)


class NoisyNumber(Noisy):
    def __call__(self, X):
        return 1000 * (X[:, 0] + self.rng.normal(scale=self.scale, size=len(X)))


def test_a_steady_model_has_no_noise_and_costs_few_questions():
    asked = []

    def model(X):
        asked.append(len(X))
        return steady(X)

    explainer = global_explainer(model).fit(ROWS)
    assert explainer.quality_.noise is None
    assert explainer.quality_.n_asked == sum(asked)
    assert sum(asked) - len(ROWS) <= 4 * model_checks.ROWS


def test_a_slow_model_is_asked_few_questions(monkeypatch):
    asked = []
    monkeypatch.setattr(model_checks, "SECONDS", 0.0)

    def model(X):
        asked.append(len(X))
        return steady(X)

    global_explainer(model).fit(ROWS)
    assert sum(asked) - len(ROWS) == 4 * model_checks.FEWEST_ROWS + model_checks.ALONE


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda X: logistic((X[:, 0] - X[:, 0].mean()) * 3), "depends on the other rows"),
        (lambda X: np.sort(steady(X)), "in the order of the rows"),
        (lambda X: steady(X)[::-1], "in the order of the rows"),
        (lambda X: steady(X) * np.linspace(0.5, 1.0, len(X)), "depends on the other rows"),
        (lambda X: logistic(X[:, 0] + (len(X) == 1)), "asked alone"),
    ],
)
def test_answers_that_depend_on_other_rows_are_refused_before_training(model, said):
    with pytest.raises(BlackBoxError, match=said):
        global_explainer(model).fit(ROWS)


def test_random_answers_are_told_with_their_noise():
    with pytest.warns(NoisyModelWarning, match=r"asked again.*by up to 0\.\d+, typically by 0\.\d+; .*of 64"):
        explainer = global_explainer(Noisy(0.1)).fit(ROWS)
    noise = explainer.quality_.noise
    assert 0.15 < noise.largest < 0.6
    assert 0.05 < noise.typical < 0.3
    assert 0 < noise.decisions < 0.5
    assert "asked again, the model answers otherwise" in repr(explainer.quality_)


def test_rounding_that_depends_on_the_batch_is_noise_and_no_refusal():
    def half_precision(X):
        return np.clip(steady(X) + (0.01 if len(X) == 1 else 0.0), 0, 1)

    with pytest.warns(NoisyModelWarning, match=r"by up to 0\.01"):
        explainer = global_explainer(half_precision).fit(ROWS)
    assert explainer.quality_.noise.decisions == 0


def test_noise_of_a_number_is_told_in_its_unit():
    with pytest.warns(NoisyModelWarning, match=r"by up to [34]\.?\d*e\+02|by up to \d{3}"):
        global_explainer(NoisyNumber(0.1)).fit(ROWS)


@pytest.mark.parametrize("scale", [1e-8, 1e-5])
def test_noise_of_single_precision_is_no_reason_to_warn(scale):
    quality = global_explainer(Noisy(scale)).fit(ROWS).quality_
    assert (quality.noise is None) == (scale < 1e-6)


def test_a_random_model_is_not_blamed_for_having_changed(tmp_path):
    with pytest.warns(NoisyModelWarning):
        global_explainer(Noisy(0.02)).fit(ROWS).save(tmp_path / "noisy.illume", rules=False)
    loaded = illume.load(tmp_path / "noisy.illume", Noisy(0.02, seed=5))
    assert loaded.quality_.noise.n_rows == 64
    with pytest.warns(ModelChangedWarning):
        illume.load(tmp_path / "noisy.illume", lambda X: 1 - steady(X))


def test_columns_that_the_model_ignores_are_named_once():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=["a", "b", "shoe size"])
    with brief_shapley(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", IgnoredColumnsWarning)
        explainer = illume.Explainer(lambda X: logistic(X["a"] - X["b"]), effort="quick", queries=12_000)
        explainer.fit(X)(X)
    said = [str(each.message) for each in caught if each.category is IgnoredColumnsWarning]
    assert len(said) == 1
    assert "the model ignores shoe size; " in said[0]


@pytest.mark.parametrize("large", [2**60, -(2**60)])
def test_whole_numbers_that_lose_digits_are_named(large):
    X = pd.DataFrame({"id": np.arange(200) + large, "count": np.arange(200) * 2**50, "x": ROWS[:, 0]})
    explainer = global_explainer(lambda X: logistic(X["x"]))
    with pytest.warns(LostDigitsWarning, match="column 'id' holds whole numbers such as") as caught:
        explainer.fit(X)
    assert len([each for each in caught if each.category is LostDigitsWarning]) == 1
