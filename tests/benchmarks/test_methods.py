import numpy as np
import pytest
from benchmarks.cells import Cell
from benchmarks.data import problem
from benchmarks.evaluation import evaluate, in_own_units
from benchmarks.methods.default import attributions, bounds
from benchmarks.methods.outcome import by_feature, column_bounds, explained_classes, of_class
from benchmarks.methods.surrogates import InputSearch, Rows, inp

from illume import Explainer, SurrogateOptions
from illume.explanations.boxes import Boxes as InputBoxes
from illume.explanations.layout import Layout
from illume.metrics import covered

GLOBAL = {"encoder": "identity", "contributions": "pullback", "verbose": False}


@pytest.fixture(scope="module")
def small():
    return problem("seneca-rb-4+0-0", "truth", 0, "clean")


def test_clean_rows_that_choose_are_training_rows_and_published_ones_are_test_rows(small):
    clean = Rows.of(small)
    chosen = {tuple(row) for row in clean.material.validation.X}
    assert chosen <= {tuple(row) for row in small.X_train}
    assert not chosen & {tuple(row) for row in clean.material.training.X}
    published = Rows.of(problem("seneca-rb-4+0-0", "truth", 0, "paper"))
    np.testing.assert_array_equal(published.material.validation.X, published.test.X)


def test_inputs_are_searched_by_cosine_of_numbers_and_hamming_distance_of_categories():
    rng = np.random.default_rng(0)
    numbers, codes = rng.normal(size=(50, 3)), rng.integers(0, 4, 50)
    X = np.hstack([numbers, np.eye(4)[codes]])
    onehot = np.array([False] * 3 + [True] * 4)
    zeros = np.zeros(7)
    layout = Layout(np.array([0, 1, 2, 3, 3, 3, 3]), onehot, zeros, zeros + 1, X.min(0), X.max(0))
    unit = numbers / np.linalg.norm(numbers, axis=1, keepdims=True)
    hamming = (X[:20, None, onehot] != X[None, 20:, onehot]).mean(2)
    distance = 3 / 7 * (1 - unit[:20] @ unit[20:].T) + 4 / 7 * hamming
    np.testing.assert_array_equal(InputSearch(layout, X[20:]).nearest(X[:20]), distance.argmin(1))


def test_the_explained_class_is_the_predicted_one_or_the_published_one(small):
    np.testing.assert_array_equal(explained_classes(small), small.P_test.argmax(1))
    assert set(explained_classes(problem("seneca-rb-4+0-0", "truth", 0, "paper"))) == {1}
    values = np.array([[[1.0, 2.0]], [[3.0, 4.0]]])
    np.testing.assert_array_equal(of_class(values, np.array([0, 1])), [[-1.0, -2.0], [3.0, 4.0]])


def test_columns_of_a_feature_are_added_up_and_categories_become_bounds():
    np.testing.assert_array_equal(by_feature(np.array([[1.0, 2.0, 3.0]]), np.array([0, 1, 1])), [[1.0, 5.0]])
    allowed = np.array([[True, True, False, False], [True, True, True, False]])
    boxes = InputBoxes(np.full((2, 4), -np.inf), np.full((2, 4), np.inf), allowed)
    boxes.low[0, 0] = -1.0
    found = column_bounds(boxes, np.array([False, True, True, True]), np.array([0, 1, 1, 1]))
    np.testing.assert_array_equal(found.low, [[-1.0, 0.5, -np.inf, -np.inf], [-np.inf] * 4])
    np.testing.assert_array_equal(found.high, [[np.inf] * 4, [np.inf, np.inf, np.inf, 0.5]])


def test_rules_of_the_library_cover_the_same_rows_as_bounds_on_columns(small):
    explainer = Explainer(
        small.frame_model,
        contributions="pullback",
        verbose=False,
        surrogate_options=SurrogateOptions(encoder="identity"),
    ).fit(small.train)
    some = small.test.head(20)
    rules = explainer.rules(some)
    inside = covered(in_own_units(small, bounds(rules.bounds, small)), small.test.to_numpy(float))
    for rule, row in zip(rules, inside, strict=True):
        np.testing.assert_array_equal(rule.covers(small.test), row)


def test_slopes_come_per_column_in_units_of_the_encoded_rows(small):
    explainer = Explainer(
        small.frame_model,
        contributions="pullback",
        verbose=False,
        surrogate_options=SurrogateOptions(encoder="identity"),
    ).fit(small.train)
    found = explainer(small.test)
    slopes, contributions = attributions(found, small, explained_classes(small))
    sign = np.where(small.P_test.argmax(1) == 1, 1.0, -1.0)[:, None]
    np.testing.assert_allclose(slopes, sign * found.slopes_per_unit * small.encoding.scale, rtol=1e-6)
    np.testing.assert_allclose(contributions, sign * found.values)


def test_rows_lie_in_their_own_rules(small):
    outcome = inp(small, {}, "cpu")
    X = small.X_test
    inside = (outcome.rules.low <= X + 1e-9) & (outcome.rules.high >= X - 1e-9)
    assert inside.all()


def test_a_cell_has_figures_of_every_kind_that_its_truth_allows():
    boxes = evaluate(Cell("seneca-rb-4+0-0", "truth", "inp"))["metrics"]
    gradients = evaluate(Cell("seneca-rc-4+0-0", "truth", "inp"))["metrics"]
    assert {"dt.rules.cplt", "dt.counterfactual_rules.cplt", "lr.slopes.local_fidelity"} <= boxes.keys()
    assert {"lr.slopes.cs", "lr.contributions.cs", "lr.contributions.infidelity"} <= gradients.keys()
    assert "lr.slopes.cs" not in boxes
    assert gradients["lr.slopes.faithfulness_one_class"] == 0.0
    assert gradients["lr.slopes.robustness"] == 1.0  # a global surrogate has the same slopes everywhere
