"""The two forward passes: latents are the map times the row, by torch and NumPy, by factors or whole."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from illume import LinearEncoder, MetaEncoder, Objective, Training
from illume.encoders import losses, networks
from illume.encoders.base import EPSILON
from illume.encoders.estimators import RANK, WIDE, resolve_rank, weight_shapes
from illume.encoders.forward import MAX_ROWS, Forward, SoftBins, keep_largest, lengths
from illume.encoders.networks import LED_LENGTH, EncodedBatch, MapNetwork
from illume.encoders.options import PairObjective

BRIEF = Training(batch_size=32, learning_rate=5e-3, max_epochs=4, patience=4, sparsity_epochs=2)
M, K = 7, 3
RANKS = {"whole": None, "low rank": 4, "full rank": M, "shared": 0}


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def rows(n=9, m=M, seed=1):
    return torch.randn(n, m, generator=seeded(seed), dtype=torch.float64)


def network(rank=None, *, n_bins=5, m=M, k=K, width=8, seed=0):
    """Return a network whose basis is neither orthonormal nor orthogonal to the constant part."""
    bins = SoftBins.fit(rows(99, m, seed=9).numpy(), np.arange(m) != 1, n_bins)
    found = MapNetwork(m, k, seeded(seed), widths=(width, width), rank=rank, bins=bins)
    if rank:
        with torch.no_grad():
            found.basis.copy_(torch.randn(rank, rank, generator=seeded(seed + 1)) @ found.basis)
            found.base.add_(0.2 * found.basis[:1])
    return found, bins


def arrays(module):
    return {name: each.detach().numpy() for name, each in module.state_dict().items()}


def unit_maps(maps, X, alpha):
    """Return unit maps as the definition says, with at most `alpha` weights a direction."""
    V = maps(X)
    if alpha < V.shape[2]:
        V = V * networks.keep_largest(V.detach(), alpha)[1]
    return V / V.norm(dim=-1, keepdim=True).clamp(min=EPSILON)


# --- torch ---


@pytest.mark.parametrize("alpha", [M, 2])
@pytest.mark.parametrize("rank", RANKS.values(), ids=RANKS)
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_latents_and_slopes_are_those_of_unit_maps(rank, alpha, n_outputs):
    maps = network(rank)[0].double()
    X, coef = rows(), torch.randn(n_outputs, K, generator=seeded(5), dtype=torch.float64)
    W = unit_maps(maps, X, alpha)
    for whole in (True, False):
        found = EncodedBatch(maps, X, X[:0], alpha, whole)
        torch.testing.assert_close(found.Z, torch.einsum("nkm,nm->nk", W, X))
        own = coef[torch.arange(len(X)) % n_outputs]
        torch.testing.assert_close(found.slopes_of(own, slice(None)), torch.einsum("nk,nkm->nm", own, W))
        torch.testing.assert_close(found.along(2 * X), torch.einsum("nkm,nm->nk", W, 2 * X))
        assert found.drift.shape == (0, K)
    torch.testing.assert_close(EncodedBatch(maps, X, X[:0], alpha, True).W, W)


@pytest.mark.parametrize("n_bins", [0, 5])
@pytest.mark.parametrize("alpha", [M, 2])
@pytest.mark.parametrize("rank", [None, 4])
@pytest.mark.parametrize("s", [9, 4])
def test_the_drift_is_the_jacobian_minus_the_map_along_the_direction(rank, alpha, n_bins, s):
    maps = network(rank, n_bins=n_bins)[0].double()
    X, v = rows(), rows(seed=3)
    X[0, 0], X[1, 0] = maps.bins.low[2:4] if n_bins else X[:2, 1]  # at a knot, the bin above counts
    encoded = EncodedBatch(maps, X, v[:s], alpha, False)
    A, A_dot = maps.factors_along(X, v[:s])
    torch.testing.assert_close(A, maps.factors(X))

    def latents(X):
        return torch.einsum("nkm,nm->nk", unit_maps(maps, X, alpha), X)

    inner = slice(2, s)  # away from knots
    _, change = torch.func.jvp(maps.factors, (X[inner],), (v[inner],))
    torch.testing.assert_close(A_dot[inner], change)
    _, Jv = torch.func.jvp(latents, (X[inner],), (v[inner],))
    Wv = torch.einsum("nkm,nm->nk", unit_maps(maps, X[inner], alpha), v[inner])
    torch.testing.assert_close(encoded.drift[inner], Jv - Wv)
    if n_bins:
        h = 1e-7 * v[:2].sign() * torch.eye(M, dtype=torch.float64)[0]
        step = (maps.bins(X[:2] + h.abs()) - maps.bins(X[:2])) / 1e-7
        along = maps.bins.derivative(X[:2], torch.eye(M, dtype=torch.float64)[:1].repeat(2, 1))
        torch.testing.assert_close(along, step, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rank", [None, 4])
def test_the_stability_estimate_and_its_gradient_are_unbiased(rank):
    maps, X = network(rank)[0].double(), rows(2)

    def latents(x):
        return (unit_maps(maps, x[None], M)[0] @ x[:, None])[:, 0]

    J = torch.func.vmap(torch.func.jacrev(latents))(X)
    exact = (J - unit_maps(maps, X, M)).square().mean()
    many = X.repeat(20_000, 1)
    v = torch.randn(many.shape, generator=seeded(3), dtype=torch.float64)
    estimate = losses.instability(EncodedBatch(maps, many, v, M, False).drift, M)
    assert float(estimate.detach()) == pytest.approx(float(exact.detach()), rel=0.02)
    parameters = list(maps.parameters())
    found, wanted = (torch.autograd.grad(each, parameters, allow_unused=True) for each in (estimate, exact))
    for mean, one in zip(found, wanted, strict=True):
        assert one is None or (mean - one).norm() <= 0.05 * one.norm() + 1e-12


def test_gradients_pass_straight_through_the_mask():
    V = torch.tensor([[[3.0, -4.0, 1.0]]], requires_grad=True)
    networks.keep_largest(V, 1)[0].sum().backward()
    assert V.grad.tolist() == [[[1.0, 1.0, 1.0]]]


def test_a_map_of_zeros_stays_finite():
    maps = network(0)[0]
    with torch.no_grad():
        maps.base.zero_()
    found = EncodedBatch(maps, torch.ones(2, M), torch.ones(0, M), M, True)
    found.W.sum().backward()
    assert not found.W.any()
    assert maps.base.grad.isfinite().all()


@pytest.mark.parametrize("rank", [None, 4])
def test_all_rows_share_one_map_at_a_calm_start(rank):
    found = MapNetwork(M, K, seeded(), rank=rank, widths=(8, 8), calm=0.0)(rows().float())
    torch.testing.assert_close(found, found[:1].expand_as(found))


def test_weights_of_low_rank_maps_grow_as_the_number_of_inputs():
    def count(m, rank):
        made = MapNetwork(m, 8, seeded(), widths=(256, 256), rank=rank)
        return sum(each.numel() for each in made.parameters())

    steps = np.diff([count(m, 32) for m in (500, 1000, 1500)])
    assert steps[0] == steps[1] == 500 * (256 + 32 + 8)


def test_given_directions_turn_the_constant_ones_halfway():
    found, before, given = (network(3, m=30, k=4)[0] for _ in "abc")
    given = torch.eye(30)[:2]
    found.start_at(given)
    torch.testing.assert_close(found.base.norm(dim=1), torch.full((4,), LED_LENGTH))
    near = found.base @ given.mT / LED_LENGTH
    assert (near[[0, 2], 0] > 0.5).all()
    assert (near[[1, 3], 1] > 0.5).all()
    assert not torch.allclose(found.base[0], found.base[2])
    found = copy.deepcopy(before)
    found.start_at(torch.zeros(1, 30))
    torch.testing.assert_close(found.base, before.base)


# --- NumPy ---


@given(
    st.tuples(st.integers(1, 9), st.integers(1, 5), st.integers(1, 20), st.integers(0, 40)),
    st.integers(1, 9),
    st.integers(0, 3),
    st.sampled_from([1.0, 100.0, 1e9]),
    st.tuples(st.sampled_from([0, 2, 7]), st.sampled_from([None, 0, 1, 3])),
)
@settings(max_examples=150, deadline=None)
def test_numpy_gives_the_slopes_and_latents_of_torch(sizes, alpha, n_outputs, far, network_options):
    (m, k, width, n), (n_bins, rank), rng = sizes, network_options, np.random.default_rng(0)
    alpha = min(alpha, m)
    maps, bins = network(rank and min(rank, m), n_bins=n_bins, m=m, k=k, width=width, seed=m)
    X, at, coef = far * rng.normal(size=(n, m)), rng.normal(size=(n, m)), rng.normal(size=(n_outputs, k))
    with torch.no_grad():
        V = maps(torch.from_numpy(np.clip(X, -1e6, 1e6).astype(np.float32))).numpy().astype(np.float64)
    V = keep_largest(V, alpha)
    W = V / np.maximum(np.linalg.norm(V, axis=2, keepdims=True), EPSILON)
    forward = Forward(arrays(maps), (k, m), bins)
    for there in (None, at):
        slopes, Z = forward.pull_back(X, coef, there, alpha)
        mine = X if there is None else at
        np.testing.assert_allclose(slopes, np.einsum("cr,nrj->ncj", coef, W), rtol=1e-4, atol=1e-4)
        Z_wanted = np.einsum("nrj,nj->nr", W, mine)
        np.testing.assert_allclose(Z, Z_wanted, rtol=1e-4, atol=1e-4 * (far if there is None else 1))
    np.testing.assert_allclose(forward.unit_maps(X, alpha), W, rtol=1e-4, atol=1e-4)


@given(st.integers(1, 10), st.integers(1, 10), st.integers(0, 5))
@settings(max_examples=80, deadline=None)
def test_the_largest_weights_are_kept_as_in_torch_and_of_equal_ones_the_first(m, alpha, seed):
    rng = np.random.default_rng(seed)
    distinct = rng.normal(size=(5, 3, m)).astype(np.float32)
    trained = networks.keep_largest(torch.from_numpy(distinct), alpha)[0].numpy()
    np.testing.assert_array_equal(keep_largest(distinct, alpha), trained)
    tied = rng.integers(-2, 3, size=(4, 2, m)).astype(np.float32)
    wanted = tied.copy()
    np.put_along_axis(wanted, np.argsort(-np.abs(tied), axis=-1, kind="stable")[..., alpha:], 0.0, axis=-1)
    np.testing.assert_array_equal(keep_largest(tied, alpha), wanted)


@pytest.mark.parametrize("rank", [None, 4])
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6, 1e9])
def test_contributions_add_up_to_the_weighted_latents_however_far_out(scale, rank):
    maps, bins = network(rank, m=30, k=8, width=128)
    forward, rng = Forward(arrays(maps), (8, 30), bins), np.random.default_rng(1)
    X, coef = scale * rng.normal(size=(2 * MAX_ROWS + 1, 30)), rng.normal(size=(3, 8))
    slopes, Z = forward.pull_back(X, coef, None, 30)
    scale_of_row = np.abs(X).max(1, keepdims=True)
    np.testing.assert_allclose(
        (slopes * X[:, None]).sum(-1) / scale_of_row, Z @ coef.T / scale_of_row, atol=1e-9
    )


@pytest.mark.parametrize("rank", [None, 4])
def test_a_row_is_the_same_alone_in_threads_and_in_copies(rank):
    maps, bins = network(rank)
    forward, coef = Forward(arrays(maps), (K, M), bins), np.ones((1, K))
    X = rows(800).numpy()
    whole = forward.pull_back(X, coef, None, M)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda x: forward.pull_back(x, coef, None, M), np.array_split(X, 40)))
    for found, wanted in zip(zip(*parts, strict=True), whole, strict=True):
        np.testing.assert_allclose(np.concatenate(found), wanted, rtol=1e-5, atol=1e-6)
    for other in (forward, copy.deepcopy(forward), pickle.loads(pickle.dumps(forward))):
        for i in (0, 417):
            for found, wanted in zip(other.pull_back(X[[i]], coef, None, M), whole, strict=True):
                np.testing.assert_array_equal(found[0], wanted[i])


def test_lengths_do_not_depend_on_the_maps_beside_them_and_are_never_zero():
    V = np.random.default_rng(0).normal(size=(300, 8, 30)).astype(np.float32)
    for n in (1, 2, 7):
        np.testing.assert_array_equal(lengths(V[:n]), lengths(V)[:n])
    assert lengths(np.zeros((1, 1, 3), dtype=np.float32)).tolist() == [[EPSILON]]


# --- encoders and their stored weights ---


@pytest.mark.parametrize("kind", [MetaEncoder, LinearEncoder])
def test_an_encoder_that_is_not_fitted_says_so(kind):
    with pytest.raises(NotFittedError, match="call fit first"):
        kind(2).pull_back(np.zeros((1, 2)), np.zeros((1, 2)))


def test_auto_takes_low_rank_for_wide_data_only():
    assert resolve_rank("auto", WIDE - 1) is None
    assert resolve_rank("auto", WIDE) == RANK
    assert resolve_rank(64, 10) == 10


@pytest.mark.parametrize("rank", [0, -3, 2.5, True, "low"])
def test_a_meaningless_rank_raises(rank):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match="rank must be 'auto', None"):
        MetaEncoder(2, rank=rank, training=BRIEF).fit(X, X[:, 0] > 0)


FITTED = {
    "whole": MetaEncoder(2, rank=None, training=BRIEF),
    "low rank": MetaEncoder(2, rank=3, training=BRIEF, objective=Objective.preset("joint")),
    "pairs": MetaEncoder(2, rank=None, training=BRIEF, objective=PairObjective(width=16)),
    "low-rank pairs": MetaEncoder(2, rank=3, training=BRIEF, objective=PairObjective(width=16)),
    "sparse low rank": MetaEncoder(2, rank=3, training=BRIEF, objective=Objective.preset("so")),
    "linear": LinearEncoder(2, training=BRIEF),
}


def network_of(encoder, n_inputs, rank):
    """Return the network that a fitted encoder has the weights of."""
    weights = encoder.weights_
    layers = [len(weights[f"layers.{i}.bias"]) for i in (0, 2) if f"layers.{i}.bias" in weights]
    widths, rank = (layers, rank) if layers else ((0, 0), 0)
    level = "level.weight" in weights
    maps = MapNetwork(n_inputs, 2, widths=widths, rank=rank, bins=encoder.bins_, level=level)
    maps.load_state_dict({name: torch.from_numpy(each) for name, each in weights.items()})
    return maps


@pytest.mark.parametrize("start", FITTED.values(), ids=FITTED)
def test_a_fitted_encoder_is_its_weights_in_numpy_and_in_torch(start):
    X = np.random.default_rng(0).normal(size=(80, 6))
    encoder = start.fit(X, 1 / (1 + np.exp(-X[:, 0] * X[:, 1])))
    rank = getattr(encoder, "rank_", None)
    shapes = {name: each.shape for name, each in encoder.weights_.items()}
    assert shapes == weight_shapes(encoder, 6, rank, len(encoder.bins_))
    blank = type(encoder)(2, objective=encoder.objective)
    again = blank.set_weights(encoder.weights_, 6, encoder.alpha_, encoder.head_, encoder.bins_)
    np.testing.assert_array_equal(again.transform(X), encoder.transform(X))
    assert ((encoder.encode(X).W != 0).sum(2) <= encoder.alpha_).all()
    maps = network_of(encoder, 6, rank)
    with torch.no_grad():
        found = EncodedBatch(maps, torch.from_numpy(X).float(), torch.empty(0, 6), encoder.alpha_, True)
    np.testing.assert_allclose(found.Z.numpy(), encoder.transform(X), rtol=1e-4, atol=1e-5)


def test_low_rank_maps_learn_what_no_shared_map_can():
    X = np.random.default_rng(0).normal(size=(1500, 40))
    P = 1 / (1 + np.exp(-4 * X[:, 0] * X[:, 1]))
    training = Training(batch_size=128, learning_rate=6e-3, max_epochs=25, decay=True, stability_rows=32)
    objective = Objective(lambda_g=3, lambda_x=0, lambda_w=0, lambda_y=0, lambda_co=0, width=128)
    encoder = MetaEncoder(4, rank=8, training=training, objective=objective).fit(X[:1000], P[:1000])
    logits = encoder.transform(X[1000:]) @ encoder.head_.coef.T + encoder.head_.intercept
    assert np.mean((logits[:, 0] > 0) == (P[1000:] > 0.5)) > 0.7
