import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.data import seneca_rb
from benchmarks.data.expressions import Expression, Term
from benchmarks.data.seneca_rc import FormulaClassifier, boundary_gradients, generate, published_points
from sklearn.tree import DecisionTreeClassifier

from benchmarks import data

NAMES = ("seneca-rc-4+0-0", "seneca-rc-16+16-1", "seneca-rb-4+0-0", "seneca-rb-8+0-1")
DIFFERENCE = FormulaClassifier(Expression((Term("-", (0, 1)), Term("identity", (1,)))), scale=1.0)  # x0


def checksum(problem):
    truth = problem.truth
    known = (truth.gradient, truth.published, truth.low, truth.high, truth.counter_low, truth.counter_high)
    arrays = (problem.X_train, problem.X_test, problem.y_train, problem.P_test, *known)
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(b"" if array is None else np.round(array, 6).tobytes())
    return digest.hexdigest()


def test_there_are_five_problems_of_each_of_five_sizes():
    sizes = {name: len(names) for name, names in data.families().items()}
    assert sizes == {"real": 18, "rankings": 3, "seneca-rc": 25, "seneca-rb": 25}
    assert "seneca-rc-16+48-4" in data.SENECA_RC


@pytest.mark.parametrize("wrong", [("seneca-rx-4+0-0", "truth"), ("seneca-rc-4+0-0", "xgb"), ("none", "xgb")])
def test_names_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ValueError, match=wrong[0].replace("+", r"\+")):
        data.problem(*wrong, seed=0, protocol="clean")


def test_protocols_that_mean_nothing_are_refused():
    with pytest.raises(ValueError, match="protocol"):
        data.problem("seneca-rc-4+0-0", "truth", 0, "dirty")


def test_a_name_means_the_same_problem_in_another_process():
    here = [checksum(data.problem(name, "truth", 0, "clean")) for name in NAMES]
    code = (
        "from benchmarks import data; from tests.benchmarks.test_seneca import NAMES, checksum\n"
        "print(*(checksum(data.problem(name, 'truth', 0, 'clean')) for name in NAMES))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert answer.stdout.split() == here


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_split_in_halves_and_the_black_box_decides_as_the_labels_say(name):
    problem = data.problem(name, "truth", 0, "clean")
    assert len(problem.train) == len(problem.test) == 1024
    assert problem.y_train.mean() == pytest.approx(problem.y_test.mean(), abs=0.001)
    assert 0.2 <= problem.y_train.mean() <= 0.8
    np.testing.assert_array_equal(problem.P_test.argmax(axis=1), problem.y_test)
    np.testing.assert_array_equal(problem.frame_model.predict_proba(problem.test), problem.P_test)


def test_seeds_move_rows_and_uninformative_columns_change_nothing_else():
    few = data.problem("seneca-rc-16+0-2", "truth", 0, "clean")
    many = data.problem("seneca-rc-16+16-2", "truth", 0, "clean")
    np.testing.assert_array_equal(few.test, many.test.iloc[:, :16])
    np.testing.assert_array_equal(few.truth.gradient, many.truth.gradient[:, :16])
    assert not many.truth.gradient[:, 16:].any()
    other = data.problem("seneca-rc-16+0-2", "truth", 1, "clean")
    assert not np.array_equal(few.test, other.test)
    shown = np.sort(np.concatenate([other.train["x0"], other.test["x0"]]))
    np.testing.assert_array_equal(shown, np.sort(np.concatenate([few.train["x0"], few.test["x0"]])))


@pytest.mark.parametrize(("t", "number"), [(4, 0), (8, 3), (16, 1)])
def test_labels_are_signs_and_probabilities_keep_the_order_of_scores(t, number):
    classifier, X = generate(t, number)
    score = classifier.expression.score(X)
    np.testing.assert_array_equal(classifier.positive(X), score > 0)
    p = classifier.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(p > 0.5, score > 0)
    order = np.argsort(score)
    assert np.all(np.diff(p[order])[np.diff(score[order]) > 0] > 0)


def test_probabilities_never_collapse():
    scores = np.array([-np.inf, -1e200, -1.0, -1e-30, 0.0, 1e-30, 1.0, 1e200, np.inf, np.nan])
    rows = np.column_stack([scores, np.zeros(len(scores))])
    P = DIFFERENCE.predict_proba(rows)
    np.testing.assert_array_equal(P.argmax(axis=1), [0, 0, 0, 0, 0, 1, 1, 1, 1, 0])
    assert np.all((P > 0) & (P < 1))
    np.testing.assert_allclose(P.sum(axis=1), 1)


def test_the_boundary_of_a_line_is_found_and_its_gradient_is_the_line():
    X = np.array([[1.0, 0.0], [3.0, 0.0], [-1.0, 0.0]])
    gradients, inner, outer = boundary_gradients(DIFFERENCE, X, X, X[:, 0] > 0)
    np.testing.assert_allclose(gradients, [[1.0, 0.0]] * 3)
    np.testing.assert_allclose(inner, np.zeros((3, 2)), atol=1e-9)
    np.testing.assert_allclose(outer, np.zeros((3, 2)), atol=1e-9)


@pytest.mark.parametrize(("t", "number"), [(4, 0), (8, 3), (16, 1)])
def test_labels_change_where_the_boundary_is_said_to_be(t, number):
    classifier, X = generate(t, number)
    positive = classifier.positive(X)
    gradients, inner, outer = boundary_gradients(classifier, X[:200], X, positive)
    np.testing.assert_array_equal(classifier.positive(inner), positive[:200])
    np.testing.assert_array_equal(classifier.positive(outer), ~positive[:200])
    assert np.abs(inner - outer).max() < 1e-9
    there = classifier.expression.gradient(inner)
    usable = np.isfinite(there).all(axis=1) & (there != 0).any(axis=1)
    assert usable.mean() > 0.9
    np.testing.assert_allclose(gradients[usable], there[usable], rtol=1e-3)
    assert np.isfinite(gradients).all()


def test_the_published_point_is_of_the_same_label_and_near_the_other_one():
    X = np.array([[4.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [-9.0, 0.0]])
    points = published_points(X, X[:, 0] > 0, np.arange(4))
    np.testing.assert_array_equal(points[:, 0], [1.0, 1.0, -1.0, -1.0])


@pytest.mark.parametrize("name", [name for name in NAMES if "rb" in name])
def test_rows_lie_in_their_own_box_where_the_tree_always_says_the_same(name):
    problem = data.problem(name, "truth", 0, "clean")
    truth, X = problem.truth, problem.test.to_numpy()
    assert np.all((truth.low < X) & (truth.high >= X))
    inside = np.all((truth.low[:, None] < X) & (truth.high[:, None] >= X), axis=2)
    boxes, rows = np.nonzero(inside)
    np.testing.assert_array_equal(problem.y_test[boxes], problem.y_test[rows])


@pytest.mark.parametrize("name", [name for name in NAMES if "rb" in name])
def test_the_other_box_has_the_other_label(name):
    problem = data.problem(name, "truth", 0, "clean")
    truth, X = problem.truth, problem.test.to_numpy()
    margin = np.minimum(1e-4, (truth.counter_high - truth.counter_low) / 2)
    moved = np.clip(X, truth.counter_low + margin, truth.counter_high - margin)
    P = problem.model.predict_proba((moved - problem.encoding.mean) / problem.encoding.scale)
    np.testing.assert_array_equal(P.argmax(axis=1), 1 - problem.y_test)


def test_the_other_path_changes_fewest_splits_then_lies_nearest():
    # x <= .5: 0;  .5 < x <= 2.5: 1;  x > 2.5: 0
    tree = DecisionTreeClassifier(random_state=0).fit(np.arange(4.0)[:, None], [0, 1, 1, 0])
    leaves = seneca_rb.leaves_of(tree)
    order = np.argsort(leaves.low[:, 0])
    np.testing.assert_array_equal(leaves.low[order, 0], [-np.inf, 0.5, 2.5])
    np.testing.assert_array_equal(leaves.high[order, 0], [0.5, 2.5, np.inf])
    own, other = seneca_rb.paths(tree, leaves, np.array([[0.0], [1.0], [2.0], [3.0]]))
    np.testing.assert_array_equal(leaves.label[own], [0, 1, 1, 0])
    np.testing.assert_array_equal(leaves.label[other], [1, 0, 0, 1])
    rank = np.argsort(order)
    assert rank[other[0]] == rank[other[3]] == 1
    # each end breaks one split of the row's, so the nearer end is taken
    np.testing.assert_array_equal(rank[other[1:3]], [0, 2])


def test_distances_to_a_box_are_those_to_its_nearest_point():
    low, high = np.array([[0.0, -np.inf]]), np.array([[1.0, 2.0]])
    rows = np.array([[0.5, 0.0], [4.0, 0.0], [4.0, 6.0]])
    np.testing.assert_array_equal(seneca_rb.box_distances(rows, low, high)[:, 0], [0.0, 3.0, 5.0])
