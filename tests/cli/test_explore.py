"""`illume explore`: a page of rows to change, from files."""

import pytest

from tests.report.common import data_of


@pytest.fixture
def explore(run, explainer, folder, tmp_path, monkeypatch):
    """Call `illume explore` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: run("explore", explainer, folder / "new.csv", *words)


def test_the_explorer_is_written_to_its_usual_name_and_stdout_stays_empty(explore, model, tmp_path):
    answer = explore("--model", model, "--trust-model --title", "Loans <1>")
    assert (answer.exit_code, answer.stdout) == (0, ""), answer.stderr
    assert answer.stderr.splitlines()[-1].startswith("Explorer written to explorer.html (")
    page = tmp_path / "explorer.html"
    assert "Loans &lt;1&gt;" in page.read_text("utf-8")
    found = data_of(page)
    assert (found["engine"]["rows"]["n"], found["rows"]["has_model"]) == (12, True)
    assert explore().stderr.splitlines()[-1].startswith("Explorer written to explorer-2.html (")


def test_without_the_model_its_twin_answers(explore, tmp_path):
    answer = explore("--max-rows 3 -o page.html")
    assert answer.exit_code == 0, answer.stderr
    assert "without the model, its twin answers" in answer.stderr
    found = data_of(tmp_path / "page.html")
    assert (found["engine"]["rows"]["n"], found["rows"]["has_model"]) == (3, False)


def test_labels_positive_class_and_threshold_are_those_of_the_question(explore, tmp_path):
    (tmp_path / "labels.csv").write_text("column,label,unit\nage,Age of the customer,years\n")
    answer = explore("--positive-class grant --threshold 0.3 -q --labels labels.csv")
    assert (answer.exit_code, answer.stderr) == (0, ""), answer.stderr
    engine = data_of(tmp_path / "explorer.html")["engine"]
    age = next(feature for feature in engine["features"] if feature["name"] == "age")
    assert (age["label"], age["unit"]) == ("Age of the customer", "years")
    names = engine["outputs"]["names"]
    assert names[engine["outputs"]["positive"]] == "grant"
    assert engine["outputs"]["threshold"] == {"class": names.index("grant"), "value": 0.3}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("-o page.pdf", 2, "must end in .html"),
        ("--max-rows 0", 2, "--max-rows"),
        ("--threshold 2", 2, "--threshold must be a probability"),
        ("--labels nowhere.csv", 1, "nowhere.csv"),
        ("--no-hold-model", 1, "--no-hold-model leaves the model out of the page"),
        ("--no-hold-model", 1, "fit with --twin learned"),
    ],
)
def test_what_cannot_be_written_or_makes_no_sense_is_refused(explore, tmp_path, words, code, said):
    answer = explore(words)
    assert (answer.exit_code, answer.stdout) == (code, "")
    assert said in answer.stderr
    assert not list(tmp_path.iterdir())
