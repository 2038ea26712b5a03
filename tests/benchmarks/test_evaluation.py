"""The paper's evaluation: plans, methods, selection, tables, figures and page."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from benchmarks.data import problem
from benchmarks.evaluation import paper, selection
from benchmarks.evaluation.paper import Column
from benchmarks.evaluation.plans import PLANS, QUICK, TABLES, USUAL, WHOLE, cells, result_file
from benchmarks.evaluation.scores import evaluate, original_units
from benchmarks.harness import key
from benchmarks.methods import outcome as outcomes
from benchmarks.methods import peers
from benchmarks.methods.library import attributions, bounds
from benchmarks.methods.published import InputSearch, Rows, inp

from illume import Explainer, SurrogateOptions
from illume.explanations.boxes import Boxes as InputBoxes
from illume.explanations.boxes import Layout
from illume.metrics import covered
from tests.benchmarks.lines import averaged, line, store

CS = "lr.slopes.cs"
PAPER = paper.tables()
WEIGHTS = (0.04, -0.02, 0.0, 0.03)


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_cells_each_once(table):
    for protocol in ("clean", "paper"):
        for scope in (QUICK, USUAL, WHOLE):
            found = cells(table, protocol, scope)
            assert len({key(cell, tuple(cell)) for cell in found}) == len(found) > 0
            assert {cell["protocol"] for cell in found} == {protocol}


def test_quick_cells_are_few_and_the_whole_grid_has_what_the_paper_tries():
    assert all(0 < len(cells(table, "clean", QUICK)) <= 40 for table in PLANS)
    found = cells("all", "paper", WHOLE)
    assert {cell["setting"]["k"] for cell in found if "k" in cell["setting"]} == {2, 4, 8, 16, 32}
    assert {cell["black_box"] for cell in found} == {"truth", "xgb", "lgb", "ctb"}
    assert all(cell in found for cell in cells("all", "paper"))
    files = {result_file(cell) for cell in found}
    assert files == {"seneca-rc", "seneca-rb", "rankings", "real-xgb", "real-lgb", "real-ctb"}


def test_the_printed_tables_are_whole():
    names = tuple(paper.data())
    detailed = [
        name for name in PAPER if name.startswith("a-") and name not in ("a-ranking", "a-correctness")
    ]
    assert len(names) == 18
    assert len(detailed) == 9
    assert all(panel.rows == names for name in detailed for panel in PAPER[name].panels)
    shape = {name: [len(panel.columns) for panel in table.panels] for name, table in PAPER.items()}
    assert shape["rq1-space"] == [6, 6, 6]
    assert shape["rq2-fi"] == shape["rq2-rules"] == [7]
    assert (shape["rq4-times"], shape["a-ranking"]) == ([3, 1], [7, 7, 7])
    for table in PAPER.values():
        for panel in table.panels:
            assert not np.isnan(panel.values).any()
            for column, accuracy in zip(panel.columns, panel.accuracy.T, strict=True):
                surrogate = column.method in ("paper", "lin", "inp") and not np.isnan(panel.accuracy).all()
                assert np.isnan(accuracy).any() != surrogate
    robustness, correctness = PAPER["rq3-fi"].panels[0], PAPER["rq2-fi"].panels[0]
    np.testing.assert_allclose(robustness.values[0], [0.959, 0.863, 0.494, 0.414, 0.978, 0.373])
    assert (correctness.values[0, 0], correctness.accuracy[0, 0]) == (0.588, 87.6)
    for summary, detail in ((0, 1), (1, 0)):  # kNN gain and feature preservation
        means = PAPER["a-space"].panels[detail].values.mean(axis=0)
        np.testing.assert_allclose(PAPER["rq1-space"].panels[summary].values[0], means, atol=0.001)


@pytest.fixture(scope="module")
def small():
    return problem("seneca-rb-4+0-0", "truth", 0, "clean")


def test_clean_validation_rows_are_training_rows_and_published_ones_are_test_rows(small):
    clean = Rows.from_problem(small)
    chosen = {tuple(row) for row in clean.material.validation.X}
    assert chosen <= {tuple(row) for row in small.X_train}
    assert not chosen & {tuple(row) for row in clean.material.training.X}
    as_published = problem("seneca-rb-4+0-0", "truth", 0, "paper")
    published = Rows.from_problem(as_published)
    np.testing.assert_array_equal(published.material.validation.X, published.test.X)
    np.testing.assert_array_equal(outcomes.explained_classes(small), small.P_test.argmax(1))
    assert set(outcomes.explained_classes(as_published)) == {1}


def test_inputs_are_searched_by_cosine_of_numbers_and_hamming_distance_of_categories():
    rng = np.random.default_rng(0)
    numbers, codes = rng.normal(size=(50, 3)), rng.integers(0, 4, 50)
    X, onehot = np.hstack([numbers, np.eye(4)[codes]]), np.array([False] * 3 + [True] * 4)
    zeros = np.zeros(7)
    layout = Layout(np.array([0, 1, 2, 3, 3, 3, 3]), onehot, zeros, zeros + 1, X.min(0), X.max(0))
    unit = numbers / np.linalg.norm(numbers, axis=1, keepdims=True)
    hamming = (X[:20, None, onehot] != X[None, 20:, onehot]).mean(2)
    distance = 3 / 7 * (1 - unit[:20] @ unit[20:].T) + 4 / 7 * hamming
    np.testing.assert_array_equal(InputSearch(layout, X[20:]).nearest(X[:20]), distance.argmin(1))


def test_categories_become_bounds():
    allowed = np.array([[True, True, False, False], [True, True, True, False]])
    boxes = InputBoxes(np.full((2, 4), -np.inf), np.full((2, 4), np.inf), allowed)
    boxes.low[0, 0] = -1.0
    found = outcomes.column_bounds(boxes, np.array([False, True, True, True]), np.array([0, 1, 1, 1]))
    np.testing.assert_array_equal(found.low, [[-1.0, 0.5, -np.inf, -np.inf], [-np.inf] * 4])
    np.testing.assert_array_equal(found.high, [[np.inf] * 4, [np.inf, np.inf, np.inf, 0.5]])


def test_rules_and_slopes_of_the_library_keep_their_meaning_on_columns(small):
    options = {"surrogate_options": SurrogateOptions(encoder="identity"), "verbose": False}
    options["contributions"] = "pullback"
    explainer = Explainer(small.frame_model, **options).fit(small.train)
    rules = explainer.rules(small.test.head(20))
    inside = covered(original_units(small, bounds(rules.bounds, small)), small.test.to_numpy(float))
    for rule, row in zip(rules, inside, strict=True):
        np.testing.assert_array_equal(rule.covers(small.test), row)
    found = explainer(small.test)
    slopes, contributions = attributions(found, small, outcomes.explained_classes(small))
    sign = np.where(small.P_test.argmax(1) == 1, 1.0, -1.0)[:, None]
    np.testing.assert_allclose(slopes, sign * found.slopes_per_unit * small.encoding.scale, rtol=1e-6)
    np.testing.assert_allclose(contributions, sign * found.values)


def test_rows_lie_in_their_own_rules(small):
    outcome, X = inp(small, {}, "cpu"), small.X_test
    assert ((outcome.rules.low <= X + 1e-9) & (outcome.rules.high >= X - 1e-9)).all()


def test_a_cell_has_figures_of_every_kind_that_its_truth_allows():
    common = {"black_box": "truth", "method": "inp", "setting": {}, "seed": 0, "protocol": "clean"}
    boxes = evaluate(common | {"data": "seneca-rb-4+0-0"})["metrics"]
    gradients = evaluate(common | {"data": "seneca-rc-4+0-0"})["metrics"]
    assert {"dt.rules.cplt", "dt.counterfactual_rules.cplt", "lr.slopes.local_fidelity"} <= boxes.keys()
    assert {CS, "lr.contributions.cs", "lr.contributions.infidelity"} <= gradients.keys()
    assert CS not in boxes
    assert gradients["lr.slopes.faithfulness_one_class"] == 0.0
    assert gradients["lr.slopes.robustness"] == 1.0  # a global surrogate has the same slopes everywhere


@dataclass(frozen=True)
class Linear:
    """A probability that is linear in the encoded row."""

    weights: tuple[float, ...]

    def predict_proba(self, X):
        p = np.clip(0.5 + X @ np.array(self.weights), 0.0, 1.0)
        return np.column_stack([1 - p, p])


@pytest.mark.filterwarnings("ignore")  # the packages' own
@pytest.mark.parametrize("name", ["lime", "shap"])
def test_other_packages_find_the_explanations_of_a_linear_model(small, name):
    pytest.importorskip(name)
    linear = replace(small, model=Linear(WEIGHTS))
    sign = np.where(outcomes.explained_classes(linear) == 1, 1.0, -1.0)[:5, None]
    found = getattr(peers, name)(linear, {"samples": 1000, "rows": 5}, "cpu")
    if name == "lime":
        np.testing.assert_allclose(found.slopes, sign * WEIGHTS, atol=2e-3)
        np.testing.assert_allclose(found.slopes_of_one, np.tile(WEIGHTS, (5, 1)), atol=2e-3)
    else:
        means = found.contributions_of_one - linear.X_test[:5] * WEIGHTS  # minus the background's share
        np.testing.assert_allclose(means, np.broadcast_to(means[0], means.shape), atol=1e-8)
        np.testing.assert_allclose(found.contributions, sign * found.contributions_of_one, atol=1e-8)


def test_embeddings_keep_distances_and_the_gradient_at_the_row_is_that_of_the_score(small):
    train, test = peers.pca(small, {"k": 4}, "cpu").latents
    distance = np.linalg.norm(small.X_test[0] - small.X_train[0])
    assert np.linalg.norm(test[0] - train[0]) == pytest.approx(distance)
    rc = problem("seneca-rc-4+0-0", "truth", 0, "paper")
    slopes = peers.gradient(rc, {}, "cpu").slopes / rc.encoding.scale
    rows, step = rc.test.to_numpy(float)[:50], 1e-6
    score = rc.model.classifier.expression.score
    moved = [score(rows + step * np.eye(4)[j]) - score(rows - step * np.eye(4)[j]) for j in range(4)]
    near = np.column_stack(moved) / (2 * step)
    smooth = np.abs(near).max(1) < 1e3  # near a pole a difference is no derivative
    np.testing.assert_allclose(slopes[:50][smooth], near[smooth], rtol=1e-3, atol=1e-4)


def ill(k, value, validation, protocol="clean", **others):
    metrics = {CS: value, "lr.validation": validation, "lr.agreement": 0.9}
    setting = {"objective": "co", "k": k} | others
    return line(method="paper", setting=setting, metrics=metrics, protocol=protocol)


@pytest.mark.parametrize(("protocol", "value"), [("paper", 0.8), ("clean", 0.3)])
def test_paper_takes_the_best_figure_and_clean_the_best_validated(tmp_path, protocol, value):
    found = averaged(tmp_path, [ill(2, 0.3, 0.95, protocol), ill(8, 0.8, 0.90, protocol)])
    mine = selection.column_cells(found, protocol, Column.parse("ill (co)"), CS)
    chosen = selection.choose(mine, protocol, CS).loc[("breast", "xgb")]
    assert (chosen["value"], chosen["accuracy"]) == (value, 0.9)


def test_ties_go_to_the_fewest_latents_and_seeds_are_averaged_first(tmp_path):
    found = averaged(tmp_path / "ties", [ill(32, 0.1, 0.9), ill(8, 0.2, 0.9)])
    assert selection.choose(found, "clean", CS)["value"].tolist() == [0.2]
    # seed 1 alone would choose k = 2; both together choose k = 8
    values = {(2, 0): 0.0, (2, 1): 0.9, (8, 0): 0.6, (8, 1): 0.6}
    lines = [ill(k, value, 0.5, "paper") | {"seed": seed} for (k, seed), value in values.items()]
    found = averaged(tmp_path / "seeds", lines)
    assert found["seeds"].tolist() == [2, 2]
    assert selection.choose(found, "paper", CS)["value"].tolist() == pytest.approx([0.6])


def test_columns_take_neither_other_objectives_nor_variants_nor_fewer_training_rows(tmp_path):
    lines = [ill(8, 0.1, 0.5), ill(8, 0.2, 0.5, variant="uc"), ill(8, 0.3, 0.5, train_rows=64)]
    found = averaged(tmp_path, lines)
    expected = {"ill (.)": [], "ill (co)": [0.1], "ill-uc (co)": [0.2], "ill": [0.1]}
    for label, values in expected.items():
        mine = selection.column_cells(found, "clean", Column.parse(label), CS)
        assert mine[CS].tolist() == values


def test_without_validation_most_samples_or_the_mean_are_taken(tmp_path):
    values = {("lime", "samples"): {100: 0.9, 5000: 0.4, 300: 0.7}, ("pca", "k"): {2: 0.2, 8: 0.4}}
    lines = [
        line(method=method, setting={name: n}, metrics={CS: value})
        for (method, name), pairs in values.items()
        for n, value in pairs.items()
    ]
    found = averaged(tmp_path, lines)
    for method, value in (("lime", 0.4), ("pca", 0.3)):
        mine = selection.column_cells(found, "clean", Column(method, method), CS)
        assert selection.choose(mine, "clean", CS)["value"].tolist() == pytest.approx([value])


def test_summaries_over_black_boxes_and_their_deviations(tmp_path):
    lines = [line(black_box=box, metrics={CS: value}) for box, value in (("xgb", 0.2), ("lgb", 0.6))]
    chosen = selection.choose(averaged(tmp_path / "boxes", lines), "clean", CS)
    assert selection.per_data(chosen, "paper", CS).to_dict() == {"breast": 0.6}
    assert selection.per_data(chosen, "clean", CS).to_dict() == pytest.approx({"breast": 0.4})
    # breast: .1 .2 .6 .7 -> median .4, deviations .3 .2 .2 .3 -> .25; sonar: .5 .7 -> .1
    values = {("breast", "xgb"): (0.1, 0.2), ("breast", "lgb"): (0.6, 0.7), ("sonar", "xgb"): (0.5, 0.7)}
    lines = [
        line(data, box, "lime", {"samples": i}, metrics={CS: value})
        for (data, box), pair in values.items()
        for i, value in enumerate(pair)
    ]
    assert selection.mad(averaged(tmp_path / "mad", lines), CS) == pytest.approx(0.175)


def test_the_last_line_of_a_cell_counts_and_less_infidelity_is_better(tmp_path):
    lines = [line(error="ValueError: no", metrics={}), line(metrics={CS: 0.5})]
    found = selection.read(store(tmp_path / "last", lines))
    assert found["error"].isna().all()
    assert found[CS].tolist() == [0.5]
    name = "lr.contributions.infidelity"
    lines = [line(method="lime", setting={"samples": n}, metrics={name: n / 100}) for n in (10, 20)]
    found = averaged(tmp_path / "less", [one | {"protocol": "paper"} for one in lines])
    assert selection.choose(found, "paper", name)["value"].tolist() == [0.1]
