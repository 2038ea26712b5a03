import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from illume.metrics import deletion, infidelity, insertion, local_fidelity, model_queries, prediction_gap
from illume.metrics.model_queries import ask_answer, importance, log_odds, places, typical_row
from tests.metrics.common import linear

W = np.array([1.5, -1.0, 0.5, 0.0])
OWNER = np.array([0, 1, 2, 2])


def rows(n=40, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 4))


def ones(n):
    return np.ones(n, dtype=int)


def test_the_gradient_of_a_linear_black_box_foretells_it_exactly():
    X = rows()
    found = local_fidelity(np.tile(W, (40, 1)), X, linear(W), ones(40))
    assert found.correlation == pytest.approx(1.0)
    assert found.r2 == pytest.approx(1.0)
    assert found.agreement == 1.0
    # of the other class the slopes are the opposite
    other = local_fidelity(np.tile(-W, (40, 1)), X, linear(W), 0 * ones(40))
    assert other.correlation == pytest.approx(1.0)


def test_wrong_slopes_are_found_out_by_what_they_get_wrong():
    X, ask, slopes = rows(), linear(W), np.tile(W, (40, 1))
    doubled = local_fidelity(2 * slopes, X, ask, ones(40))
    assert doubled.correlation == pytest.approx(1.0)  # the direction is right,
    assert doubled.r2 == pytest.approx(0.0)  # the size is not: an error as large as the change
    assert local_fidelity(-slopes, X, ask, ones(40)).correlation == pytest.approx(-1.0)
    nothing = local_fidelity(0 * slopes, X, ask, ones(40))
    assert (nothing.correlation, nothing.r2) == (0.0, 0.0)


def test_rows_at_which_the_black_box_stands_still_are_left_out():
    def ask(X):
        p = np.where(X[:, 0] > 50, 0.9, 1 / (1 + np.exp(-X @ W)))
        return np.column_stack([1 - p, p])

    X = rows()
    X[:10, 0] = 100.0
    assert local_fidelity(np.tile(W, (40, 1)), X, ask, ones(40)).correlation == pytest.approx(1.0)
    still = local_fidelity(np.tile(W, (10, 1)), X[:10], ask, ones(10))
    assert math.isnan(still.correlation)
    assert math.isnan(still.r2)


def test_one_hot_columns_are_not_jittered():
    onehot = np.array([False, False, True, True])
    seen = []

    def ask(X):
        seen.append(X[:, onehot])
        return linear(W)(X)

    X = rows()
    X[:, onehot] = 0.25
    found = local_fidelity(np.tile(W, (40, 1)), X, ask, ones(40), onehot=onehot)
    assert found.correlation == pytest.approx(1.0)
    assert (np.concatenate(seen) == 0.25).all()


def test_the_gap_of_a_linear_black_box_is_that_of_its_exchanged_feature():
    X, other = rows(), rows(1, seed=1)
    swapped = X.copy()
    swapped[:, 0] = other[:, 0]
    ask = linear(W)
    expected = np.abs(ask(X)[:, 1] - ask(swapped)[:, 1]).mean()
    slopes = np.tile(W, (40, 1))
    assert prediction_gap(slopes, X, ask, ones(40), background=other) == pytest.approx(expected)
    assert prediction_gap(slopes, X, ask, ones(40), background=other, important=False) == 0


def test_a_features_columns_are_exchanged_together():
    ask = linear([0.0, 0.0, 5.0, -5.0])
    X, other = np.tile([0.0, 0.0, 1.0, 0.0], (3, 1)), np.array([[9.0, 9.0, 0.0, 1.0]])
    slopes = np.tile([0.0, 0.0, 1.0, -1.0], (3, 1))  # sums to 0, and is the most important all the same
    whole = prediction_gap(slopes, X, ask, ones(3), background=other, owner=OWNER)
    assert whole == pytest.approx(1 / (1 + math.exp(-5)) - 1 / (1 + math.exp(5)))


@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.floats(1e-3, 1e3))
def test_only_the_order_of_attributions_matters_to_gaps_and_curves(seed, scale):
    X, A, ask = rows(12, seed), rows(12, seed + 1), linear(W)
    for metric in (prediction_gap, deletion, insertion):
        one, other = (metric(B, X, ask, ones(12), background=X, owner=OWNER) for B in (A, scale * A))
        assert one == other


@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.floats(1e-3, 1e3))
def test_infidelity_is_between_0_and_1_and_blind_to_scale(seed, scale):
    X, A, ask = rows(12, seed), rows(12, seed + 1), linear(W)
    one, other = (infidelity(B, X, ask, ones(12), background=X[:3], owner=OWNER) for B in (A, scale * A))
    assert 0 <= one <= 1
    assert one == pytest.approx(other)


def test_contributions_of_a_linear_black_box_are_perfect():
    X, other, ask = rows(), rows(1, seed=1), linear(W)
    assert infidelity(W * (X - other), X, ask, ones(40), background=other) == pytest.approx(0, abs=1e-9)
    grouped = infidelity(W * (X - other), X, ask, ones(40), background=other, owner=OWNER)
    assert grouped == pytest.approx(0, abs=1e-9)
    assert infidelity(0 * X, X, ask, ones(40), background=other) == 1
    assert infidelity(-W * (X - other), X, ask, ones(40), background=other) == 1  # a scale turns no sign


def test_what_background_rows_add_by_chance_is_not_held_against_contributions():
    X, background, ask = rows(300), rows(50, seed=1), linear(W)
    right = W * (X - background.mean(axis=0))
    assert infidelity(right, X, ask, ones(300), background=background, n_samples=64) < 0.05
    shuffled = right[:, ::-1]
    assert infidelity(shuffled, X, ask, ones(300), background=background, n_samples=64) > 0.3


def test_infidelity_is_the_formula_over_all_sets_of_features():
    """All eight sets of three features, weighted as they are drawn, give the limit of many samples."""
    rng = np.random.default_rng(0)
    x, other, contributions = rng.normal(size=(3, 3))

    def ask(X):
        p = 1 / (1 + np.exp(-(X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]))))
        return np.column_stack([1 - p, p])

    chosen = np.array([[bool(bits >> j & 1) for j in range(3)] for bits in range(8)])
    weight = np.array([[1 / 4, 1 / 12, 1 / 12, 1 / 4][size] for size in chosen.sum(axis=1)])
    odds = log_odds(ask(np.where(chosen, other, x))[:, 1])
    true, predicted = odds[0] - odds, chosen @ contributions
    beta = max(0, weight @ (true * predicted) / (weight @ predicted**2))
    expected = weight @ (beta * predicted - true) ** 2 / (weight @ true**2)
    assert 0.1 < expected < 0.9
    found = infidelity(
        contributions[None], x[None], ask, ones(1), background=other[None], n_samples=20_000, seed=1
    )
    assert found == pytest.approx(expected, abs=0.02)


def test_curves_by_hand():
    ask = lambda X: np.column_stack([1 - X[:, 0], X[:, 0]])  # noqa: E731
    X, other = np.ones((1, 3)), np.zeros((2, 3))
    first, last = np.array([[3.0, 2.0, 1.0]]), np.array([[1.0, 2.0, 3.0]])
    # over 0, 1, 2, 3 features: 1, 0, 0, 0 and 1, 1, 1, 0
    assert deletion(first, X, ask, ones(1), background=other) == pytest.approx(1 / 6)
    assert deletion(last, X, ask, ones(1), background=other) == pytest.approx(5 / 6)
    assert insertion(first, X, ask, ones(1), background=other) == pytest.approx(5 / 6)
    assert insertion(last, X, ask, ones(1), background=other) == pytest.approx(1 / 6)


def test_signed_curves_begin_with_what_speaks_for_the_class():
    X, zeros, ask = np.ones((5, 4)), np.zeros((1, 4)), linear(W)
    contributions = W * X
    signed = deletion(contributions, X, ask, ones(5), background=zeros, signed=True)
    assert signed < deletion(contributions, X, ask, ones(5), background=zeros)


def test_wide_rows_are_walked_in_at_most_twenty_steps():
    asked = []

    def ask(X):
        asked.append(len(X))
        return linear(np.ones(95))(X)

    X = np.random.default_rng(0).normal(size=(7, 95))
    assert 0 < deletion(X, X, ask, ones(7), background=X) < 1
    assert sum(asked) == 7 * 21


def test_the_typical_row_is_a_mean_of_numbers_and_the_most_frequent_category():
    onehot = np.eye(3)[[0, 1, 1, 2]] - 0.25
    background = np.column_stack([[1.0, 2.0, 3.0, 6.0], [0.0, 1.0, 1.0, 1.0], onehot])
    typical = typical_row(background, np.array([0, 1, 2, 2, 2]))
    np.testing.assert_array_equal(typical, [3.0, 1.0, -0.25, 0.75, -0.25])


def test_a_feature_matters_by_its_largest_column_wherever_its_columns_stand():
    A = np.array([[1.0, -4.0, 2.0, 3.0]])
    np.testing.assert_array_equal(importance(A, np.array([1, 0, 1, 0])), [[4.0, 2.0]])
    np.testing.assert_array_equal(importance(A, np.array([1, 0, 1, 0]), signed=True), [[-1.0, 3.0]])


def test_equal_features_are_ordered_by_lot():
    place = places(np.zeros((4_000, 4)), np.random.default_rng(0))
    np.testing.assert_allclose(np.mean(place == 0, axis=0), 0.25, atol=0.03)
    np.testing.assert_array_equal(np.sort(place, axis=1), np.tile(np.arange(4), (4_000, 1)))


def test_the_black_box_is_asked_few_rows_at_a_time(monkeypatch):
    monkeypatch.setattr(model_queries, "ROWS", 64)
    sizes = []

    def ask(X):
        sizes.append(len(X))
        return linear(W)(X)

    X = rows()
    few = infidelity(W * X, X, ask, ones(40), background=np.zeros((1, 4)), n_samples=8)
    assert few == pytest.approx(0, abs=1e-9)
    assert max(sizes) <= 64


def test_answers_of_a_wrong_shape_and_owners_of_other_columns_are_refused():
    with pytest.raises(ValueError, match="ask must answer"):
        ask_answer(lambda X: X[:, 0], rows(), ones(40))
    with pytest.raises(ValueError, match="one owner per column"):
        deletion(rows(), rows(), linear(W), ones(40), background=rows(), owner=np.arange(3))


def test_no_rows_say_nothing():
    none, ask = np.empty((0, 4)), linear(W)
    for metric in (prediction_gap, infidelity, deletion, insertion):
        assert math.isnan(metric(none, none, ask, ones(0), background=rows()))
    assert math.isnan(local_fidelity(none, none, ask, ones(0)).agreement)
