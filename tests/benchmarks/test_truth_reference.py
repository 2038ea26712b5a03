"""Reference Shapley values: enumeration against formulas, walks and trees against enumeration."""

import numpy as np
import pytest
from benchmarks.truth import reference as references
from benchmarks.truth import trees
from benchmarks.truth.case import Case
from benchmarks.truth.enumeration import enumerated
from benchmarks.truth.log_odds import model_log_odds
from benchmarks.truth.reference import computed, reference
from benchmarks.truth.walks import Walker, walked

from tests.benchmarks.truth_cases import case, problem


def formula(X):
    """Two outputs: a product with a number beside it, and a sum."""
    return np.column_stack([X[:, 0] * X[:, 1] + 3 * X[:, 2], X.sum(axis=1)])


X = np.array([[2.0, 3.0, 1.0], [-1.0, 0.5, 4.0]])
BACKGROUND = np.array([[0.0, 0.0, 0.0], [1.0, -1.0, 2.0]])


def by_hand():
    """A product x y over one row (a, b) gives (x - a)(y + b) / 2 to x and (y - b)(x + a) / 2 to y."""
    values = np.zeros((2, 3, 2))
    for i, (x, y, z) in enumerate(X):
        for a, b, c in BACKGROUND:
            values[i, :, 0] += np.array([(x - a) * (y + b), (y - b) * (x + a), 6 * (z - c)]) / 2
            values[i, :, 1] += [x - a, y - b, z - c]
    return values / len(BACKGROUND)


def test_enumeration_gives_the_shapley_values_of_a_formula():
    np.testing.assert_allclose(enumerated(formula, X, BACKGROUND), by_hand(), atol=1e-12)


def test_walks_come_to_the_same_values_and_say_how_noisy_they_are():
    found = walked(formula, X, BACKGROUND, noise=1e-4, most_asks=10**6)
    np.testing.assert_allclose(found.values, by_hand(), atol=0.2)
    assert found.noise <= 1e-4
    # of a sum every walk says the same, once each half has met the whole background
    np.testing.assert_allclose(found.first[:, :, 1], by_hand()[:, :, 1], atol=1e-12)


def test_walks_end_when_no_more_may_be_asked():
    rng = np.random.default_rng(0)
    rows, others = rng.normal(size=(5, 6)), rng.normal(size=(20, 6))
    found = walked(lambda X: np.prod(X, axis=1, keepdims=True), rows, others, noise=0.0, most_asks=5000)
    assert 0 < found.asks <= 5000
    assert found.noise > 0


def test_asks_are_counted_as_they_are_made():
    asked = []

    def ask(X):
        asked.append(len(X))
        return formula(X)

    walker = Walker(ask, X, BACKGROUND)
    walker.add(3)
    assert walker.halves().asks == sum(asked)


def test_a_case_is_coded_with_one_number_per_feature():
    small = case()
    assert small.X.shape == (10, 3)
    encoded = small.problem.encoding.transform(small.test)
    np.testing.assert_allclose(small.coding.encode(small.X), encoded)
    assert small.coding.categorical == [2]
    np.testing.assert_allclose(small.frame_model.predict_proba(small.test), small.P)
    assert small.counted.asks == 10


def test_log_odds_of_more_classes_are_centred():
    P = np.array([[0.2, 0.3, 0.5], [0.0, 0.5, 0.5]])
    found = model_log_odds(None, P)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(found[0, 1] - found[0, 0], np.log(1.5))
    assert np.isfinite(found).all()


def test_a_reference_adds_up_and_is_computed_once(tmp_path, monkeypatch):
    monkeypatch.setenv("ILLUME_CACHE", str(tmp_path))
    small = case()
    first = reference(small)
    assert first.how == "enumeration"
    assert first.halves.noise == 0
    gain = small.log_odds(small.X) - small.log_odds(small.B).mean(axis=0)
    np.testing.assert_allclose(first.values.sum(axis=1), gain)
    monkeypatch.setattr(references, "computed", None)
    np.testing.assert_array_equal(reference(small).values, first.values)


def test_where_sets_are_too_many_rows_are_walked():
    small = case(4)
    found = computed(small, most_asks=1500)
    assert found.how == "walks"
    assert found.facts()["reference_noise"] > 0


def test_trees_are_read_where_their_margins_are_the_log_odds():
    xgboost = pytest.importorskip("xgboost")
    pytest.importorskip("shap")
    from benchmarks.black_boxes import AllClasses
    from benchmarks.data.problem import Encoding, Problem

    toy = problem()
    train, test = toy.train[["x", "y"]], toy.test[["x", "y"]]
    encoding = Encoding.fit(train)
    y = (train["x"] + train["y"] ** 2 > 1.5).astype(int).to_numpy()
    model = AllClasses(xgboost.XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1), 2)
    model.fit(encoding.transform(train), y)
    boosted = Case(Problem("toy", "xgb", 0, "clean", train, test, y, y, ("0", "1"), encoding, model), 5)
    found = trees.exact(boosted)
    np.testing.assert_allclose(found, enumerated(boosted.log_odds, boosted.X, boosted.B), atol=1e-4)
    assert computed(boosted).how == "trees"
    assert trees.exact(case()) is None
