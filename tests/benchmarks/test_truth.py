"""Truth: reference Shapley values, scores, methods, tables and figures; slow models and busy machines."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from benchmarks.black_boxes import AllClasses
from benchmarks.children import Answer
from benchmarks.data.problem import Encoding, Problem
from benchmarks.harness import NotApplicableError, measured, run
from benchmarks.markup import write_tables
from benchmarks.truth import cells, methods, reference
from benchmarks.truth.case import Case, Coding, log_odds
from benchmarks.truth.cells import DEVELOPMENT, HELD_OUT, Bench, explain_rows, select_data, truth
from benchmarks.truth.methods import Ready, Shares, share_budget
from benchmarks.truth.page import SERIES, Lines, curve, draw, median_queries, tables
from benchmarks.truth.reference import Reference, Walker, compute_reference, enumerate_sets, walk

from benchmarks import busy, slow
from tests.benchmarks.lines import write


class Logistic:
    """Log-odds of the encoded columns: a number, a product of two, and a category of three levels."""

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-(X[:, 0] + X[:, 0] * X[:, 1] + X[:, 2:5] @ [1.0, 0.0, -1.0])))
        return np.column_stack([1 - p, p])


def frame(n, rng):
    levels = pd.Categorical.from_codes(rng.integers(3, size=n), ["a", "b", "c"])
    return pd.DataFrame({"x": rng.normal(1, 2, n), "y": rng.normal(size=n), "level": levels})


def toy_problem():
    rng = np.random.default_rng(0)
    train, test = frame(60, rng), frame(12, rng)
    labels = np.zeros(60, dtype=int), np.zeros(12, dtype=int)
    known = (train, test, *labels, ("0", "1"), Encoding.fit(train), Logistic())
    return Problem("toy", "made", 0, "clean", *known)


class Known:
    """An explainer that enumerates; features that the model does not read get nothing."""

    def __init__(self, model, *, contributions, effort, background=None, **options):
        self.model = model
        self.background = toy_problem().train if background is None else background
        self.bias = 0.5 if contributions == "pullback" else 0.0
        model = SimpleNamespace(scale=log_odds)
        self.fitted_ = SimpleNamespace(twin=SimpleNamespace(exact=False, model=model))

    def fit(self, X):
        self.model.predict_proba(X)
        return self

    def __call__(self, X, refine=0):
        coding, read = Coding(self.model.encoding), list(self.model.encoding.features)

        def predict(codes):
            return log_odds(self.model.model.predict_proba(coding.encode(codes)))

        found = enumerate_sets(predict, coding.codes(X[read]), coding.codes(self.background[read]))[:, :, 0]
        values = np.pad(found, ((0, 0), (0, X.shape[1] - len(read)))) + self.bias
        return SimpleNamespace(values=values, standard_errors=np.full(values.shape, 1e-6))


@pytest.fixture
def bench(monkeypatch, tmp_path):
    monkeypatch.setenv("ILLUME_CACHE", str(tmp_path))
    monkeypatch.setattr(methods, "Explainer", Known)
    monkeypatch.setattr(cells, "MANY_ROWS", 100)
    return Bench("toy", "made", budget_s=1.0, case=Case(toy_problem(), 10))


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


def test_enumeration_and_walks_give_the_shapley_values_of_a_formula():
    np.testing.assert_allclose(enumerate_sets(formula, X, BACKGROUND), by_hand(), atol=1e-12)
    found = walk(formula, X, BACKGROUND, noise=1e-4, most_queries=10**6)
    np.testing.assert_allclose(found.values, by_hand(), atol=0.2)
    assert found.noise <= 1e-4
    # every walk gives the same for a sum, once each half has used the whole background
    np.testing.assert_allclose(found.first[:, :, 1], by_hand()[:, :, 1], atol=1e-12)


def test_walks_count_their_queries_and_end_when_there_are_no_more():
    asked = []
    walker = Walker(lambda X: asked.append(len(X)) or formula(X), X, BACKGROUND)
    walker.add(3)
    assert walker.reference().queries == sum(asked)
    rows, others = (np.random.default_rng(0).normal(size=(n, 6)) for n in (5, 20))
    found = walk(lambda X: np.prod(X, axis=1, keepdims=True), rows, others, noise=0.0, most_queries=5000)
    assert 0 < found.queries <= 5000
    assert found.noise > 0


def test_a_case_is_coded_with_one_number_per_feature():
    small = Case(toy_problem(), 10)
    np.testing.assert_allclose(small.coding.encode(small.X), small.problem.encoding.transform(small.test))
    assert (small.X.shape, small.coding.categorical) == ((10, 3), [2])
    np.testing.assert_allclose(small.frame_model.predict_proba(small.test), small.P)
    assert small.counting.queries == 10
    P = np.array([[0.2, 0.3, 0.5], [0.0, 0.5, 0.5]])
    found = log_odds(P)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(found[0, 1] - found[0, 0], np.log(1.5))


def test_a_reference_adds_up_and_is_computed_once(tmp_path, monkeypatch):
    monkeypatch.setenv("ILLUME_CACHE", str(tmp_path))
    small = Case(toy_problem(), 10)
    first = reference.load_reference(small)
    assert (first.how, first.noise) == ("enumeration", 0)
    gain = small.log_odds(small.X) - small.log_odds(small.B).mean(axis=0)
    np.testing.assert_allclose(first.values.sum(axis=1), gain)
    monkeypatch.setattr(reference, "compute_reference", None)
    np.testing.assert_array_equal(reference.load_reference(small).values, first.values)
    walked = compute_reference(Case(toy_problem(), 4), most_queries=1500)
    assert walked.how == "walks"
    assert walked.facts()["reference_noise"] > 0


def test_trees_are_read_where_their_margins_are_the_log_odds():
    xgboost = pytest.importorskip("xgboost")
    pytest.importorskip("shap")
    toy = toy_problem()
    train, test = toy.train[["x", "y"]], toy.test[["x", "y"]]
    encoding, y = Encoding.fit(train), (train["x"] + train["y"] ** 2 > 1.5).astype(int).to_numpy()
    model = AllClasses(xgboost.XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1), 2)
    known = (train, test, y, y, ("0", "1"), encoding, model.fit(encoding.transform(train), y))
    boosted = Case(Problem("toy", "xgb", 0, "clean", *known), 5)
    found = compute_reference(boosted)
    assert found.how == "trees"
    expected = enumerate_sets(boosted.log_odds, boosted.X, boosted.B)
    np.testing.assert_allclose(found.values, expected, atol=1e-4)


def test_errors_are_0_for_the_reference_itself_and_its_noise_is_taken_out():
    truth = np.array([[[1.0], [0.0]], [[3.0], [2.0]]])
    right = reference.errors(truth, Reference(truth, truth))
    assert right == {"relative_error": 0.0, "r2": 1.0, "r2_unbiased": 1.0, "r2_scaled": 1.0}
    half = reference.errors(truth / 2, Reference(truth, truth))
    assert (half["relative_error"], half["r2"], half["r2_scaled"]) == (0.25, 1 - 3.5 / 4, 1.0)
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(2000, 5, 1))
    halves = (truth + rng.normal(0, 0.5, truth.shape) for _ in range(2))
    found = reference.errors(truth, Reference(*halves))
    assert found["r2"] < 0.95
    assert found["r2_unbiased"] == pytest.approx(1.0, abs=0.01)


def test_agreement_and_coverage_of_known_arrays():
    known = np.array([[0.0, 1.9, -1.9, 2.0]])
    values, truth = np.array([[4.0, -3.0, 2.0, 1.0, 0.0]]), np.array([[8.0, -6.0, 0.0, 2.0, 4.0]])
    assert reference.agreement(truth / 2, truth) == {"correlation": pytest.approx(1.0), "top3": 1.0}
    assert reference.agreement(values, truth)["top3"] == pytest.approx(2 / 3)
    assert reference.coverage(np.zeros((1, 4)), np.ones((1, 4)), Reference(known, known)) == 0.75
    both = np.array([[[1.0, 2.0]], [[3.0, 4.0]]])
    np.testing.assert_array_equal(reference.decided_class(both, np.array([1, 0])), [[2.0], [3.0]])
    np.testing.assert_array_equal(reference.decided_class(both[:, :, :1], np.array([1, 0])), [[1.0], [-3.0]])


def test_the_right_explainer_makes_no_error(bench):
    found = bench.evaluate("contributions", "illume")
    json.dumps(found)
    assert (found["r2"], found["coverage"]) == (pytest.approx(1.0), 1.0)
    assert (found["fit_asks"], found["rows_explained"]) == (60, 10)
    assert found["infidelity"] < 0.5
    assert found["pgi"] > found["pgu"]
    assert bench.evaluate("contributions", "illume-pullback")["r2"] < 0.99
    assert bench.evaluate("contributions", "illume-refine-16")["setting"]["refine"] == 16
    null = bench.evaluate("null", "illume")
    assert (null["null_number"], null["null_category"]) == (0.0, 0.0)
    assert bench.evaluate("null", "illume-pullback")["null_category"] > 0
    assert bench.evaluate("seeds", "illume")["cosine"] == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore")  # the packages' own
@pytest.mark.parametrize(
    "name", ["shap-kernel", "shap-permutation", "shap-sampling", "shapiq-kernel", "shapiq-leverage", "lime"]
)
def test_peers_come_near_with_many_queries(bench, name):
    pytest.importorskip(name.partition("-")[0])
    if name == "lime":
        found = bench.evaluate("contributions", "lime")
        assert found["correlation"] > 0.5
        assert found["asks_per_row"] == 5000
        return
    found = bench.evaluate("contributions", f"{name}@4000")
    assert found["r2"] > 0.9
    assert found["asks_per_row"] < 4500
    line = measured(lambda: bench.evaluate("contributions", f"{name}@4"))
    assert line["error"].startswith("needs at least")


def test_budgets_are_shared_between_sets_and_background():
    assert share_budget("256", 41, 500, step=41) == Shares(41, 6)
    assert share_budget("256", 8, 500, most_sets=8) == Shares(8, 32)
    with pytest.raises(NotApplicableError, match="needs at least 42 asks a row"):
        share_budget("16", 42, 500)


def test_slow_methods_stop_when_time_is_up_and_say_on_how_many_rows():
    small = Case(toy_problem(), 12)
    ready = Ready(lambda rows: (np.zeros((len(rows), 3, 1)), None))
    values, _, costs = explain_rows(small, ready, budget_s=0.0, chunk=2, least_rows=4)
    assert costs["rows_explained"] == len(values) == 4
    assert costs["many_extrapolated"]
    *_, costs = explain_rows(small, Ready(ready.explain, at_once=True), budget_s=0.0)
    assert (costs["rows_explained"], costs["many_extrapolated"]) == (12, False)


def planned(monkeypatch, **options):
    monkeypatch.setenv("ILLUME_DATA", "somewhere")
    return [cell.settings for cell in truth(**options)]


def test_options_choose_cells(monkeypatch):
    some = {"kinds": ("null", "seeds"), "data": ("adult",), "models": ("mlp",), "methods": ("illume", "lime")}
    found = [tuple(cell.values()) for cell in planned(monkeypatch, **some)]
    assert found == [(kind, "adult", "mlp", "illume", 0, 200) for kind in ("null", "seeds")]
    assert {cell["data"] for cell in planned(monkeypatch, split="heldout")} == set(HELD_OUT)
    assert {cell["model"] for cell in planned(monkeypatch)} == {"xgb", "lgb", "mlp"}
    assert not set(HELD_OUT) & set(DEVELOPMENT)
    trees = {cell["model"] for cell in planned(monkeypatch, split="all") if cell["method"] == "shap-tree"}
    assert trees == {"xgb", "lgb", "forest"}
    assert {cell["model"] for cell in planned(monkeypatch, data=("seneca-rc-4+0-0",))} == {"truth"}
    for wrong in ("shap", "illume-refine-x", "shap-kernel@many"):
        with pytest.raises(SystemExit, match="no method is called"):
            planned(monkeypatch, methods=(wrong,))
    with pytest.raises(SystemExit, match="no data set is called"):
        select_data("all", ("moon",))


COSTS = {"fit_s": 10.0, "fit_asks": 50_000, "many_s": 5.0, "rows_explained": 200, "asks_per_row": 1.0}
SCORES = {"r2": 0.9, "r2_scaled": 0.95, "correlation": 0.98, "top3": 0.8, "infidelity": 0.1, "pgi": 0.3}
SCORES |= {"pgu": 0.1, "reference": "walks", "reference_noise": 0.001}


def line(kind, method, data="wine", model="mlp", **figures):
    named = {"kind": kind, "data": data, "model": model, "method": method, "seed": 0, "rows": 200}
    return named | {"error": None} | (COSTS | SCORES if kind == "contributions" else {}) | figures


@pytest.fixture
def results(tmp_path):
    lines = [
        line("contributions", "illume", coverage=0.94),
        line("contributions", "illume", data="sonar", r2=-3.0, coverage=0.9),
        line("contributions", "illume", data="spam", r2=0.1),
        line("contributions", "shap-kernel@least", asks_per_row=100.0, fit_asks=0),
        line("contributions", "shap-kernel@64", error="needs at least 100 asks a row"),
        line("contributions", "lime", error="ValueError: odd"),
        line("null", "illume", null_number=0.01, null_category=0.02),
        line("seeds", "illume", cosine=0.99, difference=0.01),
    ]
    return write(tmp_path / "truth.jsonl", lines)


def test_tables_are_of_the_split_and_say_what_is_missing(results):
    found = {table.name: table for table in tables(results, "heldout")}
    assert set(found) == {"truth", "truth-cells", "truth-null", "truth-seeds", "truth-coverage"}
    rows = {row[0]: row for row in found["truth"].rows}
    assert rows["illume"][1:3] == ("2", ".450")  # below 0 counts 0
    assert rows["shap-kernel@64"][2] == ".900"  # the smallest budget that it accepts
    assert "lime: ValueError: odd (wine mlp)" in found["truth"].text()
    assert found["truth-coverage"].rows == (("illume", "2", ".920", ".900"),)
    assert found["truth-null"].rows == (("illume", "1", ".010", ".010", ".020", ".020"),)
    assert len(found["truth-cells"].rows) == 2
    assert [row[1] for row in tables(results, "development")[0].rows] == ["1"]


def test_figures_hold_queries_of_the_fit_and_leave_out_what_costs_nothing(results, tmp_path):
    pytest.importorskip("matplotlib")
    names = [path.name for path in draw(results, tmp_path / "images", "heldout")]
    assert names[::2] == ["truth-seconds.png", "truth-asks.png"]
    assert draw(tmp_path / "none", tmp_path, "heldout") == []
    lines = Lines.read(results, "contributions", "heldout")
    points = {series.name: curve(lines, series, ("mlp",), median_queries) for series in SERIES}
    assert points["shap-kernel"] == [(100.0, pytest.approx(0.1))]
    assert points["shap-tree"] == []
    assert points["illume, illume-refine-16, 64, 256"][0][0] == 6.0


def test_slow_models_are_explained_whole_by_illume_and_in_part_by_peers(bench, monkeypatch, tmp_path):
    pytest.importorskip("shap")
    monkeypatch.setattr(slow, "load_problem", lambda *_: toy_problem())
    options = {"models": ("svm",), "methods": ("illume", "shap-permutation@64"), "rows": 30, "limit_s": 0.0}
    assert run("slow", slow.slow(**options), tmp_path) == 0
    mine, peer = (json.loads(text) for text in (tmp_path / "slow.jsonl").read_text().splitlines())
    assert (mine["rows_explained"], mine["extrapolated"]) == (30, False)
    assert (peer["rows_explained"], peer["extrapolated"]) == (1, True)
    written = write_tables(slow.tables(tmp_path), tmp_path)
    assert "≈" in written[0].read_text()


def test_ratios_are_to_the_idle_fit_of_the_run_and_a_limit_is_said(monkeypatch, tmp_path):
    seconds = iter([2.0, 3.0])

    def fit(function, **options):
        taken = next(seconds, None)
        return Answer([{"fit_s": taken}]) if taken else Answer(error="over the limit of 600 s")

    monkeypatch.setattr(busy, "run_child", fit)
    wanted = ("idle", "one thread", "beside 1")
    assert run("busy", busy.busy(conditions=wanted), tmp_path) == 1
    (table,) = busy.tables(tmp_path)
    expected = (
        ("idle", "2.0", "1.00"),
        ("one thread", "3.0", "1.50"),
        ("beside 1", "over the limit of 600 s", "–"),
    )
    assert table.rows == expected
