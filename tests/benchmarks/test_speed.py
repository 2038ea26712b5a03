"""Speed and growth: plans, arithmetic, measured cells, tables and figures."""

import math
import subprocess
import sys

import numpy as np
import pytest
from benchmarks.evaluation import page
from benchmarks.markup import write_tables
from benchmarks.packages import MeteredModel
from benchmarks.speed import cells, figures, growth
from benchmarks.speed.cells import METHODS, Pace, Timed, speed
from benchmarks.speed.growth import Curve
from benchmarks.speed.methods import fit
from benchmarks.speed.problems import Problem
from benchmarks.speed.summary import Cost, Lines, break_even
from benchmarks.speed.tables import break_evens, rates, requirements, tables, totals

from tests.benchmarks.lines import fit_line, speed_line, write


def planned(**options):
    return [" ".join(map(str, cell.settings.values())) for cell in speed(**options)]


def test_the_plan_pairs_methods_with_models_and_rows():
    found = planned()
    assert "m30 lightgbm shap-tree 1000000" in found
    assert not any(" mlp shap-tree " in key or " mlp woodelf " in key for key in found)
    million = {key.split()[2] for key in found if key.endswith(" 1000000")}
    assert million == {"illume", "shap-tree", "woodelf", "model"}
    assert found[0] == "m8 lightgbm fit 0"  # explainers are fitted first
    assert len(set(found)) == len(found)
    quick = planned(quick=True)
    assert {key.split()[0] for key in quick} == {"m8"}
    assert max(int(key.split()[3]) for key in quick) == 100
    some = planned(data=("m30", "adult"), methods=("lime", "woodelf"), rows=(1,))
    wanted = {"m30 lightgbm woodelf 1", "m30 lightgbm lime 1", "m30 mlp lime 1", "adult lightgbm woodelf 1"}
    assert set(some) == {*wanted, "adult lightgbm lime 1"}
    with pytest.raises(SystemExit, match="no method is called 'shop'; choose from illume"):
        planned(methods=("shop",))


def a_row(seconds, start=0.0):
    return Cost(start, (1,), (seconds,))


def test_break_even_rows_by_hand():
    assert break_even(a_row(0.6, 1.0), a_row(0.5, 100.0)) == math.inf  # cheaper only for few rows
    cost = Cost(1.0, (1, 101, 10_101), (2.0, 2.1, 12.1))  # about 2 s a call, then 1 ms a row
    assert [cost(n) for n in (1, 51, 101, 1_101, 20_101)] == pytest.approx([3.0, 3.05, 3.1, 4.1, 23.1])
    assert break_even(a_row(0.0, 8.1), cost) == 5_101
    ours = Lines.index(made_up()).cost("m30", "lightgbm", "illume")
    assert ours(10_000) == pytest.approx(10.05)  # 10 s of fitting


def test_cells_over_budget_are_extrapolated():
    slow = Pace(False).after(Timed(1, 0.6))
    assert cells.rows_to_time(100, slow, METHODS["lime"], 1.0) == 1
    found = cells.figures(100, slow)
    assert (found["rows_timed"], found["extrapolated"], found["seconds"]) == (1, True, pytest.approx(60.0))
    found = cells.figures(10, Pace(True).after(Timed(10, 2.0, 1.5)))
    assert (found["rows_per_second"], found["own_rows_per_second"]) == pytest.approx((5.0, 20.0))


def test_calls_are_repeated_within_the_budget():
    called = []
    found = cells.repeat(lambda: called.append(1) or 0.25, 10, 0.0)
    assert (len(called), found.repeats, found.model_seconds) == (1, 1, 0.25)
    assert cells.repeat(lambda: 0.0, 1, 60.0).repeats == 100
    assert cells.repeat(lambda: 0.0, 2, 60.0).repeats == 5


def test_memory_that_was_freed_is_in_the_peak():
    code = "from benchmarks.children import peak_mb; b = peak_mb(); bytearray(64_000_000); print(peak_mb()-b)"
    # In a new process: where the peak cannot be reset, earlier tests of this one would hide it.
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 50 < float(found.stdout) < 100


class Product:
    """A model that costs nothing."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-4 * X[:, 0] * X[:, 1]))
        return np.column_stack([1 - p, p])


def test_illume_is_fitted_saved_loaded_and_timed(tmp_path, monkeypatch):
    monkeypatch.setenv("ILLUME_CACHE", str(tmp_path))
    monkeypatch.setattr(cells, "FIRST_ROWS", 10)
    X = np.random.default_rng(0).normal(size=(300, 8))
    tiny = Problem("m8", "product", X, (X[:, 0] * X[:, 1] > 0).astype(int), Product(), steps=40)
    model = MeteredModel(tiny.model, (0, 1))
    assert model.predict(np.array([[1.0, 1.0], [-1.0, 1.0]])).tolist() == [1, 0]
    fitted = fit(tiny, model)
    assert (fitted["n_train"], tiny.explainer_path.exists()) == (300, True)
    assert fitted["fit_s"] > fitted["fit_model_s"] > 0
    one, some = cells.explain_rows("illume", [1, 50], tiny, model, 0.2)
    assert (one["rows"], some["rows"], some["rows_timed"]) == (1, 50, 50)
    assert some["rows_per_second"] <= some["own_rows_per_second"]
    assert one["first_s"] > one["prepare_s"] > 0
    np.testing.assert_array_equal(tiny.rows(25)[:10], tiny.rows(10))
    pytest.importorskip("shap")
    (peer,) = cells.explain_rows("shap-kernel", [2], tiny, model, 0.2)
    assert "KernelExplainer" in peer["setting"]
    assert 0 < peer["model_share"] < 1


def made_up():
    failed = {"data": "m30", "model": "lightgbm", "method": "anchor", "rows": 1}
    return [
        fit_line(fit_s=10.0, fit_rules_s=5.0),
        speed_line("illume", 1, rate=500.0, own=1_000.0, prepare_s=0.0),
        speed_line("illume", 10_000, rate=200_000.0, own=1_000_000.0, prepare_s=0.0),
        speed_line("shap-tree", 10_000, rate=1_000.0, prepare_s=0.0),
        speed_line("shap-tree", 1_000_000, rate=1_000.0, prepare_s=0.0, timed=10_000),
        speed_line("lime", 1, rate=10.0, prepare_s=0.0),
        speed_line("model", 10_000, rate=50_000.0, prepare_s=0.0),
        failed | {"error": "over the limit of 45 s"},
    ]


def cells_of(table):
    return {row[0]: row[1:] for row in table.rows}


def test_tables_show_ratios_break_even_rows_and_what_failed():
    lines = Lines.index(made_up())
    found = cells_of(requirements(lines))
    assert found["rows/s, times those of shap-tree, its model's time apart"] == ("≥ 500", "1,000", "–")
    assert found["rows/s, times those of shap-tree, its model's time included"] == ("≥ 500", "200", "–")
    assert found["ms for a single row, the model apart"] == ("< 0.5", "1.00", "–")
    assert found["explaining a row over predicting it"] == ("< 1", "0.05", "–")
    found = cells_of(break_evens(lines))  # 10 s of fitting against 1 ms less 5 us a row
    assert (found["shap-tree, LightGBM"], found["lime, LightGBM"]) == (("10,100",), ("101",))
    assert cells_of(totals(lines))["shap-tree, LightGBM"][-2:] == ("10.0", "≈ 1000")
    table = rates(lines)
    assert (cells_of(table)["shap-tree, LightGBM"], cells_of(table)["anchor, LightGBM"]) == (
        ("1,000",),
        ("–",),
    )
    assert "anchor: over the limit of 45 s (m30 lightgbm)" in table.text()


def test_tables_page_and_figures_are_made_from_lines(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    write(tmp_path / "speed.jsonl", made_up())
    names = {path.name for path in write_tables(tables(tmp_path), tmp_path / "tables")}
    assert {"speed-asked.md", "speed-rates.csv", "speed-break-even.md"} <= names
    drawn = {path.stem for path in figures.draw(tmp_path, tmp_path / "images" / "results")}
    assert drawn == {"speed-rates", "speed-break-even"}
    assert "growth: nothing was measured" in capsys.readouterr().out
    page.write_page(tmp_path, tmp_path / "results.md")
    text = (tmp_path / "results.md").read_text()
    assert text.index("## Speed") < text.index("### Rows a second") < text.index("## What was not run")
    assert "images/results/speed-rates.svg" in text


def test_exponents_by_hand():
    assert Curve("fit", (2, 4, 8), ((1.0,), (4.0,), (16.0,))).exponent().value == pytest.approx(2.0)
    assert str(Curve("fit", (2, 4, 8), ((3.0,), (3.0,), (3.0,))).exponent()) == "0.00"
    bent = Curve("fit", (1, 10, 100), ((1.0,), (1.0,), (10.0,)))
    assert (bent.exponent().value, bent.exponent(2).value) == pytest.approx((0.5, 1.0))
    repeated = Curve("fit", (1, 10), ((1.0, 1.0, 1.0), (1.0, 10.0, 100.0)))
    assert repeated.exponent() == pytest.approx((1.0, 0.0, 2.0))


def grown():
    written = []
    for point in growth.points(list(growth.FACTORS)):
        seconds = {"fit": [4.0, 4.2], "many attributions": [0.1], "attributions": [point.r / 1e6]}
        seconds |= {"rules": [1e-3 * point.r]} if point.r <= 10_000 else {}
        written.append(vars(point) | {"seconds": seconds, "error": None, "threads": 2})
    written[0] |= {"error": "over the limit of 180 s"}
    written[1] |= {"encoder": "identity"}
    written[2] |= {"cut": "over the limit of 180 s"}
    return written


def test_curves_leave_out_what_was_not_measured(tmp_path):
    pytest.importorskip("matplotlib")
    write(tmp_path / "growth.jsonl", grown())
    lines = growth.read_points(tmp_path / "growth.jsonl")
    over_n = {curve.name: curve.sizes for curve in growth.curves(lines, "n")}
    assert (over_n["fit"], over_n["fit, default training"]) == ((1e4, 1e5, 1e6), (1e3, 1e4, 1e5))
    over_r = {curve.name: curve.sizes for curve in growth.curves(lines, "r")}
    assert over_r == {"attributions": (1e3, 1e4, 1e5, 1e6), "rules": (1e3, 1e4)}
    (table,) = tables(tmp_path)
    text, rows = table.text(), {(row[0], row[1]): row[5:] for row in table.rows}
    assert "n1000 r1000 m30 k8 c2 200 steps (over the limit of 180 s)" in text
    assert "n100000 r1000 m30 k8 c2 200 steps in part (over the limit of 180 s)" in text
    assert "A global surrogate was chosen, which costs less: n10000 r1000 m30 k8 c2 200 steps." in table.notes
    assert rows["r", "attributions"] == ("1.00", "1.00", "≤ 1.05")
    assert rows["n", "rules"] == ("0.00", "0.00", "≤ 0.05")
    assert rows["n", "fit"] == ("0.00 (-0.01 to 0.01)", "0.00 (-0.02 to 0.02)", "≤ 1.05")
    assert {path.name for path in figures.draw(tmp_path, tmp_path)} == {"growth.png", "growth.svg"}


def test_one_factor_is_varied_at_a_time_and_a_point_is_measured():
    for factor, values in growth.FACTORS.items():
        found = [point for point in growth.points([factor]) if point.steps]
        assert [getattr(point, factor) for point in found] == list(values)
        assert growth.CENTRE in found
    small = {"n": 200, "r": 10, "m": 3, "k": 2, "c": 3, "steps": 2}
    *_, last = growth.measure_point(small)
    assert {"fit", "fit rules", "attributions", "rules", "counterfactuals"} <= last["seconds"].keys()
