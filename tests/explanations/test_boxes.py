import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from illume import Explainer, SurrogateOptions
from illume.explanations.boxes import Boxes, LeafBoxes, Oblique, axis_parallel, sound
from illume.surrogates.tree import DecisionTreeSurrogate
from tests.explanations.common import mixed_layout, mixed_rows, numbers_layout

NONE = -np.inf


def oblique(W, X, low, high, offset=0.0):
    """Return conditions `low < W @ x + offset <= high` of single rows."""
    W, X = np.asarray(W, dtype=float), np.asarray(X, dtype=float)
    Z = (W @ X[:, :, None])[:, :, 0] + offset
    leaf = LeafBoxes(
        np.broadcast_to(low, Z.shape).astype(float), np.broadcast_to(high, Z.shape).astype(float)
    )
    return Oblique.of(W, Z, leaf, np.arange(W.shape[1]), Z.shape[1])


@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
def test_a_bound_is_where_the_feature_alone_crosses_the_boundary(signs):
    w = np.array([2.0, 0.5]) * signs
    x, threshold = np.array([0.3, -0.7]), 1.9
    boxes = axis_parallel(oblique(w[None, None], x[None], NONE, threshold), x[None], numbers_layout(2))
    for j in (0, 1):
        crossing = (threshold - w[1 - j] * x[1 - j]) / w[j]
        found, other = (boxes.high, boxes.low) if w[j] > 0 else (boxes.low, boxes.high)
        assert found[0, j] == pytest.approx(crossing, abs=1e-12)
        assert np.isinf(other[0, j])


def test_the_tightest_of_several_conditions_counts_and_no_weight_says_nothing():
    W = [[[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0]]]
    boxes = axis_parallel(
        oblique(W, [[0.0, 0.0]], [[NONE, NONE, -4.0]], [[3.0, 2.0, np.inf]]),
        np.zeros((1, 2)),
        numbers_layout(2),
    )
    np.testing.assert_array_equal(boxes.high, [[1.0, np.inf]])
    np.testing.assert_array_equal(boxes.low, [[NONE, NONE]])


def test_a_category_is_allowed_where_exchanging_it_stays_in_the_leaf():
    layout, X = mixed_layout(), mixed_rows([[0.0, 0.0]], [0])
    W = [[[0.0, 0.0, 0.0, 1.0, 3.0]]]  # going from the first category to the second adds 1, to the third 3
    z = float((np.array(W[0]) @ X[0])[0])
    boxes = axis_parallel(oblique(W, X, NONE, z + 2.0), X, layout)
    np.testing.assert_array_equal(boxes.allowed, [[True, True, True, True, False]])
    assert np.isinf(boxes.low).all()
    assert np.isinf(boxes.high).all()


def test_leaf_boxes_hold_exactly_the_rows_of_their_leaf():
    rng = np.random.default_rng(0)
    Z, P = rng.normal(size=(300, 3)), np.eye(3)[rng.integers(0, 3, 300)]
    tree = DecisionTreeSurrogate(DecisionTreeClassifier(max_depth=5, random_state=0)).fit(Z, P)
    boxes, leaf = LeafBoxes.of(tree, 3), tree.apply(Z)
    small = Z.astype(np.float32)  # as scikit-learn compares
    for node in np.unique(leaf):
        inside = ((small > boxes.low[node]) & (small <= boxes.high[node])).all(1)
        np.testing.assert_array_equal(inside, leaf == node)


def random_rules(rng, layout, X, k=4):
    W = rng.normal(size=(len(X), k, layout.n_inputs))
    Z = (W @ X[:, :, None])[:, :, 0]
    low = np.where(rng.random(Z.shape) < 0.4, NONE, Z - rng.exponential(1.0, Z.shape))
    high = np.where(rng.random(Z.shape) < 0.4, np.inf, Z + rng.exponential(1.0, Z.shape))
    return Oblique.of(W, Z, LeafBoxes(low, high), np.arange(W.shape[1]), k)


def test_every_point_of_a_sound_box_satisfies_every_oblique_condition():
    rng, layout = np.random.default_rng(0), mixed_layout()
    X = mixed_rows(rng.normal(size=(500, 2)), rng.integers(0, 3, 500))
    rules = random_rules(rng, layout, X)
    boxes = sound(rules, X, layout)
    wide = 0
    for _ in range(20):  # 20 points in each of 500 boxes
        low, high = np.maximum(boxes.low, layout.low)[:, :2], np.minimum(boxes.high, layout.high)[:, :2]
        numbers = low + rng.random(low.shape) * (high - low)
        weights = rng.random((len(X), 3)) * boxes.allowed[:, 2:]
        points = mixed_rows(numbers, weights.argmax(1))
        z = (rules.weights @ points[:, :, None])[:, :, 0]
        assert ((z > rules.low) & (z <= rules.high)).all()
        wide += int((np.abs(points - X).max(1) > 1e-6).sum())
    assert wide > 9000  # the boxes are more than the rows themselves


def test_a_row_lies_in_its_own_boxes():
    rng, layout = np.random.default_rng(1), mixed_layout()
    X = mixed_rows(rng.normal(size=(200, 2)), rng.integers(0, 3, 200))
    rules = random_rules(rng, layout, X)
    for boxes in (axis_parallel(rules, X, layout).widen(X, layout), sound(rules, X, layout)):
        assert ((boxes.low <= X) & (boxes.high >= X)).all()
        assert boxes.allowed[layout.own(X)].all()


def test_moving_one_feature_within_its_bounds_stays_in_the_leaf_and_beyond_leaves_it():
    rng, layout = np.random.default_rng(2), numbers_layout(3)
    X = rng.normal(size=(300, 3))
    rules = random_rules(rng, layout, X)
    boxes = axis_parallel(rules, X, layout)
    for j in range(3):
        for share, stays in ((0.999, True), (1.001, False)):
            moved = X.copy()
            ends = boxes.high[:, j]
            known = np.isfinite(ends)
            moved[known, j] += share * (ends - X[:, j])[known]
            z = (rules.weights @ moved[:, :, None])[:, :, 0]
            inside = ((z > rules.low) & (z <= rules.high)).all(1)
            assert (inside[known] == stays).all()


def test_a_row_of_no_known_category_gets_no_condition_on_it():
    layout = mixed_layout()
    X = np.array([[0.0, 0.0, -1 / 3, -1 / 3, -1 / 3]])
    assert Boxes.whole_space(1, 5).widen(X, layout).allowed.all()
    assert layout.admissible(X)[:, 2:].all()


def test_only_maps_of_latents_that_a_tree_uses_are_made():
    X = np.random.default_rng(0).normal(size=(200, 40))
    fitted = Explainer(lambda rows: np.where(rows[:, 7] > 0, 0.9, 0.1), queries=0, verbose=False)
    fitted = fitted.set_params(surrogate_options=SurrogateOptions(encoder="identity")).fit(X).fit_rules()
    rules = fitted.fitted_.rule_model.rules
    W, Z, _ = rules.latents(X[:5], np.array([0, 1, 0, 1, 0]))
    assert W.shape == (5, len(rules.used), 40)
    assert Z.shape == (5, 40)
    assert 7 in rules.used
    assert len(rules.used) < 40
