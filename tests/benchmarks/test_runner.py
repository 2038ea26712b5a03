import json

import pytest
from benchmarks.cells import Cell, unique
from benchmarks.plans import PLANS, QUICK, TABLES, USUAL, WHOLE, cells
from benchmarks.store import Store

from benchmarks import runner
from tests.benchmarks.workers import fatal

GOOD = Cell("seneca-rb-4+0-0", "truth", "none")
BAD = Cell("no-such-data", "xgb", "inp")


def in_this_process(todo, workers):
    return ((cell, runner.evaluated(cell)) for cell in todo)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setitem(runner.ENGINES, "here", in_this_process)
    return Store(tmp_path)


def test_a_failing_cell_is_recorded_and_does_not_stop_the_rest(store, capsys):
    assert runner.run([BAD, GOOD], store, engine="here") == 1
    lines = {line["data"]: line for line in store.lines()}
    assert lines["no-such-data"]["metrics"] == {}
    assert "no-such-data" in lines["no-such-data"]["error"]
    assert lines["seneca-rb-4+0-0"]["error"] is None
    assert {"commit", "versions", "machine", "time"} <= lines["seneca-rb-4+0-0"].keys()


def test_finished_cells_are_not_run_again(store, monkeypatch):
    runner.run([GOOD], store, engine="here")
    monkeypatch.setattr(runner, "evaluated", lambda cell: pytest.fail("ran again"))
    assert runner.run([GOOD], store, engine="here") == 0


def test_a_line_cut_short_by_a_crash_costs_that_cell_only(store):
    result = {"metrics": {"x": 1.0}, "times": {}, "error": None}
    store.add(GOOD, result)
    (path,) = store.folder.glob("*.jsonl")
    with path.open("a") as file:
        file.write(json.dumps(GOOD.to_dict())[:20])
    other = Cell("seneca-rb-4+0-1", "truth", "none")
    store.add(other, result)
    assert store.finished() == {GOOD.key, other.key}


def test_the_last_of_several_results_counts(store):
    for x in (1.0, 2.0):
        store.add(GOOD, {"metrics": {"x": x}, "times": {}, "error": None})
    (line,) = store.lines()
    assert line["metrics"]["x"] == 2.0


def test_a_dying_worker_costs_its_own_cell_only():
    deadly, others = Cell("deadly", "xgb", "inp"), [Cell(name, "xgb", "inp") for name in "ab"]
    found = dict(runner.in_processes([others[0], deadly, others[1]], 2, fatal))
    assert found.keys() == {deadly, *others}
    assert found[deadly]["error"] == runner.DIED
    assert all(found[cell]["error"] is None for cell in others)


def test_a_cell_is_read_back_from_its_line():
    cell = Cell("breast", "lgb", "paper", {"k": 8, "objective": "co"}, 3, "paper")
    assert Cell.of(json.loads(json.dumps(cell.to_dict()))) == cell
    assert cell.family == "real-lgb"
    assert Cell("int2-3c", "xgb", "inp").family == "rankings"


@pytest.mark.parametrize("protocol", ["clean", "paper"])
@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_cells_each_once(table, protocol):
    for scope in (QUICK, USUAL, WHOLE):
        found = cells(table, protocol, scope)
        assert found == list(unique(found))
        assert {cell.protocol for cell in found} == {protocol}
        assert found


def test_quick_cells_touch_every_table_and_are_few():
    assert all(0 < len(cells(table, "clean", QUICK)) <= 40 for table in PLANS)


def test_the_whole_grid_has_what_the_paper_tries():
    found = cells("all", "paper", WHOLE)
    assert {cell.setting["k"] for cell in found if "k" in cell.setting} == {2, 4, 8, 16, 32}
    assert {cell.black_box for cell in found} == {"truth", "xgb", "lgb", "ctb"}
    assert {cell.setting["samples"] for cell in found if cell.method == "lore"} == {300, 1000}
    assert {cell.key for cell in cells("all", "paper")} < {cell.key for cell in found}
