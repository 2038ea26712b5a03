"""The paper's evaluation: plans, methods, selection, tables, figures and page."""

import csv
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from benchmarks.data import problem
from benchmarks.evaluation import figures, page, paper, ranks, selection, tables
from benchmarks.evaluation.paper import Column
from benchmarks.evaluation.plans import PLANS, QUICK, TABLES, USUAL, WHOLE, cells, result_file
from benchmarks.evaluation.scores import evaluate, original_units
from benchmarks.harness import key
from benchmarks.markup import Figure, Grid, figure_text, grid_marks, grid_text, rank_marks
from benchmarks.methods import outcome as outcomes
from benchmarks.methods import peers
from benchmarks.methods.library import attributions, bounds
from benchmarks.methods.published import InputSearch, Rows, inp

from illume import Explainer, SurrogateOptions
from illume.explanations.boxes import Boxes as InputBoxes
from illume.explanations.boxes import Layout
from illume.metrics import covered
from tests.benchmarks.lines import line, store

CS = "lr.slopes.cs"
RULES = "dt.rules.robustness"
DATA = ("breast", "sonar", "home", "wine", "yeast", "spam")
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


def averaged(tmp_path, lines):
    return selection.cells(selection.read(store(tmp_path, lines)))


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


def test_the_best_is_bold_and_the_second_underlined_and_ties_share():
    some = [Figure(0.5001), Figure(0.9), Figure(0.5), Figure(), Figure(0.1)]
    assert rank_marks(some) == ["u", "b", "u", "", ""]
    assert rank_marks(some, True) == ["u", "", "u", "", "b"]
    assert rank_marks([Figure(0.3), Figure()]) == ["", ""]
    assert rank_marks(some, None) == [""] * 5
    fewer = [Figure(0.9, count=3), Figure(0.5, count=5), Figure(0.4, count=5)]
    assert rank_marks(fewer) == ["", "b", "u"]
    assert figure_text(fewer[0], full=5) == ".900 [3]"
    best, mad = {"a": 0.9, "b": 0.8, "c": 0.1}, {"a": 0.3, "b": 0.2, "c": 0.0}
    ours = {name: [Figure(best[name]), Figure(mad[name])] for name in best}
    grid = Grid("", ("best", "mad"), ours, summary=True)
    assert grid_marks(grid, ours) == {"a": ["b", "u"], "b": ["u", "b"], "c": ["", ""]}
    grid = Grid("", ("x",), {"a": [Figure()]}, {"a": [Figure(0.5)]})
    assert grid_text(grid).splitlines()[-1] == "| x | – | .500 |"


@pytest.fixture
def written(tmp_path):
    """Write the tables of some lines and return what reads the rows below a title, or all text."""

    def write(lines):
        tables.write(store(tmp_path, lines), tmp_path / "out")

        def read(name, title=None):
            text = (tmp_path / "out" / f"{name}.md").read_text()
            if title is None:
                return text
            body = text.split(f"**{title}**")[1].split("\n\n")[1]
            table = [[part.strip() for part in row.strip("|").split("|")] for row in body.splitlines()]
            return {row[0]: dict(zip(table[0][1:], row[1:], strict=True)) for row in table[2:]}

        return read

    return write


def test_a_summary_is_the_mean_over_data_sets_of_the_validated_setting(written, tmp_path):
    def one(data, k, value, validation):
        metrics = {"lr.slopes.robustness": value, "lr.validation": validation}
        return line(data, "xgb", "paper", {"objective": "co", "k": k}, metrics=metrics)

    inp = [line(metrics={"lr.slopes.faithfulness": 0.3})]
    read = written([one("breast", 2, 0.9, 0.5), one("breast", 8, 0.4, 0.6), one("sonar", 8, 0.6, 0.6), *inp])
    found = read("rq3-fi-clean", "Robustness of slopes")
    assert found["chosen"]["ill (co)"] == ".500"
    assert found["chosen"]["illume"] == found["chosen"]["lime"] == "–"
    assert found["mad"]["ill (co)"] == ".250"  # of breast alone: sonar has one figure
    assert found["chosen"]["paper: lime"] == "**.978**"
    assert found["chosen"]["paper: ill (co)"] == "<u>.959</u>"
    assert read("rq3-fi-clean", "Faithfulness of slopes")["chosen"]["inp"] == ".300"
    assert "4 cells on 2 data sets" in read("rq3-fi-clean")
    assert not list((tmp_path / "out").glob("*-paper.md"))


def test_the_paper_protocol_takes_slopes_of_some_and_contributions_of_others(written):
    def one(method, setting, kind, value):
        metrics = {f"lr.{kind}.robustness": value}
        return line("breast", "xgb", method, setting, metrics=metrics, protocol="paper")

    lines = [one("lime", {"samples": n}, "slopes", value) for n, value in ((100, 0.7), (5000, 0.5))]
    read = written([*lines, one("shap", {}, "contributions", 0.4), one("inp", {}, "slopes", 0.9)])
    found = read("rq3-fi-paper", "Robustness")["best"]
    assert (found["lime"], found["shap"], found["inp"]) == ("**.700**", "<u>.400</u>", "–")


def test_seneca_is_a_mean_over_problems_with_accuracy_in_parentheses(written, tmp_path):
    metrics = [{"dt.rules.cplt": value, "dt.agreement": 0.7} for value in (0.2, 0.4)]
    read = written([line(f"seneca-rb-4+0-{i}", "truth", metrics=one) for i, one in enumerate(metrics)])
    found = read("rq2-rules-clean", "Decision rule correctness")["inp"]
    assert (found["4+0"], found["paper: 4+0"], found["8+0"]) == (".300 (70.0)", "<u>.545</u> (70.5)", "–")
    with (tmp_path / "out" / "rq2-rules-clean.csv").open() as file:
        first = next(row for row in csv.DictReader(file) if row["method"] == "inp")
    assert (first["case"], first["ours"], first["paper"], first["cells"]) == ("4+0", "0.3", "0.545", "2")


def test_failed_cells_fewer_rows_and_machines_are_named_under_the_table(written):
    error = "MemoryError: too much (a.py:1)"
    lines = [line(data, "lgb", "anchor", error=error) for data in ("breast", "sonar")]
    times = {"fit_s": 50.0, "explain_s": 10.24, "rows": 20}
    lines += [line("home", "lgb", "lore", metrics={RULES: 0.2}, times=times)]
    for k, cs, fit_s in ((2, 0.1, 5.0), (8, 0.6, 50.0)):
        others = {"metrics": {CS: cs, "lr.agreement": 0.8}, "protocol": "paper"}
        others["times"] = {"fit_s": fit_s, "explain_s": 10.24, "rows": 1024}
        lines += [line("seneca-rc-4+0-0", "truth", "paper", {"objective": "co", "k": k}, **others)]
    read = written(lines)
    text = read("a-rules-lgb-clean")
    assert "Failed: 2 (anchor 2 × `MemoryError: too much (a.py:1)`)" in text
    assert "lore 20 (1 runs)" in text
    assert read("rq4-times-paper", "Training (s)")["ill (co)"]["4+0"] == "50.0"  # of the most correct
    assert read("rq4-times-paper", "Explaining, per row (s)")["ill (co)"]["4+0"] == "1.0e-2"
    assert "ill (co): a machine" in read("rq4-times-paper")


def test_clean_tables_keep_slopes_and_contributions_apart(written):
    metrics = {"lr.slopes.pgi": 0.1, "lr.contributions.pgi": 0.3, "lr.slopes.pgu": 0.2, "lr.agreement": 0.9}
    read = written([line(method="illume", metrics=metrics)])
    assert "| illume | – | – | – | – | – | – | .100 | .200 | .900 |" in read("slopes-clean")
    assert "| illume | – | – | – | – | – | – | .300 | – | .900 |" in read("contributions-clean")
    assert "shap" not in read("slopes-clean").split("\n\n")[1]


def test_the_page_lists_what_was_run_and_what_was_not(tmp_path, capsys):
    metrics = {RULES: 0.4, "dt.agreement": 0.9}
    times = {"fit_s": 1800.0, "explain_s": 1800.0, "rows": 114}
    page.write_page(store(tmp_path, [line(metrics=metrics, times=times)]), tmp_path / "results.md")
    text = (tmp_path / "results.md").read_text()
    assert "1 runs, 0 of them failed, on 1 data sets; 1.0 hours in all." in text
    assert "- RQ1: quality of the latent space, protocol clean: the whole table" in text
    assert text.index("Tables, protocol clean") < text.index("What was not run")
    assert "## Speed" not in text
    assert tables.write(tmp_path / "none", tmp_path / "out", ("paper",)) == []
    assert "no cell was run" in capsys.readouterr().out
    page.write_page(tmp_path / "none", tmp_path / "results.md")
    assert "Nothing has been run yet." in (tmp_path / "results.md").read_text()


def rule_cells(without=()):
    level = {"inp": 0.3, "lore": 0.2, "illume": 0.6, "anchor": 0.1}
    return [
        line(data, "xgb", method, metrics={RULES: value + 0.01 * i})
        for i, data in enumerate(DATA)
        for method, value in level.items()
        if (method, data) not in without
    ]


def ranked(folder, lines):
    columns = [Column(name, name) for name in ("illume", "inp", "lore", "anchor")]
    return ranks.ranking(averaged(folder, lines), "clean", "Robustness", dict.fromkeys(columns, RULES))


def test_ranks_and_their_significance(tmp_path):
    found = ranked(tmp_path / "all", rule_cells())
    assert found.ranks().to_dict() == {"illume": 1.0, "inp": 2.0, "lore": 3.0, "anchor": 4.0}
    # all ranks alike: chi² is n (k - 1) = 18 on 3 degrees of freedom
    assert found.friedman() == pytest.approx(0.000440, abs=1e-6)
    found = ranked(tmp_path / "some", rule_cells(without={("anchor", "wine")}))
    assert list(found.values.columns) == ["illume", "inp", "lore"]
    assert "left out: anchor (5 of 6 cases)" in ranks.heading(found)
    values = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "c": [5.0, 6.0]})
    assert [ranks.Ranking("", values, less, {}).ranks()["a"] for less in (True, False)] == [1.0, 3.0]


def test_figures_are_drawn_where_there_are_cells(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert figures.draw(tmp_path / "none", tmp_path / "out", ("clean",)) == []
    assert "scaling (clean): cells are missing" in capsys.readouterr().out
    place, metric = ("seneca-rc-4+0-0", "truth", "illume"), {CS: 0.2, "lr.validation": 0.9}
    times = {"fit_s": 10.0, "explain_s": 1.024, "rows": 1024}
    lines = [line(*place, {"train_rows": 64}, metrics=metric), line(*place, metrics=metric, times=times)]
    lines += [line("seneca-rc-4+0-0", "truth", "inp", metrics=metric)]  # was never run with fewer rows
    found = averaged(tmp_path, lines)
    (ax,) = figures.scaling(found, "clean").axes
    assert [list(drawn.get_xydata()[:, 0]) for drawn in ax.lines] == [[64.0, 1024.0]]
    drawn = figures.times(found, "clean").axes[0].lines[0]
    assert list(drawn.get_ydata()) == pytest.approx([10.1, 11.0, 20.0])
    pytest.importorskip("scikit_posthocs")
    names = {path.name for path in figures.draw(store(tmp_path, rule_cells()), tmp_path / "out", ("clean",))}
    assert {"cd-rules-clean.png", "cd-rules-clean.svg"} <= names
