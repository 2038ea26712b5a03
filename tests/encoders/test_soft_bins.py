"""Soft bins: linear between knots, the same in torch and NumPy, and part of what an encoder is known by."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from illume import LinearEncoder, MetaEncoder, Objective, Training
from illume.encoders.forward import HEIGHT, MAX_TOTAL, SoftBins, resolve_n_bins
from illume.encoders.networks import BinLayer

BRIEF = Training(batch_size=32, max_epochs=2)


def rows(n=60, m=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, m))


@given(st.integers(1, 80), st.integers(1, 20), st.integers(0, 3), st.sampled_from([1e-12, 1.0, 1e6]))
@settings(max_examples=80, deadline=None)
def test_bins_are_between_0_and_1_and_rise_one_after_the_other(n, n_bins, decimals, scale):
    X = scale * rows(n, 3).round(decimals)
    bins = SoftBins.fit(X, np.array([True, False, True]), n_bins)
    found = bins.transform(np.vstack([X, -100 * X, 0 * X]))
    assert set(bins.column) == {0, 2}
    assert np.bincount(bins.column).max() <= n_bins
    assert np.isfinite(bins.steepness).all()
    assert ((found >= 0) & (found <= 1)).all()
    for j in (0, 2):
        mine = found[:, bins.column == j]
        assert (mine[:, 1:][mine[:, :-1] < 0.99999] < 1e-5).all()


def test_each_bin_has_about_as_many_rows():
    X = np.exp(rows(4000, 1))
    deep = SoftBins.fit(X, np.array([True]), 8).transform(X)
    inside = ((deep > 0) & (deep < 1)).mean(0)
    np.testing.assert_allclose(inside, 1 / 8, atol=0.01)


def test_few_values_are_all_knots_and_values_that_are_almost_equal_are_one():
    X = np.array([0.0, 1.0, 2.0, 5.0] * 10)[:, None]
    assert SoftBins.fit(X, np.array([True]), 8).low.tolist() == [0.0, 1.0, 2.0]
    X[0] += 0.005
    assert len(SoftBins.fit(X, np.array([True]), 8)) == 4
    assert SoftBins.fit(X, np.array([True]), 8, narrowest=0.01).low.tolist() == [0.0, 1.0, 2.0]


def test_torch_sees_the_bins_of_numpy_centred_and_scaled():
    X = rows(200)
    bins = SoftBins.fit(X, np.arange(4) != 2, 16)
    found = BinLayer(bins)(torch.from_numpy(X.astype(np.float32)))
    wanted = np.hstack([X.astype(np.float32), (bins.transform(X) - 0.5) * HEIGHT])
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("n_bins", [-1, 256, 2.5, True, "many", None])
def test_a_meaningless_number_of_bins_raises(n_bins):
    with pytest.raises(ValueError, match="n_bins must be an integer from 0 to 255"):
        MetaEncoder(2, n_bins=n_bins, training=BRIEF).fit(rows(), rows()[:, 0] > 0)


def test_wide_data_have_fewer_bins():
    assert resolve_n_bins(16, MAX_TOTAL // 16) == 16
    assert all(0 < m * resolve_n_bins(16, m) <= MAX_TOTAL for m in (1, 64, 100, 256))
    assert resolve_n_bins(16, 257) == resolve_n_bins(16, MAX_TOTAL) == 0
    assert resolve_n_bins(2, 10) == 2


def test_without_bins_the_network_is_the_papers():
    X = rows()
    encoder = MetaEncoder(2, n_bins=0, training=BRIEF, onehot=(3,)).fit(X, X[:, 0] > 0)
    assert len(encoder.bins_) == 0
    assert encoder.weights_["layers.0.weight"].shape[1] == 4
    binned = MetaEncoder(2, n_bins=5, training=BRIEF, onehot=(3,)).fit(X, X[:, 0] > 0)
    assert set(binned.bins_.column) == {0, 1, 2}
    assert binned.weights_["layers.0.weight"].shape[1] == 4 + 15
    assert len(LinearEncoder(2, training=BRIEF).fit(X, X[:, 0] > 0).bins_) == 0


HEADED = Objective(lambda_g=3, lambda_x=0, lambda_w=0, lambda_y=0, lambda_co=0, lambda_st=10, width=128)


def test_a_step_of_one_number_is_learned_that_no_line_follows():
    X = rows(3000, 3)
    P = np.where(np.abs(X[:, 0]) < 0.5, 0.9, 0.1)
    training = Training(batch_size=128, learning_rate=6e-3, max_epochs=12, decay=True, stability_rows=32)
    errors = []
    for n_bins in (0, 16):
        options = {"objective": HEADED, "training": training, "verbose": False}
        encoder = MetaEncoder(4, n_bins=n_bins, **options).fit(X[:2000], P[:2000])
        logits = encoder.transform(X[2000:]) @ encoder.head_.coef.T + encoder.head_.intercept
        errors.append(np.square(1 / (1 + np.exp(-logits[:, 0])) - P[2000:]).mean())
    assert errors[1] < 0.9 * errors[0]
