import math

import numpy as np
import pytest
from sklearn.metrics import r2_score

from illume.metrics.fidelity import Fidelity, fidelity, r_squared, wilson


def test_agreement_counts_equal_decisions():
    P = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.7, 0.3]])
    Q = np.array([[0.6, 0.4], [0.6, 0.4], [0.1, 0.9], [0.9, 0.1]])
    assert fidelity(P, Q).agreement == 0.75


def test_r_squared_of_one_column_is_scikit_learns():
    rng = np.random.default_rng(0)
    P, Q = rng.random((50, 1)), rng.random((50, 1))
    assert r_squared(P, Q) == pytest.approx(r2_score(P, Q))


def test_a_class_that_never_varies_does_not_dominate():
    P = np.column_stack([np.linspace(0, 1, 9), np.linspace(1, 0, 9), np.zeros(9)])
    Q = P + np.array([0, 0, 1e-3])
    assert r_squared(P, Q) > 0.99
    assert math.isnan(r_squared(P[:, 2:], Q[:, 2:]))


def test_rounding_is_no_variation():
    assert math.isnan(r_squared(np.full((30, 1), 0.1), np.full((30, 1), 0.11)))


def test_where_r_squared_is_unknown_agreement_alone_counts():
    assert Fidelity(0.9, math.nan, 20).score == 0.9


def test_no_rows_say_nothing():
    found = fidelity(np.empty((0, 2)), np.empty((0, 2)))
    assert math.isnan(found.agreement)
    assert math.isnan(found.r2)
    assert wilson(0.5, 0) == (0, 1)


def test_the_interval_holds_the_share_and_narrows_with_rows():
    wide, narrow = Fidelity(0.9, 0, 20), Fidelity(0.9, 0, 2000)
    assert wide.interval[0] < narrow.interval[0] < 0.9 < narrow.interval[1] < wide.interval[1]
    assert Fidelity(1.0, 0, 20).interval[1] == 1
    assert Fidelity(0.9, 0.7, 20).score == pytest.approx(0.8)
