"""Tables and pictures of truth, slow models and busy machines, from lines made by hand."""

import argparse
import json
import os
import subprocess

import pytest
from benchmarks.busy import CONDITIONS, environment, spinning
from benchmarks.slow import command as slow_command
from benchmarks.slow.measure import Effort, Slow
from benchmarks.truth import kinds, ours
from benchmarks.truth.pictures import SERIES, curve, draw
from benchmarks.truth.summary import Lines, median_asks
from benchmarks.truth.tables import render, tables

from benchmarks import busy
from tests.benchmarks.truth_cases import Known, case

COSTS = {"fit_s": 10.0, "fit_asks": 50_000, "many_s": 5.0, "rows_explained": 200, "asks_per_row": 1.0}
SCORES = {
    "r2": 0.9,
    "r2_scaled": 0.95,
    "correlation": 0.98,
    "top3": 0.8,
    "infidelity": 0.1,
    "pgi": 0.3,
    "pgu": 0.1,
}
KNOWN = {"reference": "walks", "reference_noise": 0.001}


def line(kind, method, data="wine", model="mlp", **figures):
    named = {"kind": kind, "data": data, "model": model, "method": method, "seed": 0, "rows": 200}
    return named | {"error": None} | figures


def contributions(method, **figures):
    return line("contributions", method, **(COSTS | SCORES | KNOWN | figures))


def write(path, lines):
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "truth.jsonl"
    write(
        path,
        [
            contributions("illume", coverage=0.94),
            contributions("illume", data="sonar", r2=-3.0, coverage=0.9),
            contributions("illume", data="spam", r2=0.1),
            contributions("shap-kernel@least", asks_per_row=100.0, fit_asks=0),
            line("contributions", "shap-kernel@64", error="needs at least 100 asks a row"),
            line("contributions", "lime", error="ValueError: odd"),
            line("null", "illume", null_number=0.01, null_category=0.02),
            line("seeds", "illume", cosine=0.99, difference=0.01),
        ],
    )
    return path


def test_tables_are_of_the_split_and_say_what_is_missing(file):
    found = {table.name: table for table in tables(file, "heldout")}
    assert set(found) == {"truth", "truth-cells", "truth-null", "truth-seeds", "truth-coverage"}
    rows = {row[0]: row for row in found["truth"].rows}
    assert rows["illume"][1:3] == ("2", ".450")  # below 0 counts 0
    assert rows["shap-kernel@64"][2] == ".900"  # stands for the least that it needs
    assert "lime: ValueError: odd (wine mlp)" in found["truth"].text()
    assert found["truth-coverage"].rows == (("illume", "2", ".920", ".900"),)
    assert found["truth-null"].rows == (("illume", "1", ".010", ".010", ".020", ".020"),)
    assert len(found["truth-cells"].rows) == 2
    assert [row[1] for row in tables(file, "development")[0].rows] == ["1"]


def test_pages_are_written(file, tmp_path):
    pytest.importorskip("matplotlib")
    names = {path.name for path in render(file, tmp_path / "tables", "heldout")}
    assert {"truth.md", "truth.csv", "truth-cells.md"} <= names
    drawn = draw(file, tmp_path / "images", "heldout")
    assert [path.name for path in drawn][::2] == ["truth-seconds.png", "truth-asks.png"]
    assert draw(tmp_path / "none.jsonl", tmp_path, "heldout") == []


def test_curves_hold_asks_of_the_fit_and_leave_out_what_costs_nothing(file):
    lines = Lines.read(file, "contributions", "heldout")
    points = {series.name: curve(lines, series, ("mlp",), median_asks) for series in SERIES}
    assert points["shap-kernel"] == [(100.0, pytest.approx(0.1))]
    assert points["shap-tree"] == []
    assert points["illume, illume-refine-16, 64, 256"][0][0] == 6.0


def test_slow_models_are_explained_whole_by_illume_and_in_part_by_peers(monkeypatch, tmp_path):
    pytest.importorskip("shap")
    monkeypatch.setenv("ILLUME_CACHE", str(tmp_path))
    monkeypatch.setattr(ours, "Explainer", Known)
    monkeypatch.setattr(kinds, "library_has_shapley", lambda: True)
    slow = Slow(case(4), Effort(rows=30, budget_s=0.0, reference_asks=10**6), rows_per_s=500.0)
    mine, peer = slow.evaluate("illume"), slow.evaluate("shap-sampling@64")
    assert (mine["rows_explained"], mine["extrapolated"], mine["r2"]) == (30, False, pytest.approx(1.0))
    assert (peer["rows_explained"], peer["extrapolated"]) == (1, True)
    named = {"data": "adult", "model": "svm", "rows": 30, "error": None}
    path = tmp_path / "slow.jsonl"
    write(path, [named | {"method": "illume"} | mine, named | {"method": "shap-sampling@64"} | peer])
    written = render(tmp_path / "truth.jsonl", tmp_path / "tables", "heldout")
    assert [one.name for one in written] == ["slow.md", "slow.csv"]
    assert "≈" in written[0].read_text()
    assert len(slow_command.latest(path)) == 2


def test_a_fit_beside_busy_processes_has_the_threads_of_its_condition(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    idle, one = (environment(condition) for condition in CONDITIONS[:2])
    assert "OMP_NUM_THREADS" not in idle
    assert one["OMP_NUM_THREADS"] == "1"
    with spinning(1):
        pass


def test_ratios_are_to_the_idle_fit_of_the_run_and_a_limit_is_said(monkeypatch, tmp_path):
    seconds = iter([2.0, 3.0])

    def fit(command, *, timeout, **rest):
        taken = next(seconds, None)
        if taken is None:
            raise subprocess.TimeoutExpired(command, timeout)
        return argparse.Namespace(returncode=0, stdout=json.dumps({"fit_s": taken}), stderr="")

    monkeypatch.setattr(busy.subprocess, "run", fit)
    monkeypatch.setattr(busy, "provenance", dict)
    monkeypatch.setattr(busy, "spinning", lambda n: spinning(0))
    parser = argparse.ArgumentParser()
    busy.add_options(parser)
    path = tmp_path / "busy.jsonl"
    busy.run(parser.parse_args(["--file", str(path), "--conditions", "idle,one thread,beside 1"]))
    found = busy.latest(path)
    assert [one.get("ratio") for one in found] == [1.0, 1.5, None]
    assert found[-1]["error"] == "over the limit of 600 s"
    text = render(tmp_path / "truth.jsonl", tmp_path / "tables", "heldout")[0].read_text()
    assert "| one thread | 3.0 | 1.50 |" in text
    assert os.path.exists(path)
