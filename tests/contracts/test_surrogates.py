"""Properties of every surrogate."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from illume.data.class_outputs import Classes
from illume.errors import BlackBoxError
from illume.surrogates.base import (
    HeadSurrogate,
    LinearAdapter,
    LinearSurrogate,
    LogisticSurrogate,
    TreeSurrogate,
    scores,
)
from illume.surrogates.selection import best_surrogate, candidates, subsample_indices
from illume.surrogates.tree import DecisionTreeSurrogate

LINEAR = [
    LogisticSurrogate(),
    LinearAdapter(LinearDiscriminantAnalysis()),
    LinearAdapter(RidgeClassifier()),
    LinearAdapter(LogisticRegression()),
]
TREES = [DecisionTreeSurrogate(), DecisionTreeSurrogate(DecisionTreeClassifier(max_depth=2))]


def classes(n):
    return Classes(tuple("abcde"[:n]))


def answered(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(200, 3))
    logits = Z @ rng.normal(size=(3, n_classes)) * 3
    return Z, classes(n_classes).answers(logits)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("start", LINEAR + TREES, ids=repr)
def test_it_learns_probabilities_that_agree_with_the_black_box(start, n_classes):
    Z, P = answered(n_classes)
    Q = clone(start).fit(Z, P).answers(Z)
    assert Q.shape == P.shape
    np.testing.assert_allclose(Q.sum(1), 1)
    assert np.mean(Q.argmax(1) == P.argmax(1)) > 0.75


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_model_that_is_sure_of_one_class_gets_a_constant_surrogate(n_classes):
    Z, P = np.zeros((9, 3)), np.zeros((9, n_classes))
    P[:, 1] = 1
    surrogate = LogisticSurrogate().fit(Z, P)
    assert surrogate.coef_.shape == (1 if n_classes == 2 else n_classes, 3)
    np.testing.assert_allclose(classes(n_classes).answers(scores(surrogate, Z)), P, atol=1e-8)
    with pytest.raises(BlackBoxError, match="decides all 9 training rows alike"):
        LinearAdapter(LogisticRegression()).fit(Z, P)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("start", LINEAR, ids=repr)
def test_a_linear_one_is_its_coefficients(start, n_classes):
    Z, P = answered(n_classes)
    surrogate = clone(start).fit(Z, P)
    assert isinstance(surrogate, LinearSurrogate)
    assert surrogate.coef_.shape == (1 if n_classes == 2 else n_classes, 3)
    np.testing.assert_allclose(surrogate.answers(Z), classes(n_classes).answers(scores(surrogate, Z)))
    if n_classes > 2:
        np.testing.assert_allclose(surrogate.coef_.sum(0), 0, atol=1e-9)


@pytest.mark.parametrize("start", TREES, ids=repr)
def test_a_tree_one_gives_its_splits_and_leaves(start):
    Z, P = answered(3)
    surrogate = clone(start).fit(Z, P)
    assert isinstance(surrogate, TreeSurrogate)
    node = np.zeros(len(Z), dtype=int)
    for _ in range(50):
        feature, inner = surrogate.feature_[node], surrogate.children_left_[node] >= 0
        left = Z[np.arange(len(Z)), np.maximum(feature, 0)].astype(np.float32) <= surrogate.threshold_[node]
        child = np.where(left, surrogate.children_left_[node], surrogate.children_right_[node])
        node = np.where(inner, child, node)
    np.testing.assert_array_equal(surrogate.apply(Z), node)


@pytest.mark.parametrize("start", LINEAR + TREES, ids=repr)
@pytest.mark.parametrize("kept", [2, 3])
def test_classes_that_are_never_decided_get_almost_no_probability(start, kept):
    Z, P = answered(kept)
    P = np.insert(P, 1, 0.0, axis=1)
    Q = clone(start).fit(Z, P).answers(Z)
    assert Q.shape == P.shape
    assert Q[:, 1].max() < 1e-3
    assert np.mean(Q.argmax(1) == P.argmax(1)) > 0.75


@pytest.mark.parametrize("start", LINEAR + TREES, ids=repr)
def test_no_rows_give_no_probabilities(start):
    Z, P = answered(3)
    assert clone(start).fit(Z, P).answers(Z[:0]).shape == (0, 3)


def test_logistic_learns_from_probabilities_and_not_only_from_decisions():
    Z = np.linspace(-1, 1, 400)[:, None]
    P = classes(2).answers(0.5 * Z)
    surrogate = LogisticSurrogate(C=1e4).fit(Z, P)
    assert surrogate.coef_[0, 0] == pytest.approx(0.5, abs=0.01)
    assert surrogate.intercept_[0] == pytest.approx(0, abs=0.01)


def test_a_head_is_not_fitted_again_and_shares_nothing_between_classes():
    coef, intercept = np.array([[1.0], [3.0]]) + 5, np.array([1.0, 1.0])
    head = HeadSurrogate(np.vstack([coef, [[2.0]]]), np.append(intercept, 4.0), classes(3))
    before = head.coef_.copy()
    Z, P = answered(3)
    np.testing.assert_array_equal(head.fit(Z[:, :1], P).coef_, before)
    np.testing.assert_allclose(before.sum(0), 0, atol=1e-12)


def test_the_best_on_validation_rows_is_kept():
    Z, P = answered(2)
    wrong = HeadSurrogate(np.zeros((1, 3)), np.array([9.0]), classes(2))
    chosen = best_surrogate([wrong, LogisticSurrogate()], classes(2), (Z, P), (Z, P))
    assert isinstance(chosen, LogisticSurrogate)


def test_many_rows_are_subsampled_evenly_with_a_row_of_every_decision(monkeypatch):
    monkeypatch.setattr("illume.surrogates.selection.MAX_ROWS", 50)
    P = np.eye(2)[(np.arange(200) == 7).astype(int)]
    kept = subsample_indices(P, classes(2))
    assert kept.tolist() == sorted([*range(0, 200, 4), 7])
    Z, seen = np.arange(400.0).reshape(200, 2), []

    class Watched(LogisticSurrogate):
        def fit(self, Z, P):
            seen.append((Z, P))
            return super().fit(Z, P)

    best_surrogate([Watched()], classes(2), (Z, P), (Z, P))
    np.testing.assert_array_equal(seen[0][0], Z[kept])
    np.testing.assert_array_equal(seen[0][1], P[kept])
    np.testing.assert_array_equal(subsample_indices(P[kept], classes(2)), np.arange(51))


@pytest.mark.parametrize(
    ("surrogate", "kind"),
    [
        ("tree", DecisionTreeSurrogate),
        (DecisionTreeClassifier(), DecisionTreeSurrogate),
        (LogisticRegression(), LinearAdapter),
        (LogisticSurrogate(), LogisticSurrogate),
    ],
)
def test_scikit_learn_models_and_ones_own_take_part(surrogate, kind):
    assert all(isinstance(choice, kind) for choice in candidates(surrogate))


def test_a_surrogate_of_ones_own_is_copied():
    mine = LogisticSurrogate(C=3)
    (copy,) = candidates(mine)
    assert copy is not mine
    assert copy.C == 3


def test_a_model_that_compares_classes_two_by_two_is_refused():
    with pytest.raises(ValueError, match="two by two"):
        candidates(SVC(kernel="linear"))


@pytest.mark.parametrize("surrogate", ["forest", 3])
def test_what_is_no_surrogate_is_refused(surrogate):
    with pytest.raises(ValueError, match="choose 'logistic' or 'tree'"):
        candidates(surrogate)


def test_a_class_of_few_rows_gets_a_leaf_and_else_no_leaf_is_of_one_row():
    Z = np.random.default_rng(0).normal(size=(400, 2))
    common = np.eye(3)[(Z[:, 0] > 0).astype(int)]
    rare = common.copy()
    rare[:2] = [0.0, 0.0, 1.0]
    for P, n_classes in ((common, 2), (rare, 3)):
        best = best_surrogate(candidates("tree"), classes(3), (Z, P), (Z[200:], P[200:]))
        assert len(np.unique(best.answers(Z).argmax(1))) == n_classes
        assert best.spare == (n_classes == 3)
