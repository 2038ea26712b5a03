import numpy as np

from illume import fitting
from illume.data.splits import Split
from illume.encoders.identity import IdentityEncoder


def test_no_more_validation_rows_choose_than_are_needed(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 2))
    P = np.column_stack([X[:, 0] > 0, X[:, 0] <= 0]).astype(float)
    split = Split(np.arange(20), np.arange(20, 45), np.arange(45, 60))
    material = fitting.Material.of(X, P, split, fitting.Answered.none())
    pair = fitting.fit_pair(IdentityEncoder(), "logistic", material)
    assert fitting.on_validation(pair, material).n_rows == 25
    monkeypatch.setattr(fitting, "CHOOSING_ROWS", 10)
    assert fitting.on_validation(pair, material).n_rows == 9  # every third
