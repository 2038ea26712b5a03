import json

import numpy as np
import pandas as pd
import pytest

import illume
from illume.data.frames import as_frame


def test_show_prints_schema_quality_and_versions(run, explainer):
    answer = run("show", explainer)
    assert (answer.exit_code, answer.stderr) == (0, "")
    for words in (
        "'grant' or 'refuse'",
        "education  categorical  high, low, middle",
        "Contributions: exact",
        "Twin: the model itself",
        "Latent surrogate, behind slopes, latents and rules",
        "contributions shapley, twin auto, scale auto, effort standard",
        "140 of 140 training rows; not the model",
        "Rules of",
    ):
        assert words in answer.stdout
    assert f"illume {illume.__version__}" in answer.stdout


def test_show_in_json_says_the_same(run, explainer, loaded):
    shown = json.loads(run("show", explainer, "--json").stdout)
    assert shown["classes"] == ["grant", "refuse"]
    assert shown["rows"] == {"held": 140, "of": 140}
    assert [feature["name"] for feature in shown["features"]] == list(loaded.schema_.names)
    assert shown["features"][3]["categories"] == ["high", "low", "middle", "(missing)"]
    assert shown["quality"]["report"]["agreement"] == loaded.quality_.agreement
    assert shown["quality"]["majority"] == loaded.quality_.majority
    assert shown["quality"]["exact"] is loaded.quality_.exact is True
    assert shown["quality"]["surrogate"]["report"]["r2"] == loaded.quality_.surrogate.r2
    assert shown["versions"]["illume"] == illume.__version__


@pytest.mark.parametrize("command", [("show",), ("rules",), ("explain", "ROWS")])
def test_a_file_that_is_no_explainer_is_refused(run, folder, command):
    words = [folder / "new.csv" if word == "ROWS" else word for word in command]
    answer = run(words[0], folder / "loans.csv", *words[1:])
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert answer.stderr.startswith("error: loans.csv: ")


def test_rules_show_the_global_view(run, explainer, loaded):
    answer = run("rules", explainer, "--max-rules", "2", "--precision", "0.8", "--max-conditions", "2")
    assert answer.exit_code == 0, answer.stderr
    found = loaded.rule_set(max_rules=2, precision=0.8, max_conditions=2)
    assert answer.stdout == f"{found}\n"
    assert json.loads(run("rules", explainer, "--json").stdout) == loaded.rule_set().to_dict()


@pytest.fixture(scope="module")
def drifted(folder, rows):
    path = folder / "drifted.csv"
    rows.assign(age=900).to_csv(path, index=False)
    return path


def test_rows_that_look_alike_exit_with_0(run, explainer, folder, model):
    answer = run("check", explainer, folder / "new.csv", "--model", model, "--trust-model")
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert "explanations apply" in answer.stdout
    assert "agreement of twin and model on 12" in answer.stdout


def test_rows_that_drifted_exit_with_3_and_say_why(run, explainer, drifted, loaded):
    answer = run("check", explainer, drifted, "--json")
    assert answer.exit_code == 3
    assert "without the model" in answer.stderr
    found = json.loads(answer.stdout)
    assert not found["ok"]
    assert any("age is outside" in warning for warning in found["warnings"])
    assert found["agreement"] is None


def test_an_infinite_number_is_named_by_file_and_row(run, explainer, rows, tmp_path):
    rows.assign(income=[*range(11), "inf"]).to_csv(tmp_path / "new.csv", index=False)
    answer = run("check", explainer, tmp_path / "new.csv", "-q")
    assert answer.exit_code == 1
    assert f"holds inf in row 11 of {tmp_path / 'new.csv'} (rows count from 0)" in answer.stderr


def test_a_folder_of_parquet_files_is_checked_too(run, explainer, rows, tmp_path, model):
    rows[:5].to_parquet(tmp_path / "a.parquet")
    rows[5:].to_parquet(tmp_path / "b.parquet")
    answer = run("check", explainer, tmp_path, "--model", model, "--trust-model -q")
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert answer.stdout.startswith("Check of 12 rows: explanations apply")
    (tmp_path / "a.parquet").unlink()
    rows.assign(age=900).to_parquet(tmp_path / "b.parquet")
    assert run("check", explainer, tmp_path, "-q").exit_code == 3


def test_the_help_names_the_exit_code(run):
    assert "3  `illume check`" in run("--help").stdout
    assert "exit code is 0" in run("check", "--help").stdout


@pytest.fixture(scope="module")
def learned(run, folder, model, fast):
    """The file of an explainer that learned the model."""
    words = ("--twin learned --n-latents 3 --queries 300 --target decision --trust-model --model", model)
    answer = run("fit", folder / "loans.csv", *words, "-o", folder / "learned.illume")
    assert answer.exit_code == 0, answer.stderr
    return folder / "learned.illume"


@pytest.mark.parametrize("words", [(), ("--encoded",)])
def test_export_writes_a_graph_that_explains_like_the_file(run, folder, tmp_path, words, learned):
    runtime, loaded = pytest.importorskip("onnxruntime"), illume.load(learned)
    answer = run("export", learned, tmp_path / "a.onnx", *words)
    assert (answer.exit_code, answer.stdout) == (0, ""), answer.stderr
    assert "Graph written to" in answer.stderr
    session = runtime.InferenceSession(str(tmp_path / "a.onnx"), providers=["CPUExecutionProvider"])
    frame = pd.read_csv(folder / "new.csv").dropna()[list(loaded.schema_.names)]
    if words:
        given = {"X": loaded.fitted_.encoding.transform(as_frame(frame)).X.astype(np.float32)}
    else:
        texts = frame[["owner", "education"]].astype(str).to_numpy(dtype=object)
        given = {"numbers": frame[["age", "income"]].to_numpy(dtype=float), "categories": texts}
    (found,) = session.run(["probabilities"], given)
    np.testing.assert_allclose(found, loaded(frame).surrogate_probabilities, atol=1e-5)


def test_what_was_read_is_not_exported_and_the_option_is_named(run, explainer, tmp_path):
    answer = run("export", explainer, tmp_path / "a.onnx")
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert "fit with --twin learned" in answer.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "case",
    [
        (("export", "EXPLAINER", "a.txt"), 2, "must end in .onnx"),
        (("export", "EXPLAINER", "nowhere/a.onnx"), 1, "create it first"),
        (("export", "nowhere.illume", "a.onnx"), 1, "does not exist"),
        (("report", "EXPLAINER", "ROWS", "--model own.joblib -o report.pdf"), 2, "must end in .html"),
        (("report", "EXPLAINER", "ROWS", "-o report.html"), 2, "give it with --model FILE --trust-model"),
    ],
)
def test_outputs_that_cannot_be_written_are_refused(run, model, tmp_path, monkeypatch, case):
    words, code, said = case
    monkeypatch.chdir(tmp_path)
    paths = {"EXPLAINER": model.parent / "loans.illume", "ROWS": model.parent / "new.csv"}
    answer = run(*(paths.get(word, word) for word in words))
    assert answer.exit_code == code
    assert said in answer.stderr
    assert not list(tmp_path.iterdir())


def test_a_report_measures_the_model_on_a_target_column(run, explainer, model, folder, tmp_path):
    rows, out = tmp_path / "labelled.csv", tmp_path / "report.html"
    rows.write_text((folder / "loans.csv").read_text())
    words = ("report", explainer, rows, "--model", model, "--trust-model", "-o", out, "--target")
    assert run(*words, "decision").exit_code == 0
    assert "Confusion matrix" in out.read_text()
    answer = run(*words, "decisions")
    assert answer.exit_code == 1
    assert "--target names 'decisions'" in answer.stderr


def test_a_report_is_written_at_once_and_stdout_stays_empty(run, explainer, model, folder, tmp_path):
    out = tmp_path / "report.html"
    words = ("report", explainer, folder / "new.csv", "--model", model, "--trust-model --title", "Loans <1>")
    answer = run(*words, "-o", out)
    assert (answer.exit_code, answer.stdout) == (0, ""), answer.stderr
    assert answer.stderr.splitlines()[-1].startswith(f"Report written to {out} (")
    assert "Loans &lt;1&gt;" in out.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
