import math

import numpy as np
import pytest

from illume.metrics import knn_gain, macro_f1, triplet_accuracy
from illume.metrics.latent_metrics import _triplets


def test_a_space_that_separates_the_labels_gains_over_one_that_does_not():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 6)), rng.integers(2, size=200)
    Z = X[:, :2] + 3 * y[:, None]
    parts = (Z[:150], Z[150:], X[:150], X[150:], y[:150], y[150:])
    assert knn_gain(*parts) > 1.5
    assert knn_gain(*parts[2:4], *parts[:2], *parts[4:]) == pytest.approx(1 / knn_gain(*parts))


def test_the_gain_over_nothing_is_nan_and_few_rows_are_enough():
    rows, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    assert math.isnan(knn_gain(rows, rows, rows, rows, y, 1 - y, n_neighbours=1))
    assert knn_gain(rows, rows, rows, rows, y, y) == 1


def test_a_space_agrees_with_itself_moved_turned_and_scaled():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(300, 4))
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    assert triplet_accuracy(A, 3 * A @ turn + 5) == pytest.approx(1.0, abs=1e-4)
    assert triplet_accuracy(A, rng.normal(size=(300, 4))) == pytest.approx(0.5, abs=0.02)
    assert triplet_accuracy(A, np.zeros((300, 1))) == 0.5


def test_triplets_by_hand():
    # the middle row is nearer to the first in A, to the last in B; the outer two are nearest to it in both
    A, B = np.array([[0.0], [1.0], [3.0]]), np.array([[0.0], [-2.0], [-3.5]])
    assert triplet_accuracy(A, A**2) == 1
    assert triplet_accuracy(A, B, n_triplets=60_000) == pytest.approx(2 / 3, abs=0.01)


def test_a_triplet_has_three_rows_and_each_is_as_likely():
    i, j, k = _triplets(4, 48_000, np.random.default_rng(0))
    assert ((i != j) & (i != k) & (j != k)).all()
    _, counts = np.unique(np.column_stack([i, j, k]), axis=0, return_counts=True)
    assert len(counts) == 24
    assert counts.min() > 1_800


def test_two_rows_make_no_triplet():
    with pytest.raises(ValueError, match="three or more rows"):
        triplet_accuracy(np.zeros((2, 1)), np.zeros((2, 1)))


def test_a_class_that_is_missed_counts_0_in_macro_f1():
    assert macro_f1(np.array([0, 0, 1]), np.array([0, 0, 0])) == pytest.approx(0.4)
