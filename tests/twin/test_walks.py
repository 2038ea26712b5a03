"""Walks of a network, and the noise of theirs that is known and subtracted."""

import numpy as np
import pytest

from illume.twin.network_arrays import Codes, ModelArrays, Table
from illume.twin.walks import QuadraticUnits, Walks, network_values, network_walks

N, M, D, H, C = 30, 4, 3, 6, 2


@pytest.fixture(scope="module")
def background():
    return Codes(np.arange(N * M).reshape(N, M) % (5 * M), np.zeros((N, M), dtype=np.float32))


@pytest.fixture(scope="module")
def network():
    rng = np.random.default_rng(1)
    sizes = {"nodes": (5 * M, C + D), "first": (M * D, 2 * H), "first_bias": (2 * H,), "last": (H, C)}
    arrays = {name: rng.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    return ModelArrays(Table(arrays.pop("nodes"), C), **arrays, last_bias=np.zeros(C, dtype=np.float32))


def test_known_noise_is_zero_in_the_mean_of_all_background_rows(network, background):
    correct = QuadraticUnits.fit(network, background)
    row = background[np.zeros(N, dtype=int)]
    begin, end = (network.summands(network.table.look_up(codes)[1]) for codes in (background, row))
    noise = correct.noise(begin, end, begin.sum(0), end.sum(0))
    assert np.abs(noise).max() > 0.1
    np.testing.assert_allclose(noise.mean(0), 0.0, atol=1e-5)


def test_walks_without_known_noise_differ_less_and_add_up_to_the_same_mean(network, background):
    rng = np.random.default_rng(2)
    correct = QuadraticUnits.fit(network, background)
    rows = background[np.zeros(2_000, dtype=int)]
    walks = Walks.draw(len(rows), M, N, rng)
    plain, better = (network_walks(network, rows, background, walks, how) for how in (None, correct))
    assert better.var(0).sum() < 0.6 * plain.var(0).sum()
    error = np.sqrt((plain - better).var(0) / len(rows))
    assert (np.abs((plain - better).mean(0)) <= 4 * error).all()


def test_units_that_are_nearly_quadratic_leave_hardly_any_noise(background, network):
    flat = ModelArrays(
        network.table, 1e-3 * network.first, 1e-3 * network.first_bias, 1e6 * network.last, network.last_bias
    )
    walks = (Walks.draw(N, M, N, np.random.default_rng(seed)) for seed in range(4))
    values, variance = network_values(flat, background, background, walks)
    assert np.sqrt(variance).max() < 1e-2 * np.abs(values).max()
