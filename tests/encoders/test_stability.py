import numpy as np
import pytest
import torch
from illume.encoders.sparsity import keep_largest, normalised
from illume.encoders.stability import exact_instability, instability, maps_and_drift, passed

from illume.encoders.networks import ConstantMap, MetaNetwork
from illume.encoders.soft_bins import SoftBins


def network(n_inputs=5, n_latents=3, seed=0, n_bins=0):
    numeric = np.arange(n_inputs) != 2
    bins = SoftBins.fit(rows(100, n_inputs, seed=9).numpy(), numeric, n_bins)
    return MetaNetwork(n_inputs, n_latents, torch.Generator().manual_seed(seed), bins=bins).double()


def rows(n, n_inputs=5, seed=1):
    return torch.randn(n, n_inputs, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("n_bins", [0, 6])
@pytest.mark.parametrize("alpha", [5, 2])
def test_the_drift_along_each_axis_is_a_column_of_the_exact_jacobian_minus_the_map(alpha, n_bins):
    raw, X = network(n_bins=n_bins), rows(4)

    def latents(x):
        W, _ = normalised(keep_largest(raw(x[None]), alpha)[0])
        return W[0] @ x

    for i in range(4):
        h = 1e-6
        for j in range(5):
            v = torch.zeros_like(X)
            v[:, j] = 1
            W, drift = maps_and_drift(raw, X, v, alpha)
            torch.testing.assert_close(passed(raw, X, v, alpha).drift, drift)
            step = torch.zeros(5, dtype=torch.float64)
            step[j] = h
            numeric = (latents(X[i] + step) - latents(X[i] - step)) / (2 * h)
            torch.testing.assert_close(drift[i] + W[i, :, j], numeric, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n_bins", [0, 6])
@pytest.mark.parametrize("alpha", [5, 2])
def test_the_estimate_is_unbiased_against_the_exact_jacobian(alpha, n_bins):
    raw, X = network(n_bins=n_bins), rows(3)
    exact = float(exact_instability(raw, X, alpha).detach())
    # 40,000 directions at once: the standard error of their mean is well below 2 %
    many = X.repeat(40_000, 1)
    v = torch.randn(many.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    drift = passed(raw, many, v, alpha).drift
    assert float(instability(drift, 5).detach()) == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("n_bins", [0, 6])
def test_its_gradient_is_unbiased_too(n_bins):
    raw, X = network(n_bins=n_bins), rows(2)
    exact = torch.autograd.grad(exact_instability(raw, X, 5), list(raw.parameters()), allow_unused=True)
    many = X.repeat(20_000, 1)
    v = torch.randn(many.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    loss = instability(maps_and_drift(raw, many, v, 5)[1], 5)
    found = torch.autograd.grad(loss, list(raw.parameters()), allow_unused=True)
    for mean, one in zip(found, exact, strict=True):
        assert (mean - one).norm() <= 0.05 * one.norm() + 1e-12


def test_one_map_for_all_rows_does_not_drift():
    raw = ConstantMap(5, 3, torch.Generator().manual_seed(0)).double()
    assert float(exact_instability(raw, rows(3), 5).detach()) == pytest.approx(0, abs=1e-24)
