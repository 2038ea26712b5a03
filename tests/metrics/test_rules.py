import numpy as np
import pytest

from illume.metrics import Boxes, covered, rule_coverage, rule_length, rule_precision
from illume.metrics import rule_metrics as module
from tests.metrics.common import INF, random_boxes


@pytest.mark.parametrize("cells", [1, 10**6])
def test_a_rule_covers_the_rows_between_its_bounds(cells, monkeypatch):
    monkeypatch.setattr(module, "CELLS", cells)
    rng = np.random.default_rng(0)
    boxes, X = random_boxes(rng, 13, 4, bounded=0.3), rng.normal(size=(50, 4))
    decisions, of_rules = rng.integers(3, size=50), rng.integers(3, size=13)
    inside = np.all((boxes.low[:, None] <= X) & (boxes.high[:, None] >= X), axis=2)
    np.testing.assert_array_equal(covered(boxes, X), inside)
    np.testing.assert_allclose(rule_coverage(boxes, X), inside.mean(axis=1))
    precision, coverage = rule_precision(boxes, of_rules, X, decisions)
    np.testing.assert_allclose(coverage, inside.mean(axis=1))
    for rule in range(13):
        expected = np.mean(decisions[inside[rule]] == of_rules[rule]) if inside[rule].any() else np.nan
        np.testing.assert_allclose(precision[rule], expected)


def test_both_ends_belong_to_a_rule_and_an_open_side_asks_nothing():
    boxes = Boxes(np.array([[0.0, -INF]]), np.array([[1.0, INF]]))
    X = np.array([[0.0, 5.0], [1.0, np.nan], [np.nan, 0.0], [1.1, 0.0]])
    np.testing.assert_array_equal(covered(boxes, X), [[True, True, False, False]])


def test_a_rule_without_bounds_covers_all_and_one_that_covers_nothing_has_no_precision():
    boxes = Boxes(np.array([[-INF], [9.0]]), np.array([[INF], [INF]]))
    precision, coverage = rule_precision(boxes, np.array([1, 1]), np.zeros((4, 1)), np.array([1, 1, 1, 0]))
    np.testing.assert_array_equal(precision, [0.75, np.nan])
    np.testing.assert_array_equal(coverage, [1.0, 0.0])


def test_length_counts_columns_or_features_once():
    boxes = Boxes(np.array([[-INF, 0.5, 0.5, 0.0], [-INF] * 4]), np.array([[INF, INF, 0.5, 1.0], [INF] * 4]))
    np.testing.assert_array_equal(rule_length(boxes), [3, 0])
    np.testing.assert_array_equal(rule_length(boxes, owner=np.array([5, 7, 7, 9])), [2, 0])


def test_no_rules_cover_nothing():
    none = Boxes(np.empty((0, 2)), np.empty((0, 2)))
    assert covered(none, np.zeros((3, 2))).shape == (0, 3)
    assert rule_coverage(none, np.zeros((3, 2))).shape == (0,)
