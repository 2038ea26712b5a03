"""Words of strangers on the command line: terminal codes, formulas, odd locales, large or ambiguous CSV."""

import gzip
import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import illume
from illume.cli import read_rows
from illume.cli.output import escape_formulas
from illume.data.class_outputs import Classes
from illume.data.schema import Feature, Kind
from illume.errors import SchemaError
from tests.io.common import forged

ESCAPE = "\x1b]0;owned\x07\x1b[31m\x9b31m\x9d0;owned\x9c"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def hostile(explainer, tmp_path):
    """A file with terminal codes in the names of classes, and in a version."""

    def change(manifest):
        manifest["outputs"]["names"] = [f"{name}\u202e{ESCAPE}" for name in manifest["outputs"]["names"]]
        manifest["libraries"] |= {"illume": f"1{ESCAPE}"}

    path = tmp_path / "hostile.illume"
    path.write_bytes(forged(explainer, change))
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("show",),
        ("show", "--json"),
        ("rules",),
        ("explain", "ROWS"),
        ("explain", "ROWS", "--long"),
        ("explain", "ROWS", "-k rules"),
        ("explain", "ROWS", "--json"),
        ("explain", "ROWS", "--positive-class nobody"),
        ("explain", "ROWS", "--positive-class nobody --debug"),
    ],
)
def test_codes_for_the_terminal_are_shown_and_not_obeyed(run, hostile, folder, words):
    rest = [folder / "new.csv" if word == "ROWS" else word for word in words[1:]]
    answer = run(words[0], hostile, *rest)
    assert "owned" in answer.stdout + answer.stderr
    assert not CONTROL.search(answer.stdout + answer.stderr)


def test_files_and_json_hold_names_as_they_are(run, hostile, folder, tmp_path):
    name = illume.load(hostile).class_names_[1]
    assert CONTROL.search(name)
    words = ("explain", hostile, folder / "new.csv", "-q")
    assert run(*words, "-o", tmp_path / "out.csv").exit_code == 0
    assert set(pd.read_csv(tmp_path / "out.csv")["output"]) == {name}
    lines = [json.loads(line) for line in run(*words, "--json").stdout.splitlines()]
    assert {line["output"] for line in lines} == {name}


def test_what_python_prints_holds_no_codes_either(hostile):
    loaded = illume.load(hostile)
    for shown in (loaded.schema_, loaded.quality_, loaded.rule_set()):
        assert not CONTROL.search(repr(shown))


def test_halves_of_characters_are_refused_at_fit_and_load(explainer, tmp_path, rows):
    half = "\udc80"
    texts = np.array([["b"], ["c" + half]] * 20, dtype=object)
    with pytest.raises(SchemaError, match=r"feature 'x0': the category 'c.udc80' holds half of a character"):
        illume.Explainer(lambda rows: np.zeros(len(rows)), verbose=False).fit(texts)
    with pytest.raises(SchemaError, match=r"the feature .* holds half"):
        Feature("a" + half, Kind.NUMERIC)
    with pytest.raises(SchemaError, match=r"the class 'yes.udc80' holds half"):
        Classes(("no", "yes" + half))

    def change(manifest):
        manifest["outputs"]["names"][0] += half

    (tmp_path / "half.illume").write_bytes(forged(explainer, change))
    with pytest.raises(illume.errors.FormatError, match="half of a character"):
        illume.load(tmp_path / "half.illume")


@pytest.mark.parametrize("words", [("--help",), ("show", "EXPLAINER"), ("explain", "EXPLAINER", "ROWS")])
def test_any_locale_will_do(explainer, folder, words):
    given = {"EXPLAINER": str(explainer), "ROWS": str(folder / "new.csv")}
    plain = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "illume", *(given.get(word, word) for word in words)]
    done = subprocess.run(command, env={**os.environ, **plain}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode("utf-8")


def test_texts_that_spreadsheets_would_run_get_an_apostrophe_and_numbers_do_not():
    frame = pd.DataFrame(
        {
            "@name": ["=1+1", "+1+1", "-1\n=2", "@a", "\tb", "\rc", "d", None],
            "text": ["-1", "+1.5e-3", "-", "-.5", "-1e5x", "-a", "--1", "-1 1"],
            "number": np.arange(8) - 5.0,
            "kind": pd.Categorical(["=x", "y"] * 4),
            "mixed": np.array([-5, "-5", True, None] * 2, dtype=object),
        }
    )
    found = escape_formulas(frame)
    assert found.columns.tolist() == ["'@name", "text", "number", "kind", "mixed"]
    assert found["'@name"].tolist()[:7] == ["'=1+1", "'+1+1", "'-1\n=2", "'@a", "'\tb", "'\rc", "d"]
    assert found["text"].tolist() == ["-1", "+1.5e-3", "-", "-.5", "'-1e5x", "'-a", "'--1", "'-1 1"]
    assert found["number"].equals(frame["number"])
    assert found["kind"].tolist()[:2] == ["'=x", "y"]
    assert found["mixed"].tolist()[:3] == [-5, "-5", True]
    assert frame.columns[0] == "@name"


def test_explain_escapes_what_it_copies_unless_told_not_to(run, explainer, folder, tmp_path):
    table = pd.read_csv(folder / "new.csv").assign(customer='=HYPERLINK("http://a")')
    table.to_csv(tmp_path / "new.csv", index=False)
    words = ("explain", explainer, tmp_path / "new.csv", "--keep customer -q")
    escaped, plain = run(*words), run(*words, "--no-escape")
    assert (escaped.exit_code, plain.exit_code) == (0, 0), escaped.stderr
    assert escaped.stdout.count("'=HYPERLINK") == len(table)
    assert "'=" not in plain.stdout
    assert plain.stdout.count("=HYPERLINK") == len(table)


def test_a_compressed_csv_that_becomes_large_is_refused(run, explainer, tmp_path, monkeypatch):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"age\n" + b"1\n" * 2_000_000))
    monkeypatch.setenv("ILLUME_MAX_BYTES", "3e6")
    answer = run("explain", explainer, path)
    assert answer.exit_code == 1
    assert "MB when it is decompressed; if you trust it, set ILLUME_MAX_BYTES" in answer.stderr
    monkeypatch.setenv("ILLUME_MAX_BYTES", "1e8")
    assert len(read_rows.read_rows(path)) == 2_000_000


@pytest.mark.parametrize("head", ["a,b,a", 'a;"b";"a"'])
def test_a_column_that_is_there_twice_is_named(run, explainer, tmp_path, head):
    path = tmp_path / "twice.csv"
    path.write_text(f"{head}\n1,2,3\n")
    answer = run("explain", explainer, path)
    assert answer.exit_code == 1
    assert "names 'a' for more than one column; rename or remove all but one" in answer.stderr
    with pytest.raises(SchemaError, match="a"):
        illume.Explainer(np.zeros).fit(pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "b", "a"]))
