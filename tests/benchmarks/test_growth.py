"""The growth benchmark: its points, its exponents, its table and picture."""

import json
import subprocess

import pytest
from benchmarks.speed import growth
from benchmarks.speed.growth_curves import Curve, curves
from benchmarks.speed.tables import tables

from tests.benchmarks.speed_lines import write


def test_exponents_by_hand():
    assert Curve("fit", (1, 10, 100), ((5.0,), (50.0,), (500.0,))).exponent().value == pytest.approx(1.0)
    assert Curve("fit", (2, 4, 8), ((1.0,), (4.0,), (16.0,))).exponent().value == pytest.approx(2.0)
    assert str(Curve("fit", (2, 4, 8), ((3.0,), (3.0,), (3.0,))).exponent()) == "0.00"
    bent = Curve("fit", (1, 10, 100), ((1.0,), (1.0,), (10.0,)))
    assert bent.exponent().value == pytest.approx(0.5)
    assert bent.exponent(2).value == pytest.approx(1.0)


def test_repeats_bound_the_exponent():
    found = Curve("fit", (1, 10), ((1.0, 1.0, 1.0), (1.0, 10.0, 100.0))).exponent()
    assert found == pytest.approx((1.0, 0.0, 2.0))


def test_one_factor_is_varied_at_a_time_around_one_centre():
    for factor, values in growth.FACTORS.items():
        found = [point for point in growth.points([factor]) if point.steps]
        assert [getattr(point, factor) for point in found] == list(values)
        assert growth.CENTRE in found
    assert len(growth.points(["n", "m"])) == 4 + 4 - 1 + len(growth.DEFAULT_TRAINING)


def made_up():
    written = []
    for point in growth.points(list(growth.FACTORS)):
        seconds = {"fit": [4.0, 4.2], "many attributions": [0.1], "attributions": [point.r / 1e6]}
        seconds |= {"rules": [1e-3 * point.r]} if point.r <= 10_000 else {}
        known = {name: getattr(point, name) for name in (*growth.FACTORS, "steps")}
        written.append(known | {"seconds": seconds, "error": None, "threads": 2})
    written[0] |= {"error": "over the limit of 180 s"}
    written[1] |= {"encoder": "identity"}
    written[2] |= {"cut": "over the limit of 180 s"}
    return written


def test_curves_leave_out_what_was_not_measured_and_the_table_asks_only_of_rows(tmp_path):
    write(tmp_path / "growth.jsonl", made_up())
    lines = growth.latest(tmp_path / "growth.jsonl")
    over_n = {curve.name: curve for curve in curves(lines, "n")}
    assert over_n["fit"].sizes == (1e4, 1e5, 1e6)
    assert over_n["fit, default training"].sizes == (1e3, 1e4, 1e5)
    assert "fit of rules" not in over_n
    over_r = {curve.name: curve.sizes for curve in curves(lines, "r")}
    assert over_r == {"attributions": (1e3, 1e4, 1e5, 1e6), "rules": (1e3, 1e4)}
    (table,) = tables(tmp_path / "cells")
    text = table.text()
    assert "n1000 r1000 m30 k8 c2 200 steps (over the limit of 180 s)" in text
    assert "n100000 r1000 m30 k8 c2 200 steps in part (over the limit of 180 s)" in text
    assert "A global surrogate was chosen, which costs less: n10000 r1000 m30 k8 c2 200 steps." in table.notes
    rows = {(row[0], row[1]): row[5:] for row in table.rows}
    assert rows["r", "attributions"] == ("1.00", "1.00", "≤ 1.05")
    assert rows["n", "rules"] == ("0.00", "0.00", "≤ 0.05")
    assert rows["n", "fit"] == ("0.00 (-0.01 to 0.01)", "0.00 (-0.02 to 0.02)", "≤ 1.05")
    assert rows["k", "100,000 attributions"] == ("0.00", "0.00", "")


def test_a_picture_is_drawn_of_every_factor(tmp_path):
    figures = pytest.importorskip("benchmarks.speed.figures")
    pytest.importorskip("matplotlib")
    write(tmp_path / "growth.jsonl", made_up())
    drawn = {path.name for path in figures.draw(tmp_path / "cells", tmp_path / "images")}
    assert drawn == {"growth.png", "growth.svg"}


class Answer:
    """What a worker leaves behind."""

    def __init__(self, stdout, returncode=0, stderr=""):
        self.stdout, self.returncode, self.stderr = stdout, returncode, stderr


def test_what_was_measured_before_the_limit_is_kept_and_a_failure_says_why(monkeypatch):
    told = [json.dumps({"seconds": {"fit": [1.0]}}), json.dumps({"seconds": {"fit": [1.0], "rules": [2.0]}})]

    def late(words, **options):
        raise subprocess.TimeoutExpired(
            words, options["timeout"], output="\n".join([*told, '{"cut sh']).encode()
        )

    monkeypatch.setattr(subprocess, "run", late)
    found = growth.measured(growth.CENTRE, threads=2)
    assert (found["error"], found["cut"]) == (None, "over the limit of 300 s")
    assert found["seconds"] == {"fit": [1.0], "rules": [2.0]}
    monkeypatch.setattr(
        subprocess, "run", lambda words, **options: Answer("", 1, "Traceback\nValueError: no")
    )
    assert growth.measured(growth.CENTRE, threads=2)["error"] == "ValueError: no"
    monkeypatch.setattr(subprocess, "run", lambda words, **options: Answer(told[0]))
    assert growth.measured(growth.CENTRE, threads=2)["error"] is None


def test_points_that_failed_are_measured_again_and_others_are_not(monkeypatch, tmp_path):
    path, asked = tmp_path / "growth.jsonl", []

    def measured(point, threads):
        asked.append(point.c)
        error = "broken" if point.c == 3 and len(asked) < 3 else None
        return {"seconds": {"fit": [1.0]}, "error": error}

    monkeypatch.setattr(growth, "measured", measured)
    assert growth.run(["c"], path) == 1
    assert growth.run(["c"], path) == 0
    assert asked == [2, 3, 5, 10, 3]
