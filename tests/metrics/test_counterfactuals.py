import numpy as np
from scipy.spatial.distance import cdist

from illume.metrics import plausibility, proximity, sparsity, validity
from tests.metrics.common import linear

ONEHOT = np.array([False, False, True, True])
OWNER = np.array([0, 1, 2, 2])
X = np.array([[0.0, 1.0, 1.0, 0.0]] * 4)
EXAMPLES = np.array([[0.0, 1.0, 1.0, 0.0], [0.5, -1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], [np.nan] * 4])


def test_an_example_is_valid_where_the_black_box_gives_the_wanted_class():
    asked = []

    def ask(rows):
        asked.append(rows)
        return linear([0.0, 1.0, 0.0, 0.0])(rows)

    np.testing.assert_array_equal(
        validity(EXAMPLES, np.array([1, 1, 0, 1]), ask), [True, False, False, False]
    )
    assert np.isfinite(np.concatenate(asked)).all()  # what was not found is not asked about
    assert not validity(EXAMPLES[3:], np.array([1]), ask).any()


def test_proximity_is_the_mean_over_features_and_a_category_counts_once():
    found = proximity(X, EXAMPLES, onehot=ONEHOT, owner=OWNER)
    np.testing.assert_allclose(found, [0.0, 2.5 / 3, 1 / 3, np.nan])
    centred = proximity(X - 0.3, EXAMPLES - 0.3, onehot=ONEHOT, owner=OWNER)
    np.testing.assert_allclose(found, centred)


def test_proximity_of_numbers_alone_is_the_mean_absolute_difference():
    np.testing.assert_allclose(proximity(X, EXAMPLES), np.abs(X - EXAMPLES).mean(axis=1))


def test_sparsity_counts_changed_features():
    np.testing.assert_array_equal(sparsity(X, EXAMPLES, owner=OWNER), [0, 2, 1, np.nan])
    np.testing.assert_array_equal(sparsity(X, EXAMPLES), [0, 2, 2, np.nan])
    np.testing.assert_array_equal(sparsity(X, X + 1e-12), 0)  # rounding is no change


def test_plausibility_is_measured_in_usual_distances():
    rng = np.random.default_rng(0)
    background, examples = rng.normal(size=(60, 20)), rng.normal(size=(9, 20))
    apart = cdist(background, background) + np.diag(np.full(60, np.inf))
    expected = cdist(examples, background).min(axis=1) / np.median(apart.min(axis=1))
    np.testing.assert_allclose(plausibility(examples, background), expected)
    np.testing.assert_array_equal(plausibility(background, background), 0.0)


def test_rows_that_occur_twice_do_not_make_the_usual_distance_0():
    background = np.repeat([[0.0], [1.0], [2.0]], 5, axis=0)
    np.testing.assert_allclose(plausibility(np.array([[2.5], [np.nan]]), background), [0.5, np.nan])
    assert np.isnan(plausibility(np.array([[2.5]]), background[:5])).all()
