"""Generated and real problems, and their black boxes."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from benchmarks.black_boxes import SEARCHES, AllClasses, Samples, Search, load_black_box, search
from benchmarks.data import real, seneca_rb
from benchmarks.data.expressions import BINARY, OPERATORS, Expression, Term, draw
from benchmarks.data.problem import Encoding, split
from benchmarks.data.seneca_rc import FormulaClassifier, boundary_gradients, generate, published_points
from sklearn.tree import DecisionTreeClassifier

from benchmarks import black_boxes, data
from illume.metrics import macro_f1

NAMES = ("seneca-rc-4+0-0", "seneca-rc-16+16-1", "seneca-rb-4+0-0", "seneca-rb-8+0-1")
BOXES = [name for name in NAMES if "rb" in name]
DIFFERENCE = FormulaClassifier(Expression((Term("-", (0, 1)), Term("identity", (1,)))), scale=1.0)  # x0
COMPLEX = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "minus": np.negative, "identity": lambda x: x,
    "sign": lambda x: np.sign(x.real), "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide,
    "**": np.power,
}  # fmt: skip
needs_data = pytest.mark.skipif(not os.environ.get(real.VARIABLE), reason=f"{real.VARIABLE} is not set")


def checksum(problem):
    truth = problem.truth
    known = (truth.gradient, truth.published, truth.low, truth.high, truth.counter_low, truth.counter_high)
    digest = hashlib.sha256()
    for array in (problem.X_train, problem.X_test, problem.y_train, problem.P_test, *known):
        digest.update(b"" if array is None else np.round(array, 6).tobytes())
    return digest.hexdigest()


def expression_points(operator):
    X = np.random.default_rng(0).normal(0, 3, size=(300, 2))
    return X[np.abs(np.abs(X[:, 0]) - 1) > 0.05][:, : len(OPERATORS[operator]) - 1]


@pytest.mark.parametrize("operator", OPERATORS)
def test_terms_are_real_parts_of_complex_functions_and_have_their_derivatives(operator):
    X = expression_points(operator)
    expression = Expression((Term(operator, tuple(range(X.shape[1]))),))
    function = COMPLEX.get(operator) or getattr(np, operator)
    expected = function(*X.T.astype(complex)).real
    np.testing.assert_allclose(expression.score(X), expected, rtol=1e-9, atol=1e-9)
    X = X[np.abs(X).min(axis=1) > 0.05]  # away from poles and corners at 0
    steps = 1e-6 * np.eye(X.shape[1])
    differences = [(expression.score(X + h) - expression.score(X - h)) / 2e-6 for h in steps]
    gradient = expression.gradient(X)
    error = np.abs(gradient - np.column_stack(differences))
    assert np.all(error <= 1e-4 * (1 + np.abs(gradient) + np.abs(expression.score(X))[:, None]))


def test_terms_add_up_by_column_position():
    both = Expression((Term("sign", (0,)), Term("*", (0, 1))))
    np.testing.assert_array_equal(both.gradient(np.array([[2.0, 5.0]])), [[5.0, 2.0]])
    many = Expression(tuple(Term("identity", (column,)) for column in (2, 10)))
    assert many.score(np.arange(12.0)[None]) == 12
    cancelling = (Term("-", (0, 1)), Term("-", (1, 0)))
    assert not Expression(cancelling).uses(2)
    assert Expression((*cancelling, Term("*", (0, 1)))).uses(2)
    huge = Expression((Term("exp", (0,)), Term("/", (0, 1)), Term("**", (1, 0))))
    assert huge.score(np.array([[1e4, 0.0]]))[0] == np.inf


def test_drawn_formulas_have_a_term_for_each_column_and_use_all_operators():
    rng = np.random.default_rng(0)
    formulas = [draw(6, rng) for _ in range(200)]
    assert all(column in term.columns for f in formulas for column, term in enumerate(f.terms))
    operators = [term.operator for f in formulas for term in f.terms]
    assert set(operators) == set(OPERATORS)
    assert np.mean([operator in BINARY for operator in operators]) == pytest.approx(0.7, abs=0.05)


def test_names_and_protocols_that_do_not_exist_are_refused():
    assert [len(names) for names in data.FAMILIES.values()] == [18, 3, 25, 25]
    for name, box in (("seneca-rx-4+0-0", "truth"), ("seneca-rc-4+0-0", "xgb"), ("none", "xgb")):
        with pytest.raises(ValueError, match=name.replace("+", r"\+")):
            data.problem(name, box, seed=0, protocol="clean")
    with pytest.raises(ValueError, match="protocol"):
        data.problem("seneca-rc-4+0-0", "truth", 0, "dirty")


def test_a_name_means_the_same_problem_in_another_process():
    here = [checksum(data.problem(name, "truth", 0, "clean")) for name in NAMES]
    code = (
        "from benchmarks import data; from tests.benchmarks.test_data import NAMES, checksum\n"
        "print(*(checksum(data.problem(name, 'truth', 0, 'clean')) for name in NAMES))"
    )
    options = {"env": os.environ | {"PYTHONHASHSEED": "7"}, "cwd": Path(__file__).parents[2]}
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, **options
    )
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


@pytest.mark.parametrize(("t", "number"), [(4, 0), (16, 1)])
def test_labels_are_signs_and_change_where_the_boundary_is(t, number):
    classifier, X = generate(t, number)
    score, positive = classifier.expression.score(X), classifier.positive(X)
    np.testing.assert_array_equal(positive, score > 0)
    p, order = classifier.predict_proba(X)[:, 1], np.argsort(score)
    np.testing.assert_array_equal(p > 0.5, score > 0)
    assert np.all(np.diff(p[order])[np.diff(score[order]) > 0] > 0)
    gradients, inner, outer = boundary_gradients(classifier, X[:200], X, positive)
    np.testing.assert_array_equal(classifier.positive(inner), positive[:200])
    np.testing.assert_array_equal(classifier.positive(outer), ~positive[:200])
    assert np.abs(inner - outer).max() < 1e-9
    there = classifier.expression.gradient(inner)
    usable = np.isfinite(there).all(axis=1) & (there != 0).any(axis=1)
    assert usable.mean() > 0.9
    np.testing.assert_allclose(gradients[usable], there[usable], rtol=1e-3)


def test_probabilities_never_collapse():
    scores = np.array([-np.inf, -1e200, -1.0, -1e-30, 0.0, 1e-30, 1.0, 1e200, np.inf, np.nan])
    P = DIFFERENCE.predict_proba(np.column_stack([scores, np.zeros(len(scores))]))
    np.testing.assert_array_equal(P.argmax(axis=1), [0, 0, 0, 0, 0, 1, 1, 1, 1, 0])
    assert np.all((P > 0) & (P < 1))
    np.testing.assert_allclose(P.sum(axis=1), 1)


def test_the_boundary_of_a_line_is_found_and_the_published_point_is_near_it():
    X = np.array([[1.0, 0.0], [3.0, 0.0], [-1.0, 0.0]])
    gradients, inner, _ = boundary_gradients(DIFFERENCE, X, X, X[:, 0] > 0)
    np.testing.assert_allclose(gradients, [[1.0, 0.0]] * 3)
    np.testing.assert_allclose(inner, np.zeros((3, 2)), atol=1e-9)
    X = np.array([[4.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [-9.0, 0.0]])
    points = published_points(X, X[:, 0] > 0, np.arange(4))
    np.testing.assert_array_equal(points[:, 0], [1.0, 1.0, -1.0, -1.0])


@pytest.mark.parametrize("name", BOXES)
def test_rows_lie_in_their_own_box_and_the_other_box_has_the_other_label(name):
    problem = data.problem(name, "truth", 0, "clean")
    truth, X = problem.truth, problem.test.to_numpy()
    assert np.all((truth.low < X) & (truth.high >= X))
    inside = np.all((truth.low[:, None] < X) & (truth.high[:, None] >= X), axis=2)
    boxes, rows = np.nonzero(inside)
    np.testing.assert_array_equal(problem.y_test[boxes], problem.y_test[rows])
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
    own, other = seneca_rb.paths(tree, leaves, np.array([[0.0], [1.0], [2.0], [3.0]]))
    np.testing.assert_array_equal(leaves.label[own], [0, 1, 1, 0])
    rank = np.argsort(order)
    # each end breaks one split of the middle, so the nearer end is taken
    np.testing.assert_array_equal(rank[other], [1, 0, 2, 1])
    low, high = np.array([[0.0, -np.inf]]), np.array([[1.0, 2.0]])
    rows = np.array([[0.5, 0.0], [4.0, 0.0], [4.0, 6.0]])
    np.testing.assert_array_equal(seneca_rb.box_distances(rows, low, high)[:, 0], [0.0, 3.0, 5.0])


@pytest.fixture
def frame():
    jobs = pd.Categorical(["clerk", "cook", "clerk"], categories=["clerk", "cook", "smith"])
    return pd.DataFrame({"age": [20.0, 30.0, 40.0], "job": jobs, "flat": [1.0, 1.0, 1.0]})


def test_numbers_are_scaled_and_categories_get_a_column_each(frame):
    encoding = Encoding.fit(frame)
    assert encoding.columns == ("age", "job = clerk", "job = cook", "job = smith", "flat")
    np.testing.assert_array_equal(encoding.owner, [0, 1, 1, 1, 2])
    X, r = encoding.transform(frame), np.sqrt(1.5)
    np.testing.assert_allclose(X, [[-r, 1, 0, 0, 0], [0, 0, 1, 0, 0], [r, 1, 0, 0, 0]])
    text = frame.assign(job=["clerk", "cook", "baker"])
    np.testing.assert_array_equal(encoding.transform(text)[:, 1:4], [[1, 0, 0], [0, 1, 0], [0, 0, 0]])


def test_gaps_are_filled_from_training_rows_and_single_rows_are_for_training():
    words = pd.Categorical(["a", "b", "b", None], categories=["a", "b"])
    train = pd.DataFrame({"x": [1.0, 3.0, np.nan, 2.0], "stay": [0.0, 0.0, 5.0, 7.0], "word": words})
    test = train.iloc[[2, 3]].assign(x=[np.nan, 100.0], stay=[np.nan, 1.0])
    filled = real.fill_gaps(train, test, ("stay",))
    assert filled[0]["x"].tolist() == [1.0, 3.0, 2.0, 2.0]
    assert (filled[1]["x"].tolist(), filled[1]["stay"].tolist()) == ([2.0, 100.0], [0.0, 1.0])
    assert filled[0]["word"].tolist() == ["a", "b", "b", "b"]
    y = np.array([0] * 20 + [1] * 20 + [2])
    kept, apart = split(y, 0.2, 0)
    assert 40 in kept
    np.testing.assert_array_equal(np.bincount(y[apart]), [4, 4])
    names = ["Int'l Plan", "a b", "a-b", "b", "B"]
    assert real.safe_names(names) == ["Int_l_Plan", "a_b_1", "a_b_2", "b", "B"]


def test_without_the_folder_one_is_told_to_name_it(monkeypatch):
    monkeypatch.delenv("ILLUME_DATA", raising=False)
    with pytest.raises(SystemExit, match="ILLUME_DATA"):
        data.problem("breast", "xgb", 0, "clean")


@needs_data
@pytest.mark.parametrize("name", data.REAL)
def test_data_sets_have_the_shapes_of_the_papers_table(name):
    from benchmarks.evaluation import paper

    rows, wanted = real.split_table(name), paper.data()[name]
    encoding, counts = Encoding.fit(rows.train), np.bincount(np.concatenate([rows.y_train, rows.y_test]))
    found = (counts.sum(), len(encoding.columns), encoding.onehot.sum(), len(rows.classes))
    assert found == tuple(wanted[key] for key in "nmhc")
    shares = (counts.max() / counts.sum(), counts.min() / counts.sum())
    assert shares == pytest.approx((wanted["maj"], wanted["min"]), abs=0.00051)
    X = encoding.transform(rows.test)
    assert np.isfinite(X).all()
    features = encoding.owner[encoding.onehot]
    sums = [X[:, encoding.owner == feature].sum(axis=1) for feature in np.unique(features)]
    assert all(np.array_equal(total, np.ones(len(X))) for total in sums)


@needs_data
def test_real_problems_and_rankings_are_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("ILLUME_CACHE", str(tmp_path))
    problem = data.problem("ecoli", "forest", 0, "clean")
    assert problem.truth is None
    assert problem.P_test.shape == (len(problem.test), 8)
    np.testing.assert_array_equal(problem.frame_model.predict_proba(problem.test), problem.P_test)
    problem = data.problem("int2-3c", "forest", 1, "paper")
    np.testing.assert_array_equal(problem.truth.reference, [3, 3, 1, 0])
    assert (len(problem.train), len(problem.test), problem.X_train.shape[1]) == (800, 200, 4)


@pytest.fixture
def samples():
    """Three of four classes have training rows; the second has a single one."""
    X = np.random.default_rng(0).normal(size=(120, 3))
    y = np.where(X[:, 0] > 0, 3, 0)
    y[5] = 1
    return Samples(X[:80], y[:80], X[80:], y[80:], n_classes=4)


@pytest.mark.parametrize("name", SEARCHES)
def test_there_is_a_column_for_every_class(name, samples):
    known = SEARCHES[name]
    small = {key: 5 for key in ("n_estimators", "iterations") if key in known.settings[0]}
    model = AllClasses(known.make(0, **known.settings[0] | small), samples.n_classes, known.least)
    P = model.fit(samples.X_train, samples.y_train).predict_proba(samples.X_test)
    assert (P.shape, P.dtype) == ((40, 4), np.float64)
    assert not P[:, 2].any()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert np.mean(P.argmax(axis=1) == samples.y_test) > 0.6


def test_the_clean_protocol_never_uses_test_rows_and_the_paper_protocol_takes_the_best(samples, monkeypatch):
    other = Samples(samples.X_train, samples.y_train, samples.X_test, 3 - samples.y_test, 4)
    answers = [search("svm", 0, "clean", s).predict_proba(samples.X_test) for s in (samples, other)]
    np.testing.assert_array_equal(*answers)
    settings = ({"max_depth": 1, "n_estimators": 1, "max_features": 1}, {"n_estimators": 30})
    monkeypatch.setitem(SEARCHES, "forest", Search(SEARCHES["forest"].make, settings, "scikit-learn"))

    def score(model):
        return macro_f1(samples.y_test, model.predict_proba(samples.X_test).argmax(axis=1))

    models = [AllClasses(SEARCHES["forest"].make(0, **setting), 4) for setting in settings]
    scores = [score(model.fit(samples.X_train, samples.y_train)) for model in models]
    assert score(search("forest", 0, "paper", samples)) == max(scores)


def test_a_fitted_black_box_is_kept_for_the_same_rows(samples, tmp_path, monkeypatch):
    monkeypatch.setenv("ILLUME_CACHE", str(tmp_path))
    first = load_black_box("toy", "svm", 0, "clean", samples)
    (file,) = tmp_path.glob("toy-svm-0-clean-*.joblib")
    assert not list(tmp_path.glob("*.part"))
    monkeypatch.setattr(black_boxes, "search", lambda *_: "another model")
    again, X = load_black_box("toy", "svm", 0, "clean", samples), samples.X_test
    for other in (again, joblib.load(file)):
        np.testing.assert_array_equal(first.predict_proba(X), other.predict_proba(X))
    moved = Samples(samples.X_train + 1, samples.y_train, X, samples.y_test, 4)
    assert load_black_box("toy", "svm", 0, "clean", moved) == "another model"
    with pytest.raises(ValueError, match="choose from xgb"):
        load_black_box("toy", "oracle", 0, "clean", samples)
