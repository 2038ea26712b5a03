import numpy as np
import pytest

from tests.io.test_golden import FILES, rows

FILE = FILES / "version4.illume"


@pytest.mark.parametrize("words", [(), ("--encoded",)])
def test_export_writes_a_graph_that_explains_like_the_file(run, tmp_path, words):
    import illume

    runtime = pytest.importorskip("onnxruntime")
    answer = run("export", FILE, tmp_path / "a.onnx", *words)
    assert (answer.exit_code, answer.stdout) == (0, "")
    assert "Graph written to" in answer.stderr
    session = runtime.InferenceSession(str(tmp_path / "a.onnx"), providers=["CPUExecutionProvider"])
    explainer, frame = illume.load(FILE), rows()
    if words:
        from illume.data.frames import as_frame

        columns = explainer.fitted_.encoding.transform(as_frame(frame)).X
        given = {"X": columns.astype(np.float32)}
    else:
        texts = frame[["education", "owner"]].astype(str).to_numpy(dtype=object)
        given = {"numbers": frame[["age", "income"]].to_numpy(dtype=float), "categories": texts}
    (found,) = session.run(["probabilities"], given)
    np.testing.assert_allclose(found, explainer(frame).surrogate_probabilities, atol=1e-5)


@pytest.mark.parametrize(
    ("words", "answered"),
    [
        ((FILE, "a.txt"), (2, "must end in .onnx")),
        (("nowhere.illume", "a.onnx"), (1, "does not exist")),
        ((FILE, "nowhere/a.onnx"), (1, "make it first")),
    ],
)
def test_export_refuses_what_cannot_be_done(run, tmp_path, monkeypatch, words, answered):
    monkeypatch.chdir(tmp_path)
    answer = run("export", *words)
    assert answer.exit_code == answered[0]
    assert answered[1] in answer.stderr
    assert not list(tmp_path.iterdir())
