import numpy as np
import pandas as pd
import pytest

from illume.data.frames import as_frame


@pytest.mark.parametrize("words", [(), ("--encoded",)])
def test_export_writes_a_graph_that_explains_like_the_file(run, folder, tmp_path, words, loaded):
    runtime = pytest.importorskip("onnxruntime")
    answer = run("export", folder / "loans.illume", tmp_path / "a.onnx", *words)
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


def test_export_refuses_what_cannot_be_done(run, tmp_path, monkeypatch, explainer):
    monkeypatch.chdir(tmp_path)
    for words, code, said in (
        ((explainer, "a.txt"), 2, "must end in .onnx"),
        ((explainer, "nowhere/a.onnx"), 1, "create it first"),
        (("nowhere.illume", "a.onnx"), 1, "does not exist"),
    ):
        answer = run("export", *words)
        assert answer.exit_code == code
        assert said in answer.stderr
    assert not list(tmp_path.iterdir())


def test_a_report_is_written_at_once_and_stdout_stays_empty(run, explainer, model, folder, tmp_path):
    out = tmp_path / "report.html"
    words = ("report", explainer, folder / "new.csv", "--model", model, "--trust-model --title", "Loans <1>")
    answer = run(*words, "-o", out)
    assert (answer.exit_code, answer.stdout) == (0, ""), answer.stderr
    assert answer.stderr.splitlines()[-1].startswith(f"Report written to {out} (")
    assert "Loans &lt;1&gt;" in out.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_report_must_be_html(run, explainer, folder, tmp_path):
    answer = run(
        "report",
        explainer,
        folder / "new.csv",
        "--model",
        folder / "own.joblib",
        "-o",
        tmp_path / "report.pdf",
    )
    assert answer.exit_code == 2
    assert "must end in .html" in answer.stderr


def test_a_report_needs_the_model_and_names_it(run, explainer, model, folder, tmp_path):
    answer = run("report", explainer, folder / "new.csv", "-o", tmp_path / "report.html")
    assert answer.exit_code == 2
    assert f"give it with --model {model}" in answer.stderr
