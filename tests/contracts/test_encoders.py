"""Properties of every encoder."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from illume import IdentityEncoder, LinearEncoder, MetaEncoder, Objective, Training
from illume.encoders.options import PairObjective
from tests.common import FAST

QUICK = Training(batch_size=64, max_epochs=2, sparsity_epochs=3)
ENCODERS = {
    "identity": IdentityEncoder(),
    "linear": LinearEncoder(3, training=FAST),
    "meta": MetaEncoder(3, training=FAST),
    "sparse meta": MetaEncoder(2, training=QUICK, objective=Objective.preset("so")),
    "pairs": MetaEncoder(3, training=FAST, objective=PairObjective(width=16)),
    "low-rank pairs": MetaEncoder(3, rank=2, training=FAST, objective=PairObjective(width=16)),
    "low-rank meta": MetaEncoder(3, rank=2, training=FAST, objective=Objective.preset("joint")),
    "sparse low-rank meta": MetaEncoder(2, rank=2, training=QUICK, objective=Objective.preset("so")),
    "meta of numbers": MetaEncoder(3, task="regression", training=FAST, objective=Objective.preset("joint")),
    "joint linear": LinearEncoder(2, training=FAST, objective=Objective.preset("joint")),
}
TARGETS = {
    "labels": lambda X: np.where(X[:, 0] > 0, "yes", "no"),
    "probability": lambda X: 1 / (1 + np.exp(-X[:, 0])),
    "three classes": lambda X: np.digitize(X[:, 0], [-0.5, 0.5]),
}


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(80, 4))


@pytest.fixture(params=ENCODERS.values(), ids=ENCODERS, scope="module")
def encoder(request, X):
    return clone(request.param).fit(X, TARGETS["probability"](X))


@pytest.mark.parametrize(
    ("start", "target"),
    [
        pytest.param(start, target, id=f"{name}-{of}")
        for name, start in ENCODERS.items()
        for of, target in TARGETS.items()
        if name != "meta of numbers" or of != "labels"
    ],
)
def test_latents_are_the_linear_image_of_the_row(start, target, X):
    fitted = clone(start).fit(X, target(X))
    latent = fitted.encode(X)
    levels = fitted.forward_.levels(X) if getattr(fitted, "has_levels", False) else 0.0
    np.testing.assert_allclose(
        latent.Z, np.einsum("nkm,nm->nk", latent.W, X) + levels, rtol=1e-10, atol=1e-12
    )


def test_every_direction_has_unit_length(encoder, X):
    np.testing.assert_allclose(np.linalg.norm(encoder.encode(X).W, axis=-1), 1, rtol=1e-6)


def test_transform_gives_the_latents_alone(encoder, X):
    np.testing.assert_allclose(encoder.transform(X), encoder.encode(X).Z, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_pulling_weights_back_is_multiplying_with_the_maps(encoder, X, n_outputs):
    latent = encoder.encode(X)
    coef = np.random.default_rng(0).normal(size=(n_outputs, latent.Z.shape[1]))
    pulled = encoder.pull_back(X, coef)
    expected = np.einsum("cr,nrj->ncj", coef, latent.W)
    np.testing.assert_allclose(pulled.slopes, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(pulled.Z, latent.Z, rtol=1e-10, atol=1e-12)


def test_a_row_alone_is_the_row_in_a_batch_and_in_shuffled_pieces(encoder, X):
    whole = encoder.transform(X)
    order = np.random.default_rng(1).permutation(len(X))
    pieces = np.concatenate([encoder.transform(X[part]) for part in np.array_split(order, 7)])
    alone = np.concatenate([encoder.transform(X[[i]]) for i in range(len(X))])
    scale = np.abs(whole).max(1, keepdims=True)
    assert (np.abs(alone - whole) <= 1e-5 * scale).all()
    assert (np.abs(pieces - whole[order]) <= 1e-5 * scale[order]).all()


def test_pickling_changes_nothing(encoder, X):
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(again.transform(X), encoder.transform(X))


def test_no_rows_give_no_latents(encoder, X):
    assert encoder.transform(X[:0]).shape == (0, encoder.transform(X).shape[1])


@pytest.mark.parametrize("start", ENCODERS.values(), ids=ENCODERS)
def test_before_fit_there_is_a_clear_error(start, X):
    with pytest.raises(NotFittedError):
        clone(start).transform(X)


def test_huge_inputs_give_finite_latents(encoder, X):
    assert np.isfinite(encoder.transform(X * 1e200)).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_latents": 0}, "n_latents must be a positive integer"),
        ({"n_latents": "a"}, "n_latents must be a positive integer"),
        ({"onehot": [7]}, "onehot must name inputs from 0 to 3"),
        ({"task": "ranking"}, "task must be 'classification' or 'regression', found 'ranking'"),
        ({"device": "abacus"}, "device 'abacus' is not known"),
        ({"objective": Objective(0, 0, 0, 0, 0, 0)}, "no loss term is left"),
    ],
)
def test_options_that_cannot_work_are_refused(options, words, X):
    with pytest.raises(ValueError, match=words):
        MetaEncoder(training=QUICK).set_params(**options).fit(X, X[:, 0] > 0)


def test_a_training_that_cannot_work_is_refused():
    with pytest.raises(ValueError, match="batch_size must be a positive integer, found 0"):
        Training(batch_size=0)


EXPECTED_FAILURES: dict[str, str] = {}  # none so far


@parametrize_with_checks(
    [
        IdentityEncoder(),
        LinearEncoder(2, training=QUICK),
        MetaEncoder(2, training=QUICK),
        MetaEncoder(2, training=QUICK, task="regression"),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_accepts_the_encoders_as_transformers(estimator, check):
    check(estimator)
