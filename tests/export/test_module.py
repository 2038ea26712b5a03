"""The torch module says what the explainer says, on any device and in chunks of any size."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

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


def test_exact_contributions_are_refused_before_anything_is_trained(loan_model, loan_frame, tmp_path):
    exact = illume.Explainer(loan_model).fit(loan_frame)
    for export in (illume.torch_module, lambda each: illume.export_onnx(each, tmp_path / "a.onnx")):
        with pytest.raises(ExportError, match="twin='learned'"):
            export(exact)
    assert not exact.fitted_.latents.ready
    assert not list(tmp_path.iterdir())
