"""The torch module says what the explainer says, on any device and in chunks of any size."""

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import illume
from benchmarks import gpu
from illume.data.later import Later
from illume.encoders.forward import Forward
from illume.errors import ExportError
from illume.io.torch_modules import ExplainingModule, matmul_precision
from tests.export.conftest import assert_close


def rows_of(wanted):
    return torch.from_numpy(wanted["X"].astype(np.float32))


@pytest.mark.parametrize(
    ("precision", "chunk_rows"), [("float32", 7), ("float32", 2**18), ("tf32", 2**18), ("bfloat16", 2**18)]
)
def test_the_module_explains_as_the_explainer_does_and_adds_up(explained, precision, chunk_rows):
    explainer, _, wanted = explained
    found = illume.torch_module(explainer, precision=precision, chunk_rows=chunk_rows)(rows_of(wanted))
    total = found.contributions.sum(-1) + torch.from_numpy(wanted["base_values"]).float() + found.offset
    assert_close(total, found.score, wanted)
    for name in found._fields if precision == "float32" else ():
        assert_close(getattr(found, name), wanted[name], wanted, name)


@pytest.mark.parametrize("chunk_rows", [7, 2**18])
def test_shapley_values_add_up_to_the_models_scores_where_its_answers_are_given(explained, chunk_rows):
    explainer, _, wanted = explained
    module, X = illume.torch_module(explainer, chunk_rows=chunk_rows), rows_of(wanted)
    if explainer.fitted_.kind == "pullback":
        with pytest.raises(ValueError, match="leave its predictions out"):
            module(X, torch.ones(len(X), 2))
        return
    P = torch.from_numpy(wanted["model_answers"])
    found = module(X, P)
    assert_close(found.contributions, wanted["model_contributions"], wanted, tolerance=2e-5)
    assert_close(found.score, wanted["model_score"], wanted)
    total = found.contributions.sum(-1) + torch.from_numpy(wanted["base_values"]).float()
    assert_close(total, wanted["model_score"], wanted)
    with pytest.raises(ValueError, match="predictions has the shape"):
        module(X, P[:-1])


def test_half_precision_is_as_close_as_promised():
    parts = gpu.random_parts(30, 8, 128)
    X = torch.randn(2000, 30, generator=torch.Generator().manual_seed(0))
    off = gpu.float64_errors(parts, ExplainingModule(parts, "bfloat16"), X)
    assert off["slopes_mean_error"] < 0.005
    off = gpu.float64_errors(parts, ExplainingModule(parts), X)
    assert off["slopes_max_error"] < 1e-5


def test_the_module_is_the_network_in_numpy():
    parts = gpu.random_parts(5, 3, 16)
    forward = Forward(parts.weights, parts.shape)
    X = np.random.default_rng(0).normal(size=(20, 5))
    slopes, _ = forward.pull_back(X, parts.coef, None, 5)
    found = ExplainingModule(parts)(torch.from_numpy(X.astype(np.float32)))
    np.testing.assert_allclose(found.slopes, slopes, rtol=1e-5, atol=1e-6)


def test_precision_is_set_for_the_call_alone():
    before = torch.get_float32_matmul_precision()
    with pytest.raises(RuntimeError), matmul_precision("high"):
        raise RuntimeError
    assert torch.get_float32_matmul_precision() == before


def test_what_cannot_be_exported_is_refused(explainers):
    explainer, _ = explainers["three classes"]
    with pytest.raises(ValueError, match="precision must be one of"):
        illume.torch_module(explainer, precision="int8")
    with pytest.raises(ValueError, match="chunk_rows must be at least 1"):
        illume.torch_module(explainer, chunk_rows=0)
    with pytest.raises(ValueError, match=r"has the shape \(2, 3\), expected \(rows, 4\)"):
        illume.torch_module(explainer)(torch.zeros(2, 3))

    strange, latent = copy.copy(explainer), explainer.fitted_.latents()
    odd = Later.known(replace(latent, pair=replace(latent.pair, encoder=object())))
    strange.fitted_ = replace(explainer.fitted_, latents=odd)
    with pytest.raises(ExportError, match="a object cannot be exported"):
        illume.torch_module(strange)


def test_trees_are_looked_up_in_torch_too(loan_frame, loan_model):
    """Numbers, missing values and categories; the order of the sum is all that may differ."""
    for frame, model in ((loan_frame, loan_model), three_classes()):
        exact = illume.Explainer(model, verbose=False).fit(frame)
        twin, wanted = exact.fitted_.twin, exact(frame)
        codes = twin.parts.codes
        rows = [
            frame[each.name].to_numpy(float) if each.numeric else codes(exact.fitted_.as_frame(frame))[j]
            for j, each in enumerate(codes.schema.features)
        ]
        found = illume.torch_module(exact)(torch.from_numpy(np.column_stack(rows).astype(float)))
        values = wanted.values if wanted.values.ndim == 3 else wanted.values[:, :, None]
        np.testing.assert_allclose(found.contributions.numpy().transpose(0, 2, 1), values, atol=1e-12)
        scores = twin.scores(codes(exact.fitted_.as_frame(frame)))
        np.testing.assert_allclose(found.score, scores, atol=1e-12)
        with pytest.raises(ValueError, match=r"expected \(rows, "):
            illume.torch_module(exact)(torch.zeros(2, 99))


def three_classes():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300), "c": rng.normal(size=300)})
    X.loc[::7, "a"] = np.nan
    y = (X["a"].fillna(2) > 0).astype(int) + (X["b"] * X["c"] > 0)
    return X, HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, y)


def test_what_has_no_tables_is_refused():
    X = np.random.default_rng(0).normal(size=(200, 3))
    linear = illume.Explainer(LogisticRegression().fit(X, X[:, 0] > 0), verbose=False).fit(X)
    with pytest.raises(ExportError, match="only trees have tables"):
        illume.torch_module(linear)


def test_exact_contributions_are_refused_before_anything_is_trained(loan_model, loan_frame, tmp_path):
    exact = illume.Explainer(loan_model).fit(loan_frame)
    with pytest.raises(ExportError, match="twin='learned'"):
        illume.export_onnx(exact, tmp_path / "a.onnx")
    assert not exact.fitted_.latents.ready
    assert not list(tmp_path.iterdir())
