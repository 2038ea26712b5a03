import numpy as np
import pytest

from illume.explanations.boxes import Boxes
from illume.explanations.rule_sample import Conditions
from illume.explanations.rule_search import RuleGoal, keep_selected, polish
from tests.explanations.common import mixed_layout, mixed_rows, numbers_layout, sample_of
from tests.explanations.test_sample import a_sample, random_boxes


def corner(X):
    return (X[:, 0] > 0.5) & (X[:, 1] > -0.25)


@pytest.fixture(scope="module")
def problem():
    rng, layout = np.random.default_rng(0), numbers_layout(4)
    sample = sample_of(layout, rng.normal(size=(2000, 4)), corner)
    X = rng.normal(size=(300, 4))
    return Conditions.of(sample), X, corner(X).astype(int)


def measured(conditions, boxes, wanted):
    covered, correct = conditions.sample.counts(boxes, wanted)
    return correct / covered, covered / len(conditions.sample)


def test_polished_rules_reach_the_wanted_precision_and_keep_their_row(problem):
    conditions, X, wanted = problem
    boxes, reached = polish(conditions, Boxes.whole_space(*X.shape), X, wanted, RuleGoal(0.95))
    assert ((boxes.low <= X) & (boxes.high >= X)).all()
    precision, coverage = measured(conditions, boxes, wanted)
    assert (reached >= 0.95).mean() > 0.98
    assert (precision[reached >= 0.95] >= 0.95).all()
    assert coverage.mean() > 0.2
    assert np.isfinite(boxes.low[:, 2:]).mean() < 0.05  # the other features have next to no say


def test_a_stricter_wish_gives_more_precision_and_less_coverage(problem):
    conditions, X, wanted = problem
    found = [
        measured(
            conditions, polish(conditions, Boxes.whole_space(*X.shape), X, wanted, RuleGoal(p))[0], wanted
        )
        for p in (0.8, 0.99)
    ]
    (mild, wide), (strict, narrow) = ((precision.mean(), coverage.mean()) for precision, coverage in found)
    assert mild < strict
    assert wide > narrow


def test_the_boxes_own_bounds_are_taken_first(problem):
    conditions, X, _ = problem
    own = Boxes.whole_space(*X.shape)
    own.low[:, 1] = X[:, 1] - 0.3  # says little, but is the box's own
    wanted = np.ones(len(X), dtype=int)
    boxes, _ = polish(conditions, own, X, wanted, RuleGoal(max_conditions=1, only_own=True))
    assert np.isinf(boxes.low[:, [0, 2, 3]]).all()
    assert np.isfinite(boxes.low[:, 1]).mean() > 0.5


def test_no_more_conditions_than_wished(problem):
    conditions, X, wanted = problem
    boxes, _ = polish(conditions, Boxes.whole_space(*X.shape), X, wanted, RuleGoal(0.999, max_conditions=2))
    assert (np.isfinite(boxes.low) | np.isfinite(boxes.high)).sum(1).max() <= 2


def test_a_row_alone_is_polished_as_in_a_batch(problem):
    conditions, X, wanted = problem
    start = Boxes(X - 0.7, X + 0.9, np.ones(X.shape, dtype=bool))
    together, _ = polish(conditions, start, X, wanted, RuleGoal())
    for i in range(0, 300, 37):
        alone, _ = polish(conditions, start[i : i + 1], X[i : i + 1], wanted[i : i + 1], RuleGoal())
        np.testing.assert_array_equal(alone.low[0], together.low[i])
        np.testing.assert_array_equal(alone.high[0], together.high[i])


def test_categories_become_conditions_where_they_decide():
    rng, layout = np.random.default_rng(0), mixed_layout()
    X = mixed_rows(rng.normal(size=(900, 2)), rng.integers(0, 3, 900))
    sample = sample_of(layout, X, lambda X: X[:, 4] > 0)
    rows = mixed_rows([[0.0, 0.0], [0.0, 0.0]], [2, 0])
    boxes, _ = polish(Conditions.of(sample), Boxes.whole_space(2, 5), rows, np.array([1, 0]), RuleGoal())
    np.testing.assert_array_equal(boxes.allowed[0, 2:], [False, False, True])
    np.testing.assert_array_equal(boxes.allowed[1, 2:], [True, True, False])
    assert np.isinf(boxes.low).all()


def test_what_a_condition_keeps_is_what_its_box_covers():
    sample = a_sample()
    conditions = Conditions.of(sample)
    boxes, X = random_boxes(sample, n=30)
    inside, possible = sample.members(boxes), conditions.possible(X)
    kept = conditions.count_kept(inside.astype(np.float32) @ conditions.truth.T, inside.sum(1))
    for code in range(kept.shape[1]):
        holds = conditions.truth[conditions.split[code]] == conditions.side[code]
        np.testing.assert_array_equal(kept[:, code], (inside & holds).sum(1))
        tightened = Boxes(boxes.low.copy(), boxes.high.copy(), boxes.allowed.copy())
        conditions.tighten(tightened, np.arange(len(boxes)), np.full(len(boxes), code))
        np.testing.assert_array_equal(sample.members(tightened), inside & holds)
        assert not holds.all() or not possible[:, code].any()  # a possible condition excludes something


def test_selected_conditions_keep_the_boxes_own_bounds():
    layout = mixed_layout()
    boxes = Boxes(
        np.array([[-1.0, -2.0, 0, 0, 0]]),
        np.array([[1.0, np.inf, 0, 0, 0]]),
        np.array([[True, True, True, False, True]]),
    )
    chosen = Boxes.whole_space(1, 5)
    chosen.low[0, 1] = -1.5
    kept = keep_selected(boxes, chosen, layout)
    np.testing.assert_array_equal(kept.low[0, :2], [-np.inf, -2.0])
    assert np.isinf(kept.high[0, :2]).all()
    assert kept.allowed.all()
