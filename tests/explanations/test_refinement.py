from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from illume.data.class_outputs import Classes
from illume.encoders.base import PulledBack
from illume.errors import MissingExtraError
from illume.explanations.neighbours import ExactSearch, IndexSearch, Neighbours, unit
from illume.explanations.refinement import (
    GRID,
    LinearRegions,
    Path,
    Refiner,
    TreeRegions,
    search_grid,
    smallest_steps,
)
from illume.surrogates.base import FittedWeights, LogisticSurrogate
from illume.surrogates.tree import DecisionTreeSurrogate

K, M = 3, 4


def regions_of(kind, Z, P):
    if kind == "linear":
        return LinearRegions(LogisticSurrogate().fit(Z, P), question_of(P))
    tree = DecisionTreeClassifier(max_depth=6, min_samples_leaf=3, random_state=0)
    surrogate = DecisionTreeSurrogate(tree).fit(Z, P)
    return TreeRegions(surrogate, question_of(P), surrogate.value_)


def question_of(P):
    return Classes(tuple("abcd"[: P.shape[1]])).question()


def decide(refiner, Z):
    return refiner.regions.surrogate.answers(Z).argmax(1)


def encode(X):
    """Give every row a map of its own, here one that turns with its first input."""
    base = np.random.default_rng(5).normal(size=(2, K, M))
    W = base[0] + np.tanh(X[:, :1, None]) * base[1]
    return W, (W @ X[:, :, None])[:, :, 0]


class TurningMaps:
    def pull_back(self, X, coef, at):
        W = encode(X)[0]
        return PulledBack(coef @ W, (W @ at[:, :, None])[:, :, 0])


@pytest.fixture(params=["linear", "tree"])
def kind(request):
    return request.param


@pytest.fixture(params=[2, 4])
def refiner(request, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, M))
    score = X[:, 0] * X[:, 1] + X[:, 2]
    P = np.eye(request.param)[
        np.digitize(score, np.quantile(score, np.arange(1, request.param) / request.param))
    ]
    Z = encode(X)[1]
    regions = regions_of(kind, Z, P)
    neighbours = Neighbours.of(X, Z, question_of(P), (P, regions.surrogate.answers(Z)), "exact")
    return Refiner(TurningMaps(), regions, neighbours, np.eye(K))


def disagreeing(refiner, n=120):
    X = np.random.default_rng(1).normal(size=(n, M))
    W, Z = encode(X)
    n_classes = len(refiner.neighbours.valid)
    wanted = (decide(refiner, Z) + 1 + np.arange(n) % (n_classes - 1)) % n_classes
    return X, W, Z, wanted


def test_after_refinement_every_row_is_decided_as_wanted(refiner):
    X, W, Z, wanted = disagreeing(refiner)
    refined = refiner(X, Z, wanted)
    assert refined.refinement.refined.all()
    assert (decide(refiner, refined.Z) == wanted).all()
    near = refined.refinement.neighbour
    np.testing.assert_allclose(refined.slopes, encode(refiner.neighbours.X[near])[0], rtol=1e-12)
    again = (refined.mix(W, refined.slopes) @ X[:, :, None])[:, :, 0] + refined.offset
    np.testing.assert_allclose(again, refined.Z, atol=1e-10)


def test_the_steps_are_the_smallest_of_the_whole_grid(refiner):
    X, _, Z, wanted = disagreeing(refiner, 40)
    near = refiner.neighbours.nearest(Z, wanted)
    W_near, Z_near = encode(refiner.neighbours.X[near])
    a = (W_near @ X[:, :, None])[:, :, 0] - Z
    path = Path(Z, a, Z_near - Z - a, Z_near)
    gamma_w, gamma_x = smallest_steps(path, wanted, refiner.regions)
    tried_w, tried_x = search_grid(path, wanted, refiner.regions)
    np.testing.assert_array_equal(gamma_w + gamma_x, tried_w + tried_x)
    np.testing.assert_array_equal(gamma_x, tried_x)
    assert np.isin(gamma_w, GRID).all()


def test_a_row_refined_alone_is_the_row_in_the_batch(refiner):
    X, _, Z, wanted = disagreeing(refiner, 30)
    together = refiner(X, Z, wanted)
    for i in range(0, 30, 7):
        alone = refiner(X[[i]], Z[[i]], wanted[[i]])
        assert alone.refinement.neighbour[0] == together.refinement.neighbour[i]
        np.testing.assert_allclose(alone.Z[0], together.Z[i], rtol=1e-12, atol=1e-12)


def test_without_a_valid_neighbour_a_row_stays_and_says_so(refiner):
    X, _, Z, wanted = disagreeing(refiner, 5)
    valid = tuple(rows[:0] for rows in refiner.neighbours.valid)
    nobody = replace(refiner.neighbours, valid=valid, searches=(None,) * len(valid))
    lost = replace(refiner, neighbours=nobody)(X, Z, wanted)
    np.testing.assert_array_equal(lost.Z, Z)
    found = lost.refinement
    assert list(found.status) == ["not faithful"] * 5
    assert "no training row could help" in found.note()


def test_neighbours_are_valid_and_of_the_wanted_decision(refiner):
    _, _, Z, wanted = disagreeing(refiner)
    near = refiner.neighbours.nearest(Z, wanted)
    assert (decide(refiner, encode(refiner.neighbours.X[near])[1]) == wanted).all()


def test_exact_search_finds_the_largest_cosine_and_the_first_of_equals():
    rng = np.random.default_rng(0)
    vectors = unit(rng.normal(size=(500, 5)))
    vectors[400] = vectors[7]
    Z = rng.normal(size=(40, 5))
    np.testing.assert_array_equal(ExactSearch(vectors).nearest(Z), (unit(Z) @ vectors.T).argmax(1))
    assert ExactSearch(vectors).nearest(3 * vectors[[400]])[0] == 7
    assert ExactSearch(vectors).nearest(np.zeros((1, 5)))[0] == 0


def test_the_index_finds_nearly_always_the_nearest_and_always_the_same():
    rng = np.random.default_rng(0)
    vectors, Z = unit(rng.normal(size=(5000, 8))), rng.normal(size=(300, 8))
    exact, index = ExactSearch(vectors).nearest(Z), IndexSearch(vectors).nearest(Z)
    assert (exact == index).mean() > 0.9
    np.testing.assert_array_equal(index, IndexSearch(vectors).nearest(Z))


def test_without_faiss_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r"illume\[index\]"):
        IndexSearch(np.eye(3))


def test_a_line_that_hardly_moves_never_gets_there():
    """The crossing lies beyond all numbers."""
    outputs = Classes(("no", "yes"))
    regions = LinearRegions(FittedWeights(np.ones((1, 1)), np.array([-1e3]), outputs), outputs.question())
    still = Path(*np.zeros((2, 1, 1)), np.full((1, 1), 5e-324), np.zeros((1, 1)))
    assert np.isinf(regions.least(still, 1)).all()
    assert (regions.least(still, 0) == 0).all()
