"""Speed of illume beside its peers: plans, arithmetic, workers, tables, pictures."""

import math

import numpy as np
import pytest
from benchmarks.__main__ import _parser as parser
from benchmarks.speed import limits, worker
from benchmarks.speed.cells import METHODS, QUICK, Job, Plan, SpeedCell, chosen
from benchmarks.speed.command import plan
from benchmarks.speed.costs import Cost, break_even
from benchmarks.speed.problems import Asked, Problem
from benchmarks.speed.run import job_lines, latest, run
from benchmarks.speed.summary import Lines
from benchmarks.speed.tables import asked, break_evens, rates, render, tables, totals
from benchmarks.speed.timing import Pace, Timed, forget_peak, peak_mb, repeated
from benchmarks.store import append, read

from benchmarks import page
from tests.benchmarks.speed_lines import fit, line, write


def keys(jobs):
    return {cell.key for job in jobs for cell in job.cells()}


def test_a_key_names_data_model_method_and_rows_and_is_read_off_a_line():
    cell = SpeedCell("m30", "lightgbm", "woodelf", 10_000)
    assert cell.key == "m30 lightgbm woodelf 10000"
    assert (
        SpeedCell.of({"data": "m8", "model": "mlp", "method": "fit", "rows": 0, "fit_s": 1.0}).key
        == "m8 mlp fit 0"
    )


def test_trees_are_explained_by_their_structure_only_where_there_are_trees():
    found = keys(Plan().jobs())
    assert "m30 lightgbm shap-tree 1000000" in found
    assert not any(" mlp shap-tree " in key or " mlp woodelf " in key for key in found)


def test_only_fast_methods_are_asked_for_a_million_rows():
    million = {key.split()[2] for key in keys(Plan().jobs()) if key.endswith(" 1000000")}
    assert million == {"illume", "shap-tree", "woodelf", "model"}


def test_an_explainer_is_fitted_before_it_explains():
    jobs = [(job.data, job.model, job.method) for job in Plan().jobs()]
    for data, model in {(data, model) for data, model, _ in jobs}:
        mine = [method for d, m, method in jobs if (d, m) == (data, model)]
        assert mine[0] == "fit"
        assert len(mine) == len(set(mine))


def test_finished_cells_are_not_planned_again():
    plan = Plan(("m8",), ("mlp",), ("lime",), (1, 100))
    left = Plan(("m8",), ("mlp",), ("lime",), (1, 100), skipped=frozenset({"m8 mlp lime 1"}))
    assert keys(plan.jobs()) - keys(left.jobs()) == {"m8 mlp lime 1"}
    both = frozenset({"m8 mlp lime 1", "m8 mlp lime 100"})
    assert Plan(("m8",), ("mlp",), ("lime",), (1, 100), skipped=both).jobs() == []


def test_the_quick_plan_is_small_and_an_unknown_name_is_refused():
    assert len(QUICK.jobs()) <= 10
    assert max(QUICK.rows) <= 100
    with pytest.raises(SystemExit, match="no method is called 'shop'; there are illume"):
        chosen(METHODS, "shop", "method")


def test_options_of_the_command_line_choose_cells():
    words = ["speed", "--features", "30,adult", "--methods", "lime,woodelf", "--rows", "1", "--threads", "1"]
    jobs = plan(parser().parse_args(words)).jobs()
    wanted = ["m30 lightgbm woodelf 1", "m30 lightgbm lime 1", "m30 mlp lime 1", "adult lightgbm woodelf 1"]
    assert keys(jobs) == {*wanted, "adult lightgbm lime 1"}
    assert {job.threads for job in jobs} == {1}
    assert plan(parser().parse_args(["speed", "--quick"])) == QUICK


def a_row(seconds, start=0.0):
    return Cost(start, (1,), (seconds,))


def test_break_even_rows_by_hand():
    assert break_even(a_row(0.001, 20.0), a_row(0.101)) == 200  # 0.1 s a row are won
    assert (
        break_even(a_row(0.001, 20.0), a_row(0.101, 10.0)) == 100
    )  # the peer is set up for half of the time
    assert break_even(a_row(0.5, 20.0), a_row(0.5)) == math.inf
    assert break_even(a_row(0.001, 1.0), a_row(0.1, 2.0)) == 1
    assert break_even(a_row(0.6, 1.0), a_row(0.5, 100.0)) == math.inf  # cheaper only for few rows


def test_what_a_call_costs_whatever_its_rows_is_in_the_total():
    cost = Cost(1.0, (1, 101, 10_101), (2.0, 2.1, 12.1))  # about 2 s a call, then 1 ms a row
    assert [cost(n) for n in (1, 51, 101, 1_101)] == pytest.approx([3.0, 3.05, 3.1, 4.1])
    assert cost(20_101) == pytest.approx(23.1)
    assert break_even(a_row(0.0, 8.1), cost) == 5_101
    ours = Lines.of(made_up()).cost("m30", "lightgbm", "illume")
    assert ours(10_000) == pytest.approx(10.05)  # 10 s of fitting


def test_a_method_for_batches_is_extrapolated_along_a_line_and_others_in_proportion():
    few, more = Timed(1, 5.0), Timed(101, 6.0)
    assert Pace(True).after(few).after(more).seconds(1_101) == pytest.approx(16.0)
    assert Pace(False).after(few).after(more).seconds(1_010) == pytest.approx(60.0)
    assert Pace(True).after(few).after(more).affordable(10_000, 8.0) == 301


def test_calls_are_repeated_within_the_budget_and_at_least_once():
    called = []
    found = repeated(lambda: called.append(1) or 0.25, 10, 0.0)
    assert (len(called), found.repeats, found.model_seconds) == (1, 1, 0.25)
    assert repeated(lambda: 0.0, 1, 60.0).repeats == 100
    assert repeated(lambda: 0.0, 2, 60.0).repeats == 5


def test_rows_that_would_take_too_long_are_not_timed():
    asked_for = []

    def call(n):
        asked_for.append(n)
        return 0.0

    job = Job("m8", "mlp", "lime", (1, 100), budget_s=1.0)
    slow = Pace(False).after(Timed(1, 0.6))
    assert worker.timed(call, 1, slow, job) is slow
    assert worker.timed(call, 100, slow, job) is slow
    assert asked_for == []
    line = worker.figures(100, slow)
    assert (line["rows_timed"], line["extrapolated"]) == (1, True)
    assert line["seconds"] == pytest.approx(60.0)


def test_what_the_model_takes_is_told_apart():
    line = worker.figures(10, Pace(True).after(Timed(10, 2.0, 1.5)))
    assert line["rows_per_second"] == pytest.approx(5.0)
    assert line["own_rows_per_second"] == pytest.approx(20.0)


def test_memory_that_was_held_for_a_while_is_in_the_peak():
    forget_peak()
    before = peak_mb()
    held = np.ones(8_000_000)
    del held
    assert peak_mb() - before > 50


def test_bare_products_follow_the_shapes_wherever_a_head_branches_off():
    first, second = np.ones((4, 3), np.float32), np.ones((2, 4), np.float32)
    branch = np.ones((5, 3), np.float32)  # takes the rows themselves again
    out = limits.chained([first, second, branch], np.ones((6, 3), np.float32), lambda h, W: h @ W.T)
    assert out.shape == (6, 5)
    assert limits.flops([first, second, branch]) == 2 * (12 + 8 + 15)
    with pytest.raises(ValueError, match="nothing before it has the 7 columns"):
        limits.chained([np.ones((2, 7))], np.ones((6, 3)), lambda h, W: h @ W.T)


class Product:
    """A model that costs nothing."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        X = np.asarray(X, dtype=float)
        p = 1 / (1 + np.exp(-4 * X[:, 0] * X[:, 1]))
        return np.column_stack([1 - p, p])


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ILLUME_CACHE", str(tmp_path_factory.mktemp("cache")))
        X = np.random.default_rng(0).normal(size=(300, 8))
        yield Problem("m8", "product", X, (X[:, 0] * X[:, 1] > 0).astype(int), Product(), steps=40)


def lines_of(method, problem, rows):
    return list(worker.lines(Job(problem.name, problem.model_name, method, rows, budget_s=0.2), problem))


def test_illume_is_fitted_saved_loaded_timed_and_held_against_the_bare_products(tiny):
    pytest.importorskip("pandas")
    (fitted,) = lines_of("fit", tiny, (0,))
    assert fitted["fit_s"] > 0
    assert fitted["n_train"] == 300
    assert tiny.explainer_path.exists()
    one, some = lines_of("illume", tiny, (1, 50))
    assert (one["rows"], some["rows"], some["rows_timed"]) == (1, 50, 50)
    assert some["rows_per_second"] <= some["own_rows_per_second"]
    assert one["first_s"] > one["prepare_s"] > 0
    assert limits.flops(limits.network(tiny.explainer_path)) > 0


def test_rows_are_made_as_they_are_needed_and_stay_the_same(tiny, monkeypatch):
    monkeypatch.setattr(worker.Rows, "FIRST", 10)
    rows = worker.Rows(tiny, 1_000_000)
    first = rows.X
    assert (len(first), rows.most) == (10, 1_000_000)
    rows.hold(25)
    assert rows.X.shape == (25, 8)
    np.testing.assert_array_equal(rows.X[:10], first)
    rows.hold(20)
    assert len(rows.X) == 25


def test_a_peer_gets_the_same_model_and_rows(tiny):
    pytest.importorskip("shap")
    (found,) = lines_of("shap-permutation", tiny, (2,))
    assert found["rows"] == 2
    assert "PermutationExplainer" in found["setting"]
    assert 0 < found["model_share"] < 1


def test_a_model_keeps_how_long_it_was_asked():
    model = Asked(Product())
    assert model.predict(np.array([[1.0, 1.0], [-1.0, 1.0]])).tolist() == [1, 0]
    assert model.seconds > 0


def test_a_job_that_cannot_be_done_gives_a_line_that_says_why(tmp_path):
    job = Job("m8", "no-such-model", "lime", (1, 100))
    found = list(job_lines(job))
    assert [one["rows"] for one in found] == [1, 100]
    assert "no-such-model" in found[0]["error"]


def test_of_two_lines_for_a_cell_the_last_counts_and_a_line_cut_short_is_left_out(tmp_path):
    path = tmp_path / "speed.jsonl"
    append(path, line("lime", 1, rate=1.0))
    append(path, line("lime", 1, rate=2.0))
    with path.open("a") as file:
        file.write('{"data": "m3')
    append(path, line("lime", 100, rate=3.0))
    assert [one["rows_per_second"] for one in latest(path)] == [2.0, 3.0]
    assert len(list(read(path))) == 3
    assert run(Plan(("m30",), ("lightgbm",), ("lime",), (1, 100)), path) == 0
    assert len(list(read(path))) == 3  # both cells were there


def made_up():
    return [
        fit(fit_s=10.0, fit_rules_s=5.0),
        line("illume", 1, rate=500.0, own=1_000.0, prepare_s=0.0),
        line("illume", 10_000, rate=200_000.0, own=1_000_000.0, prepare_s=0.0),
        line("shap-tree", 10_000, rate=1_000.0, prepare_s=0.0),
        line("shap-tree", 1_000_000, rate=1_000.0, prepare_s=0.0, timed=10_000),
        line("lime", 1, rate=10.0, prepare_s=0.0),
        line("model", 10_000, rate=50_000.0, prepare_s=0.0),
        {
            "data": "m30",
            "model": "lightgbm",
            "method": "anchor",
            "rows": 1,
            "error": "over the limit of 45 s",
        },
    ]


def cells_of(table):
    return {row[0]: row[1:] for row in table.rows}


def test_ratios_asked_stand_beside_those_measured():
    found = cells_of(asked(Lines.of(made_up())))
    assert found["rows/s, times those of shap-tree, its model's time apart"] == ("≥ 500", "1,000", "–")
    assert found["rows/s, times those of shap-tree, its model's time included"] == ("≥ 500", "200", "–")
    assert found["rows/s, times those of lime, its model's time apart"] == ("≥ 50,000", "100,000", "–")
    assert found["ms for a single row, the model apart"] == ("< 0.5", "1.00", "–")
    assert found["explaining a row over predicting it"] == ("< 1", "0.05", "–")


def test_break_even_rows_count_the_fit_and_the_models_time():
    # 10 s of fitting against 1 ms less 5 us a row
    found = cells_of(break_evens(Lines.of(made_up())))
    assert found["shap-tree, LightGBM"] == ("10,100",)
    assert found["lime, LightGBM"] == ("101",)


def test_what_was_extrapolated_and_what_failed_is_said():
    lines = Lines.of(made_up())
    row = cells_of(totals(lines))["shap-tree, LightGBM"]
    assert row[-2:] == ("10.0", "≈ 1000")
    table = rates(lines)
    assert cells_of(table)["shap-tree, LightGBM"] == ("1,000",)
    assert cells_of(table)["anchor, LightGBM"] == ("–",)
    assert "anchor: over the limit of 45 s (m30 lightgbm)" in table.text()


def test_tables_pages_and_pictures_are_made_from_lines(tmp_path, capsys):
    figures = pytest.importorskip("benchmarks.speed.figures")
    pytest.importorskip("matplotlib")
    write(tmp_path / "speed.jsonl", made_up())
    (tmp_path / "cells").mkdir()
    names = {path.name for path in render(tmp_path / "cells", tmp_path / "tables")}
    assert {"speed-asked.md", "speed-rates.csv", "speed-break-even.md"} <= names
    drawn = {path.name for path in figures.draw(tmp_path / "cells", tmp_path / "images" / "results")}
    assert drawn == {
        f"{name}.{suffix}" for name in ("speed-rates", "speed-break-even") for suffix in ("png", "svg")
    }
    assert "growth: nothing was measured" in capsys.readouterr().out
    page.write(tmp_path / "cells", tmp_path / "results.md")
    text = (tmp_path / "results.md").read_text()
    assert text.index("## Speed") < text.index("### Rows a second") < text.index("## What was not run")
    assert "images/results/speed-rates.svg" in text


def test_nothing_measured_gives_no_section(tmp_path):
    (tmp_path / "cells").mkdir()
    assert tables(tmp_path / "cells") == []
    page.write(tmp_path / "cells", tmp_path / "results.md")
    assert "## Speed" not in (tmp_path / "results.md").read_text()
