"""Contributions against Shapley values: scores, methods, cells that are found again, tables, pictures."""

import json

import numpy as np
import pytest
from benchmarks.__main__ import _parser as parser
from benchmarks.truth import kinds, ours, scores
from benchmarks.truth.budgets import Shares, TooFewAsksError, shared
from benchmarks.truth.cells import DEVELOPMENT, HELD_OUT, PEERS, Plan, TruthCell, data_of, methods_of
from benchmarks.truth.command import plan
from benchmarks.truth.explaining import Ready, told
from benchmarks.truth.kinds import Bench, Limits
from benchmarks.truth.run import latest, run
from benchmarks.truth.walks import Halves

from tests.benchmarks.truth_cases import Known, case


@pytest.fixture
def bench(monkeypatch, tmp_path):
    monkeypatch.setenv("ILLUME_CACHE", str(tmp_path))
    monkeypatch.setattr(ours, "Explainer", Known)
    monkeypatch.setattr(kinds, "library_has_shapley", lambda: True)
    return Bench(case(), Limits(budget_s=1.0))


def cell(method, kind="contributions"):
    return TruthCell(kind, "toy", "made", method, 0, 10)


def test_errors_are_0_for_the_reference_itself_and_count_what_is_missed():
    truth = np.array([[[1.0], [0.0]], [[3.0], [2.0]]])
    right = scores.errors(truth, Halves(truth, truth))
    assert right == {"relative_error": 0.0, "r2": 1.0, "r2_unbiased": 1.0, "r2_scaled": 1.0}
    half = scores.errors(truth / 2, Halves(truth, truth))
    assert half["relative_error"] == 0.25
    assert half["r2"] == 1 - 3.5 / 4
    assert half["r2_scaled"] == 1.0


def test_noise_of_the_reference_is_taken_out():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(2000, 5, 1))
    noisy = Halves(truth + rng.normal(0, 0.5, truth.shape), truth + rng.normal(0, 0.5, truth.shape))
    found = scores.errors(truth, noisy)
    assert found["r2"] < 0.95
    assert found["r2_unbiased"] == pytest.approx(1.0, abs=0.01)


def test_agreement_and_coverage_of_known_arrays():
    known = np.array([[0.0, 1.9, -1.9, 2.0]])
    values, truth = np.array([[4.0, -3.0, 2.0, 1.0, 0.0]]), np.array([[8.0, -6.0, 0.0, 2.0, 4.0]])
    assert scores.agreement(truth / 2, truth) == {"correlation": pytest.approx(1.0), "top3": 1.0}
    assert scores.agreement(values, truth)["top3"] == pytest.approx(2 / 3)
    assert scores.coverage(np.zeros((1, 4)), np.ones((1, 4)), Halves(known, known)) == 0.75
    both = np.array([[[1.0, 2.0]], [[3.0, 4.0]]])
    np.testing.assert_array_equal(scores.of_decided(both, np.array([1, 0])), [[2.0], [3.0]])
    np.testing.assert_array_equal(scores.of_decided(both[:, :, :1], np.array([1, 0])), [[1.0], [-3.0]])
    assert scores.likeness(both, both) == {"cosine": pytest.approx(1.0), "difference": 0.0}


def test_the_right_explainer_makes_no_error(bench):
    found = bench.evaluate(cell("illume"))
    assert found["r2"] == pytest.approx(1.0)
    assert found["coverage"] == 1.0
    assert found["log_odds"] == "illume"
    assert found["fit_asks"] == 60
    assert found["rows_explained"] == 10
    assert found["infidelity"] < 0.5
    assert found["pgi"] > found["pgu"]
    assert bench.evaluate(cell("illume-pullback"))["r2"] < 0.99
    assert bench.evaluate(cell("illume-refine-16"))["setting"]["refine"] == 16


def test_null_features_and_seeds_are_cells_of_their_own(bench):
    found = bench.evaluate(cell("illume", "null"))
    assert (found["null_number"], found["null_category"]) == (0.0, 0.0)
    assert bench.evaluate(cell("illume-pullback", "null"))["null_category"] > 0
    assert bench.evaluate(cell("illume", "seeds"))["cosine"] == pytest.approx(1.0)


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::PendingDeprecationWarning"
)
@pytest.mark.parametrize(
    "name", ["shap-kernel", "shap-permutation", "shap-sampling", "shapiq-kernel", "shapiq-leverage"]
)
def test_peers_come_near_with_many_asks(bench, name):
    pytest.importorskip(name.partition("-")[0])
    found = bench.evaluate(cell(f"{name}@4000"))
    assert found["r2"] > 0.9
    assert found["asks_per_row"] < 4500
    with pytest.raises(TooFewAsksError, match="needs at least"):
        bench.evaluate(cell(f"{name}@4"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_lime_is_taken_as_it_is(bench):
    pytest.importorskip("lime")
    found = bench.evaluate(cell("lime"))
    assert found["correlation"] > 0.5
    assert found["asks_per_row"] == 5000


def test_budgets_are_shared_between_sets_and_background():
    assert shared("4096", 42, 500) == Shares(64, 64)
    assert shared("256", 41, 500, step=41) == Shares(41, 6)
    assert shared("1000000", 10, 20) == Shares(50_000, 20)
    assert shared("256", 8, 500, most_sets=8) == Shares(8, 32)
    with pytest.raises(TooFewAsksError, match="needs at least 42 asks a row"):
        shared("16", 42, 500)


def test_slow_methods_stop_when_time_is_up_and_say_on_how_many_rows():
    small = case(12)
    slow = Ready(lambda rows: (np.zeros((len(rows), 3, 1)), None))
    found = told(small, slow, budget_s=0.0, chunk=2, least_rows=4)
    assert found.costs["rows_explained"] == len(found.values) == 4
    assert found.costs["many_extrapolated"]
    at_once = told(small, Ready(slow.explain, at_once=True), budget_s=0.0)
    assert at_once.costs["rows_explained"] == 12
    assert not at_once.costs["many_extrapolated"]


def test_finished_cells_are_not_done_again(tmp_path):
    file, done = tmp_path / "truth.jsonl", []

    def make(first, limits):
        def evaluate(cell):
            done.append(cell.key)
            if cell.method == "lime":
                raise ValueError("no\nwords")
            return {"r2": 0.5}

        return evaluate

    wanted = Plan(("contributions",), ("wine",), ("mlp",), ("illume", "lime"), rows=5)
    assert run(wanted, file, Limits(), make=make) == 1
    assert run(wanted, file, Limits(), make=make) == 0
    assert len(done) == 2
    assert run(wanted, file, Limits(), make=make, again="failed") == 1
    assert done[-1] == "contributions wine mlp lime 0 5"
    assert run(wanted, file, Limits(), make=make, again="all") == 1
    assert len(done) == 5
    lines = latest(file)
    assert [line["error"] for line in lines] == [None, "ValueError: no words"]
    assert {"commit", "versions", "machine", "time", "seed"} <= set(lines[0])


def test_options_choose_cells():
    words = [
        "truth",
        "--kinds",
        "null,seeds",
        "--data",
        "adult",
        "--models",
        "mlp",
        "--methods",
        "illume,lime",
    ]
    cells = plan(parser().parse_args(words)).cells()
    assert [one.key for one in cells] == ["null adult mlp illume 0 200", "seeds adult mlp illume 0 200"]
    assert plan(parser().parse_args(["truth", "--split", "heldout"])).data == HELD_OUT
    assert plan(parser().parse_args(["truth"])).models == ("xgb", "lgb", "mlp")
    assert "forest" in plan(parser().parse_args(["truth", "--split", "heldout"])).models
    assert not set(HELD_OUT) & set(DEVELOPMENT)
    keys = [one.key for one in Plan(("contributions",), ("wine",), ("mlp", "xgb")).cells()]
    assert "contributions wine xgb shap-tree 0 200" in keys
    assert "contributions wine mlp shap-tree 0 200" not in keys
    assert {one.model for one in Plan(data=("seneca-rc-4+0-0",)).cells()} == {"truth"}
    for wrong in ("shap", "illume-refine-x", "shap-kernel@many"):
        with pytest.raises(SystemExit, match="no method is called"):
            methods_of(wrong)
    with pytest.raises(SystemExit, match="no data set is called"):
        data_of("all", "moon")
    assert methods_of(",".join(PEERS)) == PEERS


def test_lines_can_be_written_as_json(bench):
    for kind in ("contributions", "null", "seeds"):
        json.dumps(bench.evaluate(cell("illume", kind)))
