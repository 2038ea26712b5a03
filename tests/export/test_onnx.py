"""A graph of ONNX says what the explainer says."""

import copy
import json
import os
import pathlib
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import illume
from illume import Feature, Kind
from illume.data.encoding import Encoding
from illume.data.frames import as_frame
from illume.data.later import Later
from illume.data.schema import MISSING, Other, Schema
from illume.errors import ExportError, MissingExtraError, SaveError
from illume.io.onnx_export import Graph, fill_missing, scale_rows
from tests.export.conftest import assert_close

runtime = pytest.importorskip("onnxruntime")

OUTPUTS = ("slopes", "contributions", "score", "predictions", "latents", "offset")
CLASSES = {"score": "log_odds", "predictions": "probabilities"}  # what classifiers call these


def session(path):
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def raw(schema, frame):
    """Return the rows of a frame as the graph reads them."""
    frame = frame[list(schema.names)]
    numbers = [feature.name for feature in schema.features if feature.numeric]
    texts = [feature.name for feature in schema.features if not feature.numeric]
    given = {}
    if numbers:
        given["numbers"] = frame[numbers].to_numpy(dtype=np.float64)
    if texts:
        columns = [[MISSING if pd.isna(v) else str(v) for v in frame[name]] for name in texts]
        given["categories"] = np.array(columns, dtype=object).T
    return given


def answers(path, given):
    """Return the outputs of a graph, those of classifiers by the names of regressors."""
    graph = session(path)
    found = {output.name for output in graph.get_outputs()}
    names = [name if name in found else CLASSES[name] for name in OUTPUTS]
    assert set(names) == found
    return dict(zip(OUTPUTS, graph.run(list(names), given), strict=True))


def test_the_graph_explains_raw_and_encoded_rows_as_the_explainer_does_any_number_at_a_time(
    explained, tmp_path
):
    explainer, rows, wanted = explained
    both = {"raw": raw(explainer.schema_, rows), "encoded": {"X": wanted["X"].astype(np.float32)}}
    for inputs, given in both.items():
        path = tmp_path / f"{inputs}.onnx"
        illume.export_onnx(explainer, path, inputs=inputs)
        for part in (slice(None), slice(0, 0), slice(3, 4), slice(5, 12)):
            found = answers(path, {name: values[part] for name, values in given.items()})
            for name in OUTPUTS:
                assert_close(found[name], wanted[name][part], wanted, name)
    illume.export_onnx(explainer, tmp_path / "again.onnx", inputs="raw")
    assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "raw.onnx").read_bytes()


def test_the_file_says_what_its_numbers_stand_for(explained, tmp_path):
    explainer, rows, wanted = explained
    illume.export_onnx(explainer, tmp_path / "a.onnx")
    model = session(tmp_path / "a.onnx").get_modelmeta()
    about = {name: json.loads(value) for name, value in model.custom_metadata_map.items()}
    assert about["features"] == list(explainer.schema_.names)
    assert about["inputs"] == list(explainer.fitted_.encoding.input_names)
    assert about["classes"] == [str(name) for name in explainer.class_names_]
    assert about["outputs"] == list(explainer.fitted_.outputs.explained)
    assert (about["task"], about["link"]) == (explainer.fitted_.outputs.task, explainer.fitted_.outputs.link)
    assert about["kind"] == ("pullback" if explainer.fitted_.kind == "pullback" else "shapley")
    np.testing.assert_allclose(about["base_values"], wanted["base_values"])
    found = answers(tmp_path / "a.onnx", raw(explainer.schema_, rows))
    total = found["contributions"].sum(-1) + about["base_values"] + found["offset"]
    np.testing.assert_allclose(total, found["score"], rtol=1e-9, atol=1e-9)
    assert model.producer_name == "illume"


@pytest.mark.parametrize("inputs", ["raw", "encoded"])
def test_shapley_values_add_up_to_the_models_scores_where_the_graph_reads_its_answers(
    explained, tmp_path, inputs
):
    explainer, rows, wanted = explained
    path = tmp_path / "a.onnx"
    if explainer.fitted_.kind == "pullback":
        with pytest.raises(ValueError, match="leave its predictions out"):
            illume.export_onnx(explainer, path, predictions=True)
        return
    illume.export_onnx(explainer, path, inputs=inputs, predictions=True)
    given = raw(explainer.schema_, rows) if inputs == "raw" else {"X": wanted["X"].astype(np.float32)}
    name = f"model_{explainer.fitted_.outputs.words[1]}"
    found = answers(path, {**given, name: wanted["model_answers"]})
    assert_close(found["contributions"], wanted["model_contributions"], wanted)
    assert_close(found["predictions"], wanted["predictions"], wanted)
    assert_close(found["score"], wanted["model_score"], wanted, tolerance=1e-9)
    total = found["contributions"].sum(-1) + wanted["base_values"]
    assert_close(total, wanted["model_score"], wanted, tolerance=1e-9)


def encoded_by_graph(encoding, given, path):
    graph = Graph()
    graph.output("encoded", fill_missing(graph, scale_rows(graph, encoding))[0], encoding.n_inputs)
    path.write_bytes(graph.to_bytes({}))
    return session(path).run(["encoded"], given)[0]


def test_missing_far_constant_unknown_and_rare_values_are_encoded_as_by_the_explainer(tmp_path):
    frame = pd.DataFrame(
        {
            "a": [2000.5, 2001.0, np.nan, 2003.0, 1e300],
            "same": [1.0] * 5,
            "b": pd.Series(["x", "y", None, "z", "rare"], dtype=object),
            "c": [True, False, True, True, False],
        }
    )
    schema = Schema(
        (
            Feature("a", Kind.NUMERIC, low=2000.0, high=2003.0),
            Feature("same", Kind.NUMERIC, low=1.0, high=1.0),
            Feature("b", Kind.CATEGORICAL, ("x", "y", Other.OTHER, None)),
            Feature("c", Kind.BOOLEAN, (False, True)),
        )
    )
    encoding = Encoding.fit(schema, as_frame(frame.head(4)), "ignore")
    found = encoded_by_graph(encoding, raw(schema, frame), tmp_path / "a.onnx")
    np.testing.assert_allclose(found, encoding.transform(as_frame(frame)).X, rtol=1e-12, atol=1e-12)


def test_what_was_there_before_stays_where_writing_fails(explained, tmp_path, monkeypatch):
    path = tmp_path / "a.onnx"
    path.write_text("before")
    with pytest.raises(SaveError, match="make it first"):
        illume.export_onnx(explained[0], tmp_path / "nowhere" / "a.onnx")
    with pytest.raises(ValueError, match="inputs must be 'raw' or 'encoded', found 'cooked'"):
        illume.export_onnx(explained[0], path, inputs="cooked")
    monkeypatch.setattr(pathlib.Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("no")))
    with pytest.raises(SaveError, match="unchanged"):
        illume.export_onnx(explained[0], path)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["a.onnx"]


def test_categories_of_the_same_text_and_a_missing_package_are_named(explained, tmp_path, monkeypatch):
    schema = Schema((Feature("b", Kind.CATEGORICAL, (1, "1")),))
    encoding = Encoding(schema, Encoding.owners(schema), np.zeros(2), np.ones(2))
    with pytest.raises(ExportError, match="'b' has categories of the same text"):
        scale_rows(Graph(), encoding)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"needs onnx; .*illume\[onnx\]"):
        illume.export_onnx(explained[0], tmp_path / "a.onnx")


def test_what_cannot_be_exported_is_refused_before_anything_is_trained(
    explainers, loan_model, loan_frame, tmp_path
):
    exact = illume.Explainer(loan_model).fit(loan_frame)
    with pytest.raises(ExportError, match="twin='learned'"):
        illume.export_onnx(exact, tmp_path / "a.onnx")
    assert not exact.fitted_.latents.ready
    with pytest.raises(NotFittedError):
        illume.export_onnx(illume.Explainer(loan_model), tmp_path / "a.onnx")
    strange, latent = copy.copy(explainers["three classes"][0]), exact.fitted_.latents()
    odd = Later.known(replace(latent, pair=replace(latent.pair, encoder=object())))
    strange.fitted_ = replace(strange.fitted_, latents=odd)
    with pytest.raises(ExportError, match="a object cannot be exported"):
        illume.export_onnx(strange, tmp_path / "a.onnx")
    assert not list(tmp_path.iterdir())
