"""Maps of low rank: the same by their factors or whole, by torch or by NumPy."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from illume.encoders.batches import Model
from illume.encoders.factored import FactoredMaps
from illume.encoders.low_rank import RANK, WIDE, LowRankForward, low_rank_shapes, resolved_rank
from illume.encoders.stability import maps_and_drift

from illume import MetaEncoder, Objective, Training
from illume.encoders.distances import Columns
from illume.encoders.networks import LowRankNetwork, MetaNetwork, head
from illume.encoders.objective import Batch, loss_terms, slopes, total
from illume.encoders.soft_bins import SoftBins
from illume.encoders.stored import restored, shapes_of, weights_of

BRIEF = Training(batch_size=32, learning_rate=5e-3, max_epochs=4, patience=4, sparsity_epochs=2)
ALIGNED = Objective.preset("aligned")
N, M, K, R = 7, 11, 3, 4


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


BINS = SoftBins.fit(np.random.default_rng(7).normal(size=(90, M)), np.arange(M) != 4, 5)


def network(rank=R, seed=0, stretch=1.0, bins=None):
    """Return a network whose basis is neither orthonormal nor orthogonal to the constant part."""
    found = LowRankNetwork(M, K, seeded(seed), rank=rank, width=8, bins=bins).double()
    with torch.no_grad():
        mix = torch.randn(rank, rank, generator=seeded(seed + 1), dtype=torch.float64)
        found.basis.copy_(stretch * mix @ found.basis)
        found.base.add_(0.2 * found.basis[:1])
    return found


def rows(n=N, seed=2):
    return torch.randn(n, M, generator=seeded(seed), dtype=torch.float64)


def batch(n_directions=N, n_classes=2):
    P = torch.rand(N, n_classes, generator=seeded(4), dtype=torch.float64)
    return Batch(rows(), P / P.sum(1, keepdim=True), rows(n_directions, seed=3))


def arrays(module):
    return {name: each.detach().numpy() for name, each in module.state_dict().items()}


def test_a_map_is_the_constant_part_and_a_mixture_of_the_basis():
    maps = network()
    A, expected = maps.factors(rows()), maps(rows())
    for i in range(N):
        for r in range(K):
            torch.testing.assert_close(expected[i, r], maps.base[r] + A[i, r] @ maps.basis)


def test_all_rows_share_one_map_at_a_calm_start():
    found = LowRankNetwork(M, K, seeded(), rank=R, calm=0.0)(rows().float())
    torch.testing.assert_close(found, found[:1].expand_as(found))


@pytest.mark.parametrize("bins", [None, BINS], ids=["no bins", "bins"])
@pytest.mark.parametrize("n_directions", [N, 3])
def test_factors_and_their_change_are_those_of_forward_differentiation(n_directions, bins):
    maps, some = network(bins=bins), batch(n_directions)
    A, along = maps.factors_along(some.X, some.v)
    expected, change = torch.func.jvp(maps.factors, (some.X[:n_directions],), (some.v,))
    torch.testing.assert_close(A, maps.factors(some.X))
    torch.testing.assert_close(A[:n_directions], expected)
    torch.testing.assert_close(along, change)


@pytest.mark.parametrize("bins", [None, BINS], ids=["no bins", "bins"])
@pytest.mark.parametrize("n_classes", [1, 3])
def test_latents_drift_and_slopes_by_factors_are_those_of_whole_maps(n_classes, bins):
    maps, some = network(stretch=3.0, bins=bins), batch()
    W, drift = maps_and_drift(maps, some.X, some.v, M)
    coef = torch.randn(n_classes, K, generator=seeded(5), dtype=torch.float64)
    found = FactoredMaps.of(maps, some.X, some.v)
    torch.testing.assert_close(found.Z, (W @ some.X[:, :, None]).squeeze(2))
    torch.testing.assert_close(found.drift(), drift)
    torch.testing.assert_close(found.slopes(coef), slopes(W, coef))


class Whole(torch.nn.Module):
    """Hides that maps have low rank."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, X):
        return self.network(X)


OBJECTIVES = {
    "aligned": ALIGNED,
    "all alignments": replace(ALIGNED, lambda_e=1.0, lambda_py=1.0, lambda_pn=1.0),
    "structure": replace(ALIGNED, lambda_x=1.0, lambda_y=1.0, lambda_co=1.0),
    "no stability": replace(ALIGNED, lambda_st=0.0),
    "joint": Objective.preset("joint"),
    "distinct inputs": replace(ALIGNED, lambda_so=1.0),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
def test_losses_and_gradients_are_those_of_whole_maps(objective, n_classes):
    maps, some = network(), batch(4, n_classes)
    linear = head(K, n_classes, seeded(6)).double()
    columns = Columns.of(torch.tensor([False] * 8 + [True] * 3))
    found, gradients = [], []
    for module in (maps, Whole(maps)):
        terms = loss_terms(objective, Model(module, linear), some, columns, M)
        found.append(terms)
        parameters = [*maps.parameters(), *linear.parameters()]
        gradients.append(torch.autograd.grad(total(objective, terms), parameters))
    torch.testing.assert_close(found[0], found[1])
    torch.testing.assert_close(gradients[0], gradients[1])


@pytest.mark.parametrize("rank", [1, R, M])
@pytest.mark.parametrize("alpha", [M, 2])
@pytest.mark.parametrize("n_outputs", [0, 1, 3])
@pytest.mark.parametrize("bins", [None, BINS], ids=["no bins", "bins"])
def test_numpy_gives_what_whole_maps_of_torch_give(rank, alpha, n_outputs, bins):
    maps = network(rank, bins=bins).float()
    forward, rng = LowRankForward.of(arrays(maps), bins), np.random.default_rng(0)
    X, at = rng.normal(size=(2, 50, M))
    coef = rng.normal(size=(n_outputs, K))
    with torch.no_grad():
        V = maps(torch.from_numpy(X.astype(np.float32))).numpy()
    np.testing.assert_allclose(forward.maps(X.astype(np.float32)), V, rtol=1e-5, atol=1e-5)
    smallest = np.sort(np.abs(V), axis=2)[:, :, M - alpha, None]
    W = np.where(np.abs(V) >= smallest, V, 0).astype(np.float64)
    W /= np.linalg.norm(W, axis=2, keepdims=True)
    for where in (None, at):
        found, Z = forward.pull_back(X, coef, where, alpha)
        np.testing.assert_allclose(found, np.einsum("cr,nrj->ncj", coef, W), rtol=1e-5, atol=1e-5)
        there = X if where is None else where
        np.testing.assert_allclose(Z, np.einsum("nrj,nj->nr", W, there), rtol=1e-5, atol=1e-5)
    assert forward.shape == (K, M)


def test_lengths_are_right_even_where_the_two_parts_almost_cancel():
    maps = network()
    with torch.no_grad():
        maps.layers[4].weight.zero_()
        maps.layers[4].bias.copy_(torch.arange(1.0, K * R + 1))
        maps.base.copy_(-maps.layers[4].bias.reshape(K, R) @ maps.basis)
        maps.base[:, 0] += 1e-4
    forward = LowRankForward.of({name: each.astype(np.float64) for name, each in arrays(maps).items()})
    V, length = forward.directions(rows().numpy(), M)
    np.testing.assert_allclose(length, np.linalg.norm(V, axis=2), rtol=1e-9)
    assert np.isfinite(V / length[:, :, None]).all()


def test_a_basis_that_repeats_itself_does_no_harm():
    weights = arrays(network().float())
    weights["basis"] = np.repeat(weights["basis"][:1], R, axis=0)
    X, coef = rows().numpy(), np.ones((1, K))
    found, _ = LowRankForward.of(weights).pull_back(X, coef, None, M)
    maps = network().float()
    maps.load_state_dict({name: torch.from_numpy(each) for name, each in weights.items()})
    W = maps(torch.from_numpy(X).float()).detach().double()
    W = W / W.norm(dim=2, keepdim=True)
    np.testing.assert_allclose(found[:, 0], W.sum(1).numpy(), rtol=1e-5, atol=1e-5)


def test_weights_grow_as_the_number_of_inputs():
    def count(m, rank):
        made = LowRankNetwork(m, 8, seeded(), rank=rank) if rank else MetaNetwork(m, 8, seeded(), width=128)
        return sum(each.numel() for each in made.parameters())

    steps = np.diff([count(m, 32) for m in (500, 1000, 1500)])
    assert steps[0] == steps[1] == 500 * (256 + 32 + 8)
    assert count(1000, None) > 3.9 * count(500, None)
    assert count(500, 32) < count(500, None) / 30


@pytest.mark.parametrize("bins", [SoftBins.none(), BINS], ids=["no bins", "bins"])
def test_shapes_are_those_of_the_network(bins):
    found = {name: each.shape for name, each in arrays(network(bins=bins)).items()}
    assert found == low_rank_shapes(M, K, 8, R, len(bins))


def test_auto_takes_low_rank_for_wide_data_only():
    assert resolved_rank("auto", WIDE - 1) is None
    assert resolved_rank("auto", WIDE) == RANK
    assert resolved_rank(64, 10) == 10


@pytest.mark.parametrize("rank", [0, -3, 2.5, True, "low"])
def test_a_rank_that_means_nothing_is_refused(rank):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match="rank must be 'auto', None"):
        MetaEncoder(2, rank=rank, training=BRIEF).fit(X, X[:, 0] > 0)


@pytest.fixture(scope="module", params=["aligned", "so"])
def fitted(request):
    X = np.random.default_rng(0).normal(size=(80, 6))
    start = MetaEncoder(2, rank=3, training=BRIEF, objective=Objective.preset(request.param))
    return start.fit(X, 1 / (1 + np.exp(-X[:, 0] * X[:, 1]))), X


def test_a_fitted_one_is_known_by_its_arrays(fitted):
    encoder, X = fitted
    weights = weights_of(encoder)
    shapes = {name: each.shape for name, each in weights.items()}
    assert len(encoder.bins_) > 6
    assert shapes == shapes_of(encoder, 6, 3, len(encoder.bins_))
    blank = MetaEncoder(2, objective=encoder.objective)
    again = restored(blank, 6, weights, encoder.alpha_, encoder.head_, bins=encoder.bins_)
    assert again.rank_ == 3
    np.testing.assert_array_equal(again.transform(X), encoder.transform(X))


def test_sparse_maps_use_no_more_inputs_than_they_may(fitted):
    encoder, X = fitted
    used = (encoder.encode(X).W != 0).sum(2)
    assert (used == encoder.alpha_).all()


def test_what_is_learned_is_better_than_a_map_for_all_rows():
    X = np.random.default_rng(0).normal(size=(1500, 40))
    P = 1 / (1 + np.exp(-4 * X[:, 0] * X[:, 1]))
    training = Training(batch_size=128, learning_rate=6e-3, max_epochs=25, decay=True, stability_rows=32)
    encoder = MetaEncoder(4, rank=8, training=training, objective=ALIGNED).fit(X[:1000], P[:1000])
    logits = encoder.transform(X[1000:]) @ encoder.head_.coef.T + encoder.head_.intercept
    assert np.mean((logits[:, 0] > 0) == (P[1000:] > 0.5)) > 0.7
