import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr

from illume.metrics import Boxes, completeness, cosine_score, faithfulness, global_robustness, robustness
from illume.metrics import stability_metrics as module
from illume.metrics.stability_metrics import _neighbours, _pairs
from tests.metrics.common import random_boxes, taken

QUICK = settings(max_examples=15, deadline=None, derandomize=True)
ONEHOT = np.array([False, False, True, True, True])


def mixed_rows(rng, n):
    """Return two numbers and three centred one-hot columns."""
    X = np.hstack([rng.normal(size=(n, 2)), np.eye(3)[rng.integers(3, size=n)]])
    X[:, 2:] -= X[:, 2:].mean(axis=0)
    return X


def explanations(kind, rng, n):
    return rng.normal(size=(n, 4)) if kind == "attributions" else random_boxes(rng, n, 4)


def alike(E, i, j):
    """Compare two explanations."""
    i, j = [i], [j]
    return (completeness if isinstance(E, Boxes) else cosine_score)(taken(E, i), taken(E, j))[0]


def input_distance(a, b):
    """Return the distance of two mixed rows, term by term."""
    cosine = 1 - a[:2] @ b[:2] / np.sqrt((a[:2] @ a[:2]) * (b[:2] @ b[:2]))
    differ = np.mean(np.abs(a[2:] - b[2:]) > 0.5)
    return 2 / 5 * cosine + 3 / 5 * differ


def plain_robustness(E, X, decisions, n_neighbours):
    """Do as the definition says, one row and one K after another."""
    scores = []
    for i in range(len(X)):
        others = [j for j in range(len(X)) if j != i and decisions[j] == decisions[i]]
        others.sort(key=lambda j, i=i: input_distance(X[i], X[j]))
        near = [alike(E, i, j) for j in others[:n_neighbours]]
        scores += [min(near[:K]) for K in range(1, n_neighbours + 1) if near]
    return np.mean(scores)


@pytest.mark.parametrize("kind", ["attributions", "rules"])
def test_robustness_is_what_a_plain_loop_finds(kind):
    rng = np.random.default_rng(1)
    X, E = mixed_rows(rng, 61), explanations(kind, rng, 61)
    decisions = np.array([0] * 46 + [1] * 10 + [2] * 4 + [3])  # fewer others than neighbours, and a row alone
    expected = plain_robustness(E, X, decisions, 12)
    assert robustness(E, X, decisions, onehot=ONEHOT, n_neighbours=12) == pytest.approx(expected)


def test_neighbours_come_nearest_first():
    X = np.random.default_rng(0).normal(size=(2_000, 5))
    distance = cdist(X[:50], X, "cosine") + np.eye(50, 2_000) * 9
    found = np.concatenate([nearest for _, nearest in _neighbours(X, np.zeros(2_000), None, 20)])
    np.testing.assert_array_equal(found[:50], np.argsort(distance, axis=1)[:, :20])


@pytest.mark.parametrize("kind", ["attributions", "rules"])
def test_rank_scores_over_all_pairs_are_scipys(kind):
    rng = np.random.default_rng(2)
    n = 30
    E, X, P, decisions = (
        explanations(kind, rng, n),
        rng.normal(size=(n, 3)),
        rng.random((n, 2)),
        np.arange(n) % 2,
    )
    P[:, 0] += np.array([alike(E, i, 0) for i in range(n)])  # something to find
    for places, same, score in (
        (P, False, faithfulness(E, P)),
        (P, True, global_robustness(E, P, decisions)),
        (X, True, global_robustness(E, X, decisions)),
    ):
        pairs = [(i, j) for i, j in combinations(range(n), 2) if not same or decisions[i] == decisions[j]]
        near = [alike(E, i, j) for i, j in pairs]
        far = [np.linalg.norm(places[i] - places[j]) for i, j in pairs]
        assert score == pytest.approx(max(0, -spearmanr(near, far).statistic), abs=1e-9)


@QUICK
@given(st.integers(0, 10**6), st.floats(1e-6, 1e6), st.sampled_from(["attributions", "rules"]))
def test_neither_scale_nor_order_of_rows_matters(seed, scale, kind):
    rng = np.random.default_rng(seed)
    X, E, P = rng.normal(size=(25, 3)), explanations(kind, rng, 25), rng.random((25, 2))
    decisions, order = rng.integers(2, size=25), rng.permutation(25)
    again = taken(E if isinstance(E, Boxes) else scale * E, order)
    for one, other in (
        (robustness(E, X, decisions), robustness(again, X[order], decisions[order])),
        (global_robustness(E, X, decisions), global_robustness(again, X[order], decisions[order])),
        (faithfulness(E, P), faithfulness(again, P[order])),
    ):
        assert one == pytest.approx(other, abs=1e-9)


def test_constant_explanations_are_robust_and_not_faithful():
    rng = np.random.default_rng(0)
    X, P, A = rng.normal(size=(400, 3)), rng.random((400, 2)), np.tile(rng.normal(size=3), (400, 1))
    assert robustness(A, X, P.argmax(1)) == pytest.approx(1.0)
    assert faithfulness(A, P) == global_robustness(A, X, P.argmax(1)) == 0


def test_explanations_that_turn_with_the_answers_are_faithful():
    angle = np.random.default_rng(0).uniform(0, math.pi / 2, 500)
    A = np.column_stack([np.cos(angle), np.sin(angle)])
    assert faithfulness(A, angle) == pytest.approx(1.0, abs=1e-3)
    assert global_robustness(A, angle[:, None], np.arange(500) % 3) == pytest.approx(1.0, abs=1e-3)
    assert faithfulness(A, np.random.default_rng(1).permutation(angle)) < 0.05


def test_random_pairs_are_of_two_rows_of_one_group_and_each_as_likely():
    groups = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [300, 100, 1]))
    i, j = _pairs(groups, 40_000, seed=0)
    assert len(i) == 40_000
    assert (i != j).all()
    assert (groups[i] == groups[j]).all()
    assert np.mean(groups[i] == 1) == pytest.approx(100 * 99 / (100 * 99 + 300 * 299), abs=0.005)
    assert np.bincount(i[groups[i] == 0]).max() < 200  # 120 on average


def test_where_there_is_nothing_to_compare_the_answer_is_nan():
    A, X = np.ones((3, 2)), np.eye(3)
    assert math.isnan(robustness(A, X, np.arange(3)))
    assert math.isnan(global_robustness(A, X, np.arange(3)))
    wide = np.ones((301, 2))
    assert math.isnan(global_robustness(wide, wide, np.arange(301)))
    assert math.isnan(faithfulness(np.full((5, 2), np.nan), np.eye(5)))
    with pytest.raises(ValueError, match="one explanation per row"):
        faithfulness(A, np.eye(4))


def test_the_number_of_comparisons_grows_with_the_rows_and_not_with_their_pairs(monkeypatch):
    compared, compare = [], module.similarities
    monkeypatch.setattr(module, "similarities", lambda E, i, j: compared.append(i.size) or compare(E, i, j))
    rng = np.random.default_rng(0)
    X, A, P = rng.normal(size=(2_000, 5)), rng.normal(size=(2_000, 5)), rng.random((2_000, 2))
    robustness(A, X, P.argmax(1), n_neighbours=20)
    assert sum(compared) == 2_000 * 20
    faithfulness(A, P, n_pairs=9_000)
    assert sum(compared) == 2_000 * 20 + 9_000
