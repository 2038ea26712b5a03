import numpy as np
import pytest

from illume.explanations.places import ANCHORS, LEVELS, LIMIT, MARGIN, NoveltyDetector, Places

ROWS = np.random.default_rng(0).normal(size=(3 * ANCHORS, 2))


@pytest.mark.parametrize("n", [100, 3 * ANCHORS])
def test_rows_are_far_beyond_almost_all_training_rows(n):
    places = Places.fit(ROWS[:n], ROWS)
    distance = places.distance(ROWS)
    np.testing.assert_allclose(places.distances, np.quantile(distance, LEVELS))
    assert places.limit == MARGIN * places.distances[LIMIT]
    find = NoveltyDetector(("a", "b"), np.zeros(2, dtype=bool), places).find
    new = np.array([[0.0, 0.0], [30.0, 0.0]])
    assert find(np.zeros((2, 2), dtype=bool), places.distance(new)).far.tolist() == [False, True]
    assert find(np.zeros((len(ROWS), 2), dtype=bool), distance).far.sum() <= 1


def test_few_report_rows_are_searched_for_the_very_nearest():
    wanted = np.sqrt(np.square(ROWS[:, None] - ROWS[None, :50]).sum(2)).min(1)
    np.testing.assert_allclose(Places.fit(ROWS[:50], ROWS).distance(ROWS), wanted, atol=1e-3)


def test_many_report_rows_are_represented_by_the_centres_of_clusters():
    assert len(Places.fit(ROWS, ROWS).anchors) == ANCHORS
    assert len(Places.fit(ROWS[:ANCHORS], ROWS).anchors) == ANCHORS


def test_a_row_has_the_same_distance_alone_and_in_a_batch():
    places = Places.fit(ROWS, ROWS)
    np.testing.assert_allclose(places.distance(ROWS[[7]]), places.distance(ROWS)[[7]], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("places", [Places.unknown(2), Places.fit(np.empty((0, 2)), ROWS)])
def test_without_report_rows_nothing_is_far(places):
    assert np.isnan(places.distance(ROWS[:2])).all()
    assert places.limit == np.inf
    detector = NoveltyDetector(("a", "b"), np.zeros(2, dtype=bool), places)
    assert not detector.find(np.zeros((2, 2), dtype=bool), places.distance(1e6 * ROWS[:2])).outside.any()
