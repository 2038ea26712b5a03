"""The positive class and the threshold on the command line."""

import io
import json
from copy import copy

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def answer(run, explainer, model, folder):
    def call(command, *words, rows=folder / "new.csv"):
        return run(command, explainer, rows, "--model", model, "--trust-model", *words)

    return call


def table(found):
    assert found.exit_code == 0, found.stderr
    return pd.read_csv(io.StringIO(found.stdout))


def test_explanations_are_for_the_class_that_is_named(answer, loaded, rows):
    found = table(answer("explain", "--positive-class grant"))
    wanted = loaded(rows, positive_class="grant")
    assert set(found["output"]) == {"grant"}
    np.testing.assert_allclose(found[list(wanted.feature_names)], wanted.values, atol=1e-9)


@pytest.mark.parametrize("kind", ["attributions", "rules"])
def test_a_threshold_decides(answer, loaded, rows, kind):
    found = table(answer("explain", "-k", kind, "--threshold 0.1"))
    refused = loaded(rows).probabilities[:, 1] >= 0.1
    assert found["decision"].tolist() == np.where(refused, "refuse", "grant").tolist()


def test_a_folder_is_decided_by_the_threshold_too(answer, rows, tmp_path):
    (tmp_path / "rows").mkdir()
    rows.to_parquet(tmp_path / "rows" / "a.parquet")
    words = ("--threshold 0.1", "--positive-class refuse", "--workers 0", "-o", tmp_path / "out")
    found = answer("explain", *words, rows=tmp_path / "rows")
    assert found.exit_code == 0, found.stderr
    wanted = table(answer("explain", "--threshold 0.1"))["decision"].tolist()
    assert pd.read_parquet(tmp_path / "out")["decision"].tolist() == wanted


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "--positive-class maybe",
            "--positive-class 'maybe' is not known; choose one of ['grant', 'refuse']",
        ),
        ("--threshold 1.5", "--threshold must be a probability above 0 and below 1, found 1.5"),
    ],
)
def test_what_makes_no_sense_is_refused(answer, words, said):
    found = answer("explain", words)
    assert found.exit_code == 2
    assert said in " ".join(found.stderr.split())


def test_a_threshold_of_a_check_and_of_rules_is_that_of_the_named_class(run, answer, explainer, loaded):
    found = run("rules", explainer, "--positive-class grant --threshold 0.9")
    assert found.exit_code == 0, found.stderr
    other = copy(loaded).set_params(positive_class="grant", threshold=0.9)
    assert found.stdout.strip() == repr(other.rule_set())
    assert answer("check", "--positive-class grant --threshold 0.9").exit_code == 0
    assert "'never'" in answer("check", "--positive-class never").stderr


def test_show_says_what_was_asked(run, loaded, tmp_path):
    labels = {"age": {"label": "Age", "unit": "years"}}
    asked = copy(loaded).set_params(positive_class="grant", threshold=0.9, labels=labels)
    asked.save(tmp_path / "asked.illume")
    shown = run("show", tmp_path / "asked.illume").stdout
    for line in ("Positive   grant", "Threshold  0.9", "Labels     age: Age [years]"):
        assert line in shown
    known = json.loads(run("show", tmp_path / "asked.illume", "--json").stdout)
    assert (known["positive_class"], known["threshold"]) == ("grant", 0.9)
