import json

import pytest

import illume


def test_show_prints_schema_quality_and_versions(run, explainer):
    answer = run("show", explainer)
    assert (answer.exit_code, answer.stderr) == (0, "")
    for words in (
        "'grant' or 'refuse'",
        "education  categorical  high, low, middle",
        "Contributions: trust ",
        "report rows",
        "always the most common decision",
        "contributions shapley, effort standard",
        "Rules of",
    ):
        assert words in answer.stdout
    assert f"illume {illume.__version__}" in answer.stdout


def test_show_in_json_says_the_same(run, explainer, loaded):
    shown = json.loads(run("show", explainer, "--json").stdout)
    assert shown["classes"] == ["grant", "refuse"]
    assert [feature["name"] for feature in shown["features"]] == list(loaded.schema_.names)
    assert shown["features"][3]["categories"] == ["high", "low", "middle", "(missing)"]
    assert shown["quality"]["report"]["agreement"] == loaded.quality_.agreement
    assert shown["quality"]["majority"] == loaded.quality_.majority
    assert shown["quality"]["contributions"]["n_rows"] == loaded.quality_.contributions.n_rows
    assert shown["versions"]["illume"] == illume.__version__


@pytest.mark.parametrize("command", [("show",), ("rules",), ("explain", "ROWS")])
def test_a_file_that_is_no_explainer_is_refused(run, folder, command):
    words = [folder / "new.csv" if word == "ROWS" else word for word in command]
    answer = run(words[0], folder / "loans.csv", *words[1:])
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert answer.stderr.startswith("error: loans.csv: ")


def test_rules_show_the_global_view(run, explainer, loaded):
    answer = run("rules", explainer)
    assert answer.exit_code == 0, answer.stderr
    assert "a typical rule" in answer.stdout
    leaves = json.loads(run("rules", explainer, "--json").stdout)
    assert len(leaves) == len(loaded.rule_set())
    assert sum(leaf["support"] for leaf in leaves) == pytest.approx(1.0)
