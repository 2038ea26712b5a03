import numpy as np
import pandas as pd
import pytest

from illume.cli.train import train_gbm


def rows(n=60):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["x", "y", None], n)})


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
    model, score = train_gbm(X, pd.Series(values(X["a"] > 0), name="y"), ["b"], seed=0)
    assert score.accuracy > 0.85
    assert score.n_validation == 12
    assert model.classes_.tolist() == classes


def test_a_class_of_one_row_and_a_column_of_nothing_do_not_stop_it():
    X = rows().assign(c=np.nan)
    y = np.where(X["a"] > 0, "up", "down").astype(object)
    y[0] = "once"
    assert train_gbm(X, pd.Series(y, name="y"), ["b"], seed=0)[0].predict_proba(X).shape == (60, 3)


def test_many_categories_are_grouped():
    X = rows(600).assign(b=[f"v{i % 300}" for i in range(600)])
    _, score = train_gbm(X, pd.Series(np.where(X["a"] > 0, "up", "down"), name="y"), ["b"], seed=0)
    assert score.accuracy > 0.9


@pytest.mark.parametrize(
    ("values", "said"),
    [(np.linspace(0, 1, 60), "holds numbers such as"), (range(60), "60 different"), (["a"] * 60, "only 'a'")],
)
def test_a_target_that_is_no_class_is_refused(values, said):
    with pytest.raises(ValueError, match=said):
        train_gbm(rows(), pd.Series(values, name="y"), ["b"], seed=0)
