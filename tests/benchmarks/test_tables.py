import csv

import pytest
from benchmarks.markup import Figure, Grid, cell, markdown, marked, marks

from benchmarks import page, tables
from tests.benchmarks.lines import line, store


def rows(text, title):
    """Return the cells of the Markdown table under a title, by the first cell of each row."""
    body = text.split(f"**{title}**")[1].split("\n\n")[1]
    table = [[part.strip() for part in row.strip("|").split("|")] for row in body.splitlines()]
    return {row[0]: dict(zip(table[0][1:], row[1:], strict=True)) for row in table[2:]}


def ill(data, objective, k, **metrics):
    setting = {"objective": objective, "k": k}
    names = {name.replace("__", "."): value for name, value in metrics.items()}
    return line(data, "xgb", "paper", setting, metrics=names)


def test_the_best_is_bold_and_the_second_underlined_and_ties_share():
    figures = [Figure(0.5001), Figure(0.9), Figure(0.5), Figure(), Figure(0.1)]
    assert marks(figures) == ["u", "b", "u", "", ""]
    assert marks(figures, True) == ["u", "", "u", "", "b"]
    assert marks([Figure(0.3), Figure(0.3)]) == ["b", "b"]
    assert marks([Figure(0.3), Figure()]) == ["", ""]
    assert marks(figures, None) == [""] * 5


def test_a_mean_of_fewer_cells_is_not_ranked_and_says_so():
    figures = [Figure(0.9, count=3), Figure(0.5, count=5), Figure(0.4, count=5)]
    assert marks(figures) == ["", "b", "u"]
    assert cell(figures[0], full=5) == ".900 [3]"


def test_of_the_two_best_the_less_sensitive_is_bold():
    best = {"a": 0.9, "b": 0.8, "c": 0.1}
    mad = {"a": 0.3, "b": 0.2, "c": 0.0}
    ours = {name: [Figure(best[name]), Figure(mad[name])] for name in best}
    grid = Grid("", ("best", "mad"), ours, summary=True)
    assert marked(grid, ours) == {"a": ["b", "u"], "b": ["u", "b"], "c": ["", ""]}


def test_what_was_not_run_is_a_dash_and_never_a_printed_figure():
    grid = Grid("", ("x",), {"a": [Figure()]}, {"a": [Figure(0.5)]})
    assert markdown(grid).splitlines()[-1] == "| x | – | .500 |"


def test_a_summary_is_the_mean_over_data_sets_of_the_validated_setting(tmp_path):
    name = "lr__slopes__robustness"
    lines = [
        ill("breast", "co", 2, **{name: 0.9, "lr__validation": 0.5}),
        ill("breast", "co", 8, **{name: 0.4, "lr__validation": 0.6}),
        ill("sonar", "co", 8, **{name: 0.6, "lr__validation": 0.6}),
    ]
    paths = tables.render(store(tmp_path / "cells", lines), tmp_path / "out")
    text = (tmp_path / "out" / "rq3-fi-clean.md").read_text()
    found = rows(text, "Robustness of slopes")
    assert found["chosen"]["ill (co)"] == ".500"
    assert found["chosen"]["illume"] == found["chosen"]["lime"] == "–"
    assert found["mad"]["ill (co)"] == ".250"  # of breast alone: sonar has one figure
    assert found["chosen"]["paper: lime"] == "**.978**"
    assert found["chosen"]["paper: ill (co)"] == "<u>.959</u>"
    assert "3 cells on 2 data sets" in text
    assert not any(path.name.endswith("-paper.md") for path in paths)


def test_cells_of_one_objective_do_not_fill_the_column_of_another(tmp_path):
    lines = [ill("breast", "co", 8, lr__slopes__faithfulness=0.9, lr__validation=0.5)]
    lines += [line(metrics={"lr.slopes.faithfulness": 0.3})]
    tables.render(store(tmp_path / "cells", lines), tmp_path / "out")
    found = rows((tmp_path / "out" / "rq3-fi-clean.md").read_text(), "Faithfulness of slopes")
    assert (found["chosen"]["ill (.)"], found["chosen"]["inp"]) == ("–", ".300")


def test_the_paper_protocol_takes_slopes_of_some_and_contributions_of_others(tmp_path):
    def one(method, setting, kind, value):
        metrics = {f"lr.{kind}.robustness": value}
        return line("breast", "xgb", method, setting, metrics=metrics, protocol="paper")

    lines = [one("lime", {"samples": n}, "slopes", value) for n, value in ((100, 0.7), (5000, 0.5))]
    lines += [one("shap", {}, "contributions", 0.4), one("inp", {}, "slopes", 0.9)]
    tables.render(store(tmp_path / "cells", lines), tmp_path / "out")
    found = rows((tmp_path / "out" / "rq3-fi-paper.md").read_text(), "Robustness")["best"]
    assert (found["lime"], found["shap"], found["inp"]) == ("**.700**", "<u>.400</u>", "–")


def test_seneca_is_a_mean_over_problems_with_accuracy_in_parentheses(tmp_path):
    metrics = [{"dt.rules.cplt": value, "dt.agreement": 0.7} for value in (0.2, 0.4)]
    lines = [line(f"seneca-rb-4+0-{i}", "truth", metrics=one) for i, one in enumerate(metrics)]
    tables.render(store(tmp_path / "cells", lines), tmp_path / "out")
    found = rows((tmp_path / "out" / "rq2-rules-clean.md").read_text(), "Decision rule correctness")
    assert found["inp"]["4+0"] == ".300 (70.0)"
    assert found["inp"]["paper: 4+0"] == "<u>.545</u> (70.5)"
    assert found["inp"]["8+0"] == "–"
    with (tmp_path / "out" / "rq2-rules-clean.csv").open() as file:
        first = next(row for row in csv.DictReader(file) if row["method"] == "inp")
    assert (first["case"], first["ours"], first["paper"], first["cells"]) == ("4+0", "0.3", "0.545", "2")


def test_failed_cells_and_fewer_rows_are_named_under_the_table(tmp_path):
    error = "MemoryError: too much (a.py:1)"
    lines = [line(data, "lgb", "anchor", error=error) for data in ("breast", "sonar")]
    times = {"fit_s": 0.0, "explain_s": 5.0, "rows": 20}
    lines += [line("home", "lgb", "lore", metrics={"dt.rules.robustness": 0.2}, times=times)]
    tables.render(store(tmp_path / "cells", lines), tmp_path / "out")
    text = (tmp_path / "out" / "a-rules-lgb-clean.md").read_text()
    assert "Failed: 2 (anchor 2 × `MemoryError: too much (a.py:1)`)" in text
    assert "lore 20 (1 runs)" in text
    assert rows(text, "Robustness")["breast"]["anchor"] == "–"
    assert "Protocol clean:" in text


def test_times_are_those_of_the_most_correct_setting(tmp_path):
    def one(k, cs, seconds):
        times = {"fit_s": seconds, "explain_s": 10.24, "rows": 1024}
        setting = {"objective": "co", "k": k}
        metrics = {"lr.slopes.cs": cs, "lr.agreement": 0.8}
        others = {"metrics": metrics, "times": times, "protocol": "paper"}
        return line("seneca-rc-4+0-0", "truth", "paper", setting, **others)

    tables.render(store(tmp_path / "cells", [one(2, 0.1, 5.0), one(8, 0.6, 50.0)]), tmp_path / "out")
    text = (tmp_path / "out" / "rq4-times-paper.md").read_text()
    assert rows(text, "Training (s)")["ill (co)"]["4+0"] == "50.0"
    assert "ill (co): a machine" in text
    assert rows(text, "Explaining, per row (s)")["ill (co)"]["4+0"] == "1.0e-2"


def test_clean_tables_keep_slopes_and_contributions_apart(tmp_path):
    metrics = {"lr.slopes.pgi": 0.1, "lr.contributions.pgi": 0.3, "lr.slopes.pgu": 0.2, "lr.agreement": 0.9}
    tables.render(store(tmp_path / "cells", [line(method="illume", metrics=metrics)]), tmp_path / "out")
    slopes = (tmp_path / "out" / "slopes-clean.md").read_text()
    sums = (tmp_path / "out" / "contributions-clean.md").read_text()
    assert "| illume | – | – | – | – | – | – | .100 | .200 | .900 |" in slopes
    assert "| illume | – | – | – | – | – | – | .300 | – | .900 |" in sums
    assert "shap" not in slopes.split("\n\n")[1]


def test_the_page_lists_what_was_run_and_what_was_not(tmp_path):
    metrics = {"dt.rules.robustness": 0.4, "dt.agreement": 0.9}
    times = {"fit_s": 1800.0, "explain_s": 1800.0, "rows": 114}
    results = store(tmp_path / "cells", [line(metrics=metrics, times=times)])
    page.write(results, tmp_path / "docs" / "results.md")
    text = (tmp_path / "docs" / "results.md").read_text()
    assert "1 runs, 0 of them failed, on 1 data sets; 1.0 hours in all." in text
    assert "a machine (1 runs)" in text
    assert "- RQ1: quality of the latent space, protocol clean: the whole table" in text
    assert "Figures, protocol paper: cd-space" in text
    assert text.index("Tables, protocol clean") < text.index("What was not run")


@pytest.mark.parametrize("protocol", ["clean", "paper"])
def test_nothing_run_gives_no_table_but_a_page(tmp_path, protocol, capsys):
    (tmp_path / "cells").mkdir()
    assert tables.render(tmp_path / "cells", tmp_path / "out", (protocol,)) == []
    assert "no cell was run" in capsys.readouterr().out
    page.write(tmp_path / "cells", tmp_path / "results.md")
    assert "Nothing has been run yet." in (tmp_path / "results.md").read_text()
