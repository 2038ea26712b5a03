import pandas as pd
import pytest
from benchmarks.paper import Column

from benchmarks import figures, ranks, selection
from tests.benchmarks.lines import line, store

DATA = ("breast", "sonar", "home", "wine", "yeast", "spam")
RULES = "dt.rules.robustness"


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
    cells = selection.cells(selection.read(store(folder, lines)))
    return ranks.ranking(cells, "clean", "Robustness", dict.fromkeys(columns, RULES))


def test_ranks_go_from_the_best_and_friedman_sees_that_they_are_always_the_same(tmp_path):
    found = ranked(tmp_path, rule_cells())
    assert found.ranks().to_dict() == {"illume": 1.0, "inp": 2.0, "lore": 3.0, "anchor": 4.0}
    # all ranks alike: chi² is n (k - 1) = 18 on 3 degrees of freedom
    assert found.friedman() == pytest.approx(0.000440, abs=1e-6)


def test_a_method_with_a_missing_case_is_left_out_and_named(tmp_path):
    found = ranked(tmp_path, rule_cells(without={("anchor", "wine")}))
    assert list(found.values.columns) == ["illume", "inp", "lore"]
    assert "left out: anchor (5 of 6 cases)" in ranks.heading(found)
    assert "6 × 1 data sets × black boxes, Friedman p = " in ranks.heading(found)


def test_of_times_the_least_is_first(tmp_path):
    values = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "c": [5.0, 6.0]})
    assert ranks.Ranking("", values, True, {}).ranks()["a"] == 1.0
    assert ranks.Ranking("", values, False, {}).ranks()["a"] == 3.0


def test_figures_without_cells_are_skipped_and_said_so(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    (tmp_path / "cells").mkdir()
    assert figures.draw(tmp_path / "cells", tmp_path / "out", ("clean",)) == []
    assert "scaling (clean): cells are missing" in capsys.readouterr().out


def test_scaling_ends_with_the_cell_of_all_training_rows(tmp_path):
    pytest.importorskip("matplotlib")
    metric = {"lr.slopes.cs": 0.2}
    place = ("seneca-rc-4+0-0", "truth", "illume")
    lines = [line(*place, {"train_rows": 64}, metrics=metric), line(*place, metrics={"lr.slopes.cs": 0.5})]
    lines += [line("seneca-rc-4+0-0", "truth", "inp", metrics=metric)]  # was never run with fewer rows
    figure = figures.scaling(selection.cells(selection.read(store(tmp_path, lines))), "clean")
    (ax,) = figure.axes
    assert [list(drawn.get_xydata()[:, 0]) for drawn in ax.lines] == [[64.0, 1024.0]]
    assert list(ax.lines[0].get_ydata()) == [0.2, 0.5]


def test_times_are_training_plus_rows(tmp_path):
    pytest.importorskip("matplotlib")
    times = {"fit_s": 10.0, "explain_s": 1.024, "rows": 1024}
    place = ("seneca-rc-4+0-0", "truth", "illume")
    lines = [line(*place, metrics={"lr.slopes.cs": 0.2, "lr.validation": 0.9}, times=times)]
    figure = figures.times(selection.cells(selection.read(store(tmp_path, lines))), "clean")
    assert list(figure.axes[0].lines[0].get_ydata()) == pytest.approx([10.1, 11.0, 20.0])


def test_critical_differences_are_drawn_as_png_and_svg(tmp_path):
    pytest.importorskip("scikit_posthocs")
    results = store(tmp_path / "cells", rule_cells())
    names = {path.name for path in figures.draw(results, tmp_path / "out", ("clean",))}
    assert {"cd-rules-clean.png", "cd-rules-clean.svg"} <= names
