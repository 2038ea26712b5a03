import numpy as np
import pandas as pd
import pytest

from illume.cli.targets import parse_target
from illume.cli.train import train_gbm


def rows(n=60):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["x", "y", None], n)})


def target(values, **options):
    return parse_target(pd.Series(values, name="y"), **options)


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (lambda up: np.where(up, "up", "down"), ["down", "up"]),
        (lambda up: up.astype(float), [0, 1]),
        (lambda up: up, [False, True]),
    ],
)
def test_what_one_column_decides_is_learned_and_classes_keep_their_type(values, classes):
    X = rows()
    model, score = train_gbm(X, target(values(X["a"] > 0)), ["b"], seed=0)
    assert score.accuracy > 0.85
    assert score.n_validation == 12
    assert model.classes_.tolist() == classes


def test_a_class_of_one_row_and_a_column_of_nothing_do_not_stop_it():
    X = rows().assign(c=np.nan)
    y = np.where(X["a"] > 0, "up", "down").astype(object)
    y[0] = "once"
    assert train_gbm(X, target(y), ["b"], seed=0)[0].predict_proba(X).shape == (60, 3)


def test_many_categories_are_grouped():
    X = rows(600).assign(b=[f"v{i % 300}" for i in range(600)])
    _, score = train_gbm(X, target(np.where(X["a"] > 0, "up", "down")), ["b"], seed=0)
    assert score.accuracy > 0.9


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (np.linspace(0, 1, 60), "regression"),
        ([0.5, 1.0] * 30, "regression"),
        (range(60), "regression"),
        (np.arange(60.0), "regression"),
        (np.arange(60) % 20, "classification"),
        ([0.0, 1.0, 2.0] * 20, "classification"),
        ([True, False] * 30, "classification"),
        ([str(i % 40) for i in range(60)], "classification"),
    ],
)
def test_many_different_numbers_are_numbers_and_a_few_whole_ones_are_classes(values, task):
    assert target(values).task == task


def test_the_task_can_be_said():
    assert target(range(40), task="classification").task == "classification"
    assert target([1, 2] * 30, task="regression").task == "regression"


@pytest.mark.parametrize("link", ["identity", "log"])
def test_numbers_are_learned_and_scored_in_their_units(link):
    X = rows(300)
    y = 1e5 * np.exp(X["a"] / 2)
    model, score = train_gbm(X, target(y, link=link), ["b"], seed=0)
    assert score.r2 > 0.8
    assert score.mean_absolute_error < score.baseline / 2
    assert f"mean absolute error {score.mean_absolute_error:,.0f} on 60" in str(score)
    if link == "log":
        assert (model.predict(X.assign(a=-9.0)) > 0).all()


@pytest.mark.parametrize(
    ("values", "options", "said"),
    [
        (np.linspace(0, 1, 60), {"task": "classification"}, "holds numbers such as .*--task regression"),
        (range(60), {"task": "classification"}, "60 different"),
        ([f"v{i}" for i in range(60)], {}, "60 different values; expected at most 50 classes: group"),
        (["a"] * 60, {}, "only 'a'"),
        ([1.5] * 60, {}, "only '1.5'"),
        (["a", "b"] * 30, {"task": "regression"}, "holds values such as 'a', which are no numbers"),
        (np.arange(60), {"link": "log"}, "holds 0; expected positive numbers"),
        ([np.inf, *range(59)], {}, "holds inf; expected finite numbers"),
    ],
)
def test_a_target_that_is_none_is_refused(values, options, said):
    with pytest.raises(ValueError, match=said):
        target(values, **options)
