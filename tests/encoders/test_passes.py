import numpy as np
import pytest
import torch
from illume.encoders.batches import Rows
from illume.encoders.stability import passed

from illume.encoders import distances
from illume.encoders.networks import MetaNetwork
from illume.encoders.soft_bins import SoftBins


class Unknown:
    """A network that torch has to differentiate itself."""

    def __init__(self, network):
        self.network = network

    def __call__(self, X):
        return self.network(X)


def network(dtype=torch.float64, n_bins=0):
    bins = SoftBins.fit(normal(200, 5).numpy(), np.array([True, True, False, True, True]), n_bins)
    return MetaNetwork(5, 3, torch.Generator().manual_seed(0), width=16, bins=bins).to(dtype)


def normal(*shape, seed=1, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def results(raw, parameters, weights, n_directions, alpha):
    """Return maps, latents and drift, and the gradients of a weighted sum of them."""
    dtype = parameters[0].dtype
    found = passed(raw, normal(20, 5, dtype=dtype), normal(n_directions, 5, seed=2, dtype=dtype), alpha)
    sums = [(part * normal(*part.shape, seed=3, dtype=dtype)).sum() for part in found]
    total = sum(w * one for w, one in zip(weights, sums, strict=True))
    gradients = torch.autograd.grad(total, parameters, allow_unused=True)
    return [*found, *(g for g in gradients if g is not None)]


@pytest.mark.parametrize("alpha", [5, 2])
@pytest.mark.parametrize("n_directions", [0, 7, 20])
@pytest.mark.parametrize("weights", [(1, 1, 1), (0, 1, 1), (0, 0, 1), (1, 0, 0)])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-5)])
@pytest.mark.parametrize("n_bins", [0, 6])
def test_the_written_out_pass_is_what_torch_differentiates(  # noqa: PLR0917
    alpha, n_directions, weights, dtype, tolerance, n_bins
):
    net = network(dtype, n_bins)
    parameters = list(net.parameters())
    mine = results(net, parameters, weights, n_directions, alpha)
    torchs = results(Unknown(net), parameters, weights, n_directions, alpha)
    assert len(mine) == len(torchs) == 3 + len(parameters)
    for one, other in zip(mine, torchs, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


def test_latents_alone_can_be_learned_from():
    net = network()
    passed(net, normal(4, 5), normal(4, 5), 5).Z.sum().backward()
    mine = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    passed(Unknown(net), normal(4, 5), normal(4, 5), 5).Z.sum().backward()
    for one, other in zip(mine, net.parameters(), strict=True):
        torch.testing.assert_close(one, other.grad)


@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 3)])
def test_the_gradient_of_inner_products_is_right(shape):
    assert torch.autograd.gradcheck(distances.gram, normal(*shape).requires_grad_())


@pytest.mark.parametrize(
    ("stability_rows", "directions"), [(None, [3, 2, 2]), (2, [2, 2, 2]), (9, [3, 2, 2])]
)
def test_batches_hold_every_row_once_with_its_answer(stability_rows, directions):
    rows = Rows(torch.arange(14.0).view(7, 2), torch.arange(7.0)[:, None])
    order = torch.randperm(7, generator=torch.Generator().manual_seed(0))
    batches = list(rows.batches(order, 3, torch.Generator().manual_seed(0), stability_rows))
    assert [len(batch.X) for batch in batches] == [3, 2, 2]
    assert [len(batch.v) for batch in batches] == directions
    assert torch.equal(torch.cat([batch.P for batch in batches])[:, 0].long(), order)
    assert torch.equal(torch.cat([batch.X for batch in batches]), rows.X[order])
    assert len(torch.cat([batch.v for batch in batches]).unique()) == 2 * sum(directions)
