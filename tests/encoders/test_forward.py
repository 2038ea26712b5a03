"""The forward pass in NumPy is the network that was trained, whoever calls it and with how many rows."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from illume import LinearEncoder, MetaEncoder, Training
from illume.encoders import sparsity
from illume.encoders.base import PulledBack
from illume.encoders.distances import EPSILON
from illume.encoders.forward import MOST, ConstantForward, DenseForward, keep_largest, lengths
from illume.encoders.networks import ConstantMap, MetaNetwork
from illume.encoders.soft_bins import SoftBins
from illume.encoders.trained import pieces_of

SIZES = st.tuples(st.integers(1, 9), st.integers(1, 5), st.integers(0, 20), st.integers(0, 40))


def network(m, k, width=16, seed=0, n_bins=0):
    """Return a network of torch and the same in NumPy; the second input is a category."""
    bins = SoftBins.fit(np.random.default_rng(9).normal(size=(99, m)), np.arange(m) != 1, n_bins)
    maps = MetaNetwork(m, k, torch.Generator().manual_seed(seed), width=width, bins=bins)
    weights = {name: tensor.numpy() for name, tensor in maps.state_dict().items()}
    return maps, DenseForward(weights, (k, m), bins)


def as_trained(maps, X, coef, at, alpha):
    """Return slopes and latents as the training sees them."""
    with torch.no_grad():
        V = maps(torch.from_numpy(np.clip(X, -1e6, 1e6).astype(np.float32)))
        V = sparsity.keep_largest(V, alpha)[0].double()
    W = V / V.norm(dim=-1, keepdim=True).clamp(min=EPSILON)
    return (torch.from_numpy(coef) @ W).numpy(), (W @ torch.from_numpy(at)[:, :, None])[:, :, 0].numpy()


@given(
    SIZES,
    st.integers(1, 9),
    st.integers(0, 3),
    st.sampled_from([1.0, 100.0, 1e9]),
    st.sampled_from([0, 2, 7]),
)
@settings(max_examples=120, deadline=None)
def test_slopes_and_latents_are_those_of_the_trained_network(sizes, alpha, n_outputs, far, n_bins):
    m, k, width, n = sizes
    rng = np.random.default_rng(n)
    maps, forward = network(m, k, width, seed=m, n_bins=n_bins)
    X, at, coef = far * rng.normal(size=(n, m)), rng.normal(size=(n, m)), rng.normal(size=(n_outputs, k))
    for there in (None, at):
        slopes, Z = forward.pull_back(X, coef, there, min(alpha, m))
        wanted = as_trained(maps, X, coef, X if there is None else there, min(alpha, m))
        np.testing.assert_allclose(slopes, wanted[0], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(Z, wanted[1], rtol=1e-5, atol=1e-5 * (far if there is None else 1))


@pytest.mark.parametrize("n_bins", [0, 16])
def test_raw_maps_of_many_pieces_are_those_of_the_trained_network(n_bins):
    maps, forward = network(7, 3, n_bins=n_bins)
    X = np.random.default_rng(0).normal(size=(2 * MOST + 5, 7)).astype(np.float32)
    with torch.no_grad():
        wanted = maps(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(forward.maps(X), wanted, rtol=1e-5, atol=1e-6)
    assert forward.maps(X).dtype == np.float32


def test_one_map_for_all_rows_is_the_trained_one():
    maps = ConstantMap(4, 3, torch.Generator().manual_seed(0))
    forward = ConstantForward({name: tensor.numpy() for name, tensor in maps.state_dict().items()})
    rng = np.random.default_rng(0)
    X, coef = rng.normal(size=(5, 4)), rng.normal(size=(2, 3))
    for alpha in (1, 2, 4):
        found, wanted = forward.pull_back(X, coef, None, alpha), as_trained(maps, X, coef, X, alpha)
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-6)
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-6)
    np.testing.assert_array_equal(forward.map, maps.map.detach().numpy())


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_the_largest_weights_are_kept_as_in_training(m, alpha, seed):
    V = np.random.default_rng(seed).normal(size=(5, 3, m)).astype(np.float32)
    wanted = sparsity.keep_largest(torch.from_numpy(V), alpha)[0].numpy()
    np.testing.assert_array_equal(keep_largest(V.copy(), alpha), wanted)


@given(st.integers(1, 10), st.integers(1, 10), st.integers(0, 5))
@settings(max_examples=80, deadline=None)
def test_of_equal_weights_the_first_are_kept_and_no_more_than_allowed(m, alpha, seed):
    V = np.random.default_rng(seed).integers(-2, 3, size=(4, 2, m)).astype(np.float32)
    found = keep_largest(V.copy(), alpha)
    order = np.argsort(-np.abs(V), axis=-1, kind="stable")[..., alpha:]
    wanted = V.copy()
    np.put_along_axis(wanted, order, 0.0, axis=-1)
    np.testing.assert_array_equal(found, wanted)
    trained = sparsity.keep_largest(torch.from_numpy(V), alpha)[0].numpy()
    np.testing.assert_array_equal(np.sort(np.abs(found)), np.sort(np.abs(trained)))


def test_a_map_of_zeros_gives_slopes_of_zero():
    zeros = {"layers.0.weight": np.zeros((6, 3)), "layers.0.bias": np.zeros(6)}
    slopes, Z = DenseForward(zeros, (2, 3)).pull_back(np.ones((4, 3)), np.ones((1, 2)), None, 3)
    assert not slopes.any()
    assert not Z.any()
    assert lengths(np.zeros((1, 1, 3), dtype=np.float32)).tolist() == [[EPSILON]]


@pytest.mark.parametrize("n_bins", [0, 16])
def test_threads_give_what_one_thread_gives(n_bins):
    _, forward = network(6, 4, n_bins=n_bins)
    X = np.random.default_rng(0).normal(size=(4000, 6))
    coef = np.ones((1, 4))
    whole = forward.pull_back(X, coef, None, 6)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda rows: forward.pull_back(rows, coef, None, 6), np.array_split(X, 40)))
    for found, wanted in zip(zip(*parts, strict=True), whole, strict=True):
        np.testing.assert_allclose(np.concatenate(found), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("n_bins", [0, 16])
def test_contributions_add_up_to_the_weighted_latents_however_far_out(scale, n_bins):
    _, forward = network(30, 8, width=128, n_bins=n_bins)
    rng = np.random.default_rng(1)
    X, coef = scale * rng.normal(size=(500, 30)), rng.normal(size=(3, 8))
    slopes, Z = forward.pull_back(X, coef, None, 30)
    np.testing.assert_allclose((slopes * X[:, None]).sum(-1), Z @ coef.T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [MetaEncoder, LinearEncoder])
def test_an_encoder_that_was_not_fitted_says_so(kind):
    with pytest.raises(NotFittedError, match="call fit first"):
        kind(2).pull_back(np.zeros((1, 2)), np.zeros((1, 2)))


@pytest.mark.parametrize("n_bins", [0, 16])
def test_what_was_worked_on_before_leaves_no_trace_and_copies_explain_alike(n_bins):
    _, forward = network(5, 3, n_bins=n_bins)
    X = np.random.default_rng(1).normal(size=(40, 5))
    coef = np.ones((1, 3))
    alone = forward.pull_back(X[:1], coef, None, 5)
    forward.pull_back(1e3 * X, coef, None, 5)
    for other in (forward, copy.deepcopy(forward), pickle.loads(pickle.dumps(forward))):
        for before, after in zip(alone, other.pull_back(X[:1], coef, None, 5), strict=True):
            np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(("k", "m"), [(4, 7), (8, 30), (3, 9)])
def test_the_length_of_a_map_does_not_depend_on_the_maps_beside_it(k, m):
    V = np.random.default_rng(0).normal(size=(300, k, m)).astype(np.float32)
    together = lengths(V)
    for n in (1, 2, 7):
        np.testing.assert_array_equal(lengths(V[:n]), together[:n])


def test_encoders_that_pull_back_in_their_own_way_are_asked_for_it():
    class Doubled(MetaEncoder):
        def pull_back(self, X, coef, at=None):
            pulled = super().pull_back(X, coef, at)
            return PulledBack(2 * pulled.slopes, pulled.Z)

    class Counted(Doubled):
        pieces = 4

    rng = np.random.default_rng(0)
    X, coef = rng.normal(size=(40, 3)), np.ones((1, 2))
    short = Training(batch_size=16, max_epochs=1)
    for kind in (MetaEncoder, Doubled, Counted):
        encoder = kind(2, training=short, verbose=False, random_state=0).fit(X, (X[:, 0] > 0).astype(int))
        found = np.concatenate([piece.slopes.copy() for piece in pieces_of(encoder, X, coef)])
        np.testing.assert_array_equal(found, encoder.pull_back(X, coef).slopes)
