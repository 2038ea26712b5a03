"""The harness: finished cells, failures, dying processes, options, children."""

import argparse
import doctest
import os
from functools import partial
from importlib import import_module

import pytest
from benchmarks.children import run_child
from benchmarks.harness import Cell, NotApplicableError

from benchmarks import __main__ as commands
from benchmarks import harness


def measure(value):
    if value == "deadly":
        os._exit(1)
    if value == "odd":
        raise ValueError("no\nwords")
    if value == "few":
        raise NotApplicableError("needs more")
    return {"figure": 2 * value}


def cells(*values):
    return [Cell({"value": value, "seed": 0}, partial(measure, value)) for value in values]


def test_finished_cells_are_not_measured_again(tmp_path, capsys):
    assert harness.run("some", cells(1, "odd", "few"), tmp_path) == 2
    assert harness.run("some", cells(1, "odd"), tmp_path) == 0
    lines = harness.latest(tmp_path / "some.jsonl", ("value", "seed"))
    assert [line["error"] for line in lines][::2] == [None, "needs more"]
    assert lines[1]["error"].startswith("ValueError: no words (test_harness.py:")
    assert {"commit", "versions", "machine", "time", "seed"} <= lines[0].keys()
    assert lines[0]["figure"] == 2
    assert harness.run("some", cells(1, "odd"), tmp_path, again="failed") == 1
    assert harness.run("some", cells(1), tmp_path, again="all") == 0
    assert [line["value"] for line in harness.read(tmp_path / "some.jsonl")] == [1, "odd", "few", "odd", 1]
    harness.list_cells("some", cells(1, 3), tmp_path)
    assert capsys.readouterr().out.endswith("done 1 0\nopen 3 0\n")


def test_a_line_cut_short_by_a_crash_costs_that_cell_only(tmp_path):
    path = tmp_path / "some.jsonl"
    harness.append(path, {"a": 1})
    path.write_text(path.read_text() + '{"a": ')
    harness.append(path, {"a": 3})
    assert [line["a"] for line in harness.read(path)] == [1, 3]


def test_a_dying_worker_costs_its_own_cell_only(tmp_path):
    assert harness.run("some", cells(1, "deadly", 2), tmp_path, workers=2) == 1
    lines = {line["value"]: line for line in harness.read(tmp_path / "some.jsonl")}
    assert lines["deadly"]["error"] == harness.DIED
    assert (lines[1]["figure"], lines[2]["figure"]) == (2, 4)


def child(n, fail=False):
    print("not an answer")  # noqa: T201
    for i in range(n):
        yield {"i": i, "threads": os.environ.get("OMP_NUM_THREADS")}
    if fail:
        raise ValueError("broken")
    import time

    time.sleep(60 if n > 5 else 0)


def test_a_child_answers_until_it_fails_or_its_time_is_up():
    assert run_child(child, n=2, threads=1).lines == [{"i": 0, "threads": "1"}, {"i": 1, "threads": "1"}]
    failed = run_child(child, n=1, fail=True)
    assert (len(failed.lines), failed.error) == (1, "ValueError: broken")
    with pytest.raises(RuntimeError, match="broken"):
        failed.last()
    late = run_child(child, n=6, limit_s=1.0)
    assert late.error == "over the limit of 1 s"
    assert len(late.lines) in (0, 6)


def test_options_come_from_the_parameters():
    def function(
        names: tuple[str, ...] = (), rows: tuple[int, ...] = (1,), quick: bool = False, seed: int = 0
    ):
        pass

    parser = argparse.ArgumentParser()
    harness.add_options(parser, function)
    found = parser.parse_args(["--names", "a,b", "c", "--rows", "1", "2", "--quick", "--seed", "3"])
    expected = {"names": ("a", "b", "c"), "rows": (1, 2), "quick": True, "seed": 3}
    assert harness.call_options(found, function) == expected
    assert harness.call_options(parser.parse_args([]), function)["rows"] == (1,)
    with pytest.raises(SystemExit, match="no method is called 'x'; choose from a, b"):
        harness.choose(("a", "b"), ("x",), "method")


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_every_command_describes_itself(name, capsys):
    with pytest.raises(SystemExit) as ended:
        commands.main([name, "--help"])
    assert ended.value.code == 0
    assert f"python -m benchmarks {name}" in capsys.readouterr().out


def test_commands_are_listed(capsys):
    assert commands.main(["--help"]) == 0
    assert commands.main(["no-such-command"]) == 2
    assert "rule-precision" in capsys.readouterr().out


MODULES = (
    *("harness", "markup", "busy", "engines", "data.expressions", "methods.outcome"),
    *("evaluation.paper", "evaluation.plans", "evaluation.selection", "evaluation.tables"),
    *("speed.figures", "speed.cells", "speed.growth", "speed.problems", "speed.summary"),
    *("truth.case", "truth.cells", "truth.methods", "truth.reference"),
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    assert doctest.testmod(import_module(f"benchmarks.{name}")).failed == 0


def test_attributions_of_few_rows_are_measured(tmp_path):
    assert commands.main(["throughput", "--rows", "100", "--rounds", "3", "--results", str(tmp_path)]) == 0
    line = next(harness.read(tmp_path / "throughput.jsonl"))
    assert line["unrefined_processor_us"] > 0
    assert 0 < line["eager_share_of_bare"] < 1


def test_a_fit_on_a_gpu_is_also_measured_on_a_cpu(tmp_path):
    words = ["--rows", "500", "--inputs", "2", "--effort", "quick"]
    assert commands.main(["gpu-fit", *words, "--results", str(tmp_path)]) == 0
    assert next(harness.read(tmp_path / "gpu_fit.jsonl"))["seconds"] > 0
