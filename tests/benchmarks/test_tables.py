"""Tables, figures and page of the paper's evaluation."""

import csv

import pandas as pd
import pytest
from benchmarks.evaluation import figures, page, ranks, tables
from benchmarks.evaluation.paper import Column
from benchmarks.markup import Figure, Grid, figure_text, grid_marks, grid_text, rank_marks

from tests.benchmarks.lines import averaged, line, store

CS = "lr.slopes.cs"
RULES = "dt.rules.robustness"
DATA = ("breast", "sonar", "home", "wine", "yeast", "spam")


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
