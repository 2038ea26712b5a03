import numpy as np

from illume.data.sampling import stratified
from illume.explanations.boxes import Boxes
from illume.explanations.rule_sample import Conditions, roundest
from tests.explanations.common import mixed_layout, mixed_rows, sample_of


def a_sample(n=400, seed=0):
    rng, layout = np.random.default_rng(seed), mixed_layout()
    X = mixed_rows(rng.normal(size=(n, 2)).round(1), rng.integers(0, 3, n))
    return sample_of(layout, X, lambda X: X[:, 0] > 0)


def random_boxes(sample, n=50, seed=1):
    rng = np.random.default_rng(seed)
    X = sample.X[rng.integers(0, len(sample), n)]
    low = np.where(rng.random(X.shape) < 0.5, -np.inf, X - rng.exponential(1, X.shape))
    high = np.where(rng.random(X.shape) < 0.5, np.inf, X + rng.exponential(1, X.shape))
    onehot = sample.layout.onehot
    boxes = Boxes(np.where(onehot, -np.inf, low), np.where(onehot, np.inf, high), rng.random(X.shape) < 0.7)
    return boxes.widen(X, sample.layout), X


def by_hand(sample, boxes, i):
    number = ~sample.layout.onehot
    inside = ((boxes.low[i] <= sample.X) & (boxes.high[i] >= sample.X))[:, number].all(1)
    return inside & boxes.allowed[i, 2:][sample.X[:, 2:].argmax(1)]


def test_members_are_the_rows_that_satisfy_every_condition():
    sample = a_sample()
    boxes, _ = random_boxes(sample)
    members = sample.members(boxes)
    assert 0 < members.mean() < 1
    for i in range(len(boxes)):
        np.testing.assert_array_equal(members[i], by_hand(sample, boxes, i))


def test_counts_tell_covered_and_correct_rows():
    sample = a_sample()
    boxes, _ = random_boxes(sample)
    wanted = np.arange(len(boxes)) % 2
    covered, correct = sample.counts(boxes, wanted)
    members = sample.members(boxes)
    np.testing.assert_array_equal(covered, members.sum(1))
    np.testing.assert_array_equal(correct, (members & (sample.decisions == wanted[:, None])).sum(1))


def test_a_row_of_no_known_category_is_covered_only_without_a_condition():
    layout = mixed_layout()
    X = np.array([[0.0, 0.0, -1 / 3, -1 / 3, -1 / 3]])
    sample = sample_of(layout, X, lambda X: [0])
    allowed = np.array([[True] * 5, [True, True, True, True, False]])
    boxes = Boxes(np.full((2, 5), -np.inf), np.full((2, 5), np.inf), allowed)
    np.testing.assert_array_equal(sample.members(boxes)[:, 0], [True, False])


def test_spread_takes_every_decision_in_its_share():
    decisions = np.array([0] * 900 + [1] * 100)
    kept = stratified(decisions, 100)
    assert len(kept) == 100
    assert (decisions[kept] == 1).sum() == 10


def test_a_rare_decision_keeps_some_rows():
    decisions = np.array([0] * 100_000 + [1] * 40)
    assert (decisions[stratified(decisions, 2048, least=16)] == 1).sum() == 16
    assert (decisions[stratified(decisions, 2048, least=100)] == 1).sum() == 40


def test_thresholds_lie_between_values():
    sample = a_sample()
    assert not np.isin(Conditions.of(sample).thresholds, sample.X[:, :2]).any()


def test_a_row_does_not_count_for_its_own_rule():
    sample = a_sample()
    boxes, wanted = Boxes.whole_space(3, 5), sample.decisions[[5, 9, 0]]
    rows = np.vstack([sample.X[[5, 9]], [[9.0, 9.0, 0, 0, 0]]])  # the last is not in the sample
    covered, correct = sample.counts(boxes, wanted, but=rows)
    np.testing.assert_array_equal(covered, [399, 399, 400])
    np.testing.assert_array_equal(correct, (sample.decisions == wanted[:, None]).sum(1) - [1, 1, 0])


def test_round_numbers_lie_strictly_between():
    rng = np.random.default_rng(0)
    low = rng.normal(size=200) * 10.0 ** rng.integers(-8, 8, 200)
    high = low + rng.exponential(size=200) * 10.0 ** rng.integers(-9, 6, 200)
    found = roundest(low, high)
    assert ((low < found) & (found < high)).all()
    ends = np.array([0.3, -1.0, 1.2]), np.array([0.4, 1.0, 3.9])
    np.testing.assert_allclose(roundest(*ends), [0.35, 0.0, 2.0], rtol=1e-12)
