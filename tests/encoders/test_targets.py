"""Encoders learn probabilities of classes, and numbers in any units."""

import math

import numpy as np
import pytest
import torch

from illume import LinearEncoder, MetaEncoder, Objective, Training
from illume.encoders import losses
from illume.encoders.batches import Batch
from illume.encoders.networks import EncoderModel, MapNetwork, linear
from illume.encoders.options import QUICK
from illume.encoders.targets import ClassTargets, NumberTargets
from tests.common import FAST

ALL = Objective(lambda_so=1, lambda_g=1)
HEADED = Objective(lambda_g=3, lambda_x=0, lambda_w=0, lambda_y=0, lambda_co=0, lambda_st=10, width=128)


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(200, 4))
    return X, 3 * X[:, 0] + X[:, 1] * X[:, 2]


def regression(rows, n_latents=3, kind=MetaEncoder, **options):
    settings = {"task": "regression", "training": FAST, "objective": HEADED} | options
    return kind(n_latents, **settings).fit(*rows)


def answers(encoder, X):
    return encoder.transform(X) @ encoder.head_.coef.T + encoder.head_.intercept


def test_mimicry_equals_the_cross_entropy_for_two_and_for_three_classes():
    P = torch.tensor([[0.2, 0.8], [0.9, 0.1]])
    logits = torch.tensor([[1.0], [-2.0]])
    q = [1 / (1 + math.exp(-float(t))) for t in logits]
    slow = -sum(p[1] * math.log(a) + p[0] * math.log(1 - a) for p, a in zip(P.tolist(), q, strict=True)) / 2
    assert float(ClassTargets(2).mimicry(logits, P)) == pytest.approx(slow, rel=1e-5)
    P = torch.tensor([[0.2, 0.5, 0.3]])
    logits = torch.tensor([[1.0, 0.0, -1.0]])
    log_sum = math.log(math.e + 1 + 1 / math.e)
    by_hand = -(0.2 * (1 - log_sum) + 0.5 * (0 - log_sum) + 0.3 * (-1 - log_sum))
    assert float(ClassTargets(3).mimicry(logits, P)) == pytest.approx(by_hand, rel=1e-5)


def test_explanations_of_classes_ignore_what_all_classes_share_and_those_of_numbers_do_not():
    coef = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    torch.testing.assert_close(ClassTargets(3).explained(coef), torch.tensor([[-1.0, -2.0], [1.0, 2.0]]))
    assert NumberTargets.fit(np.eye(2)).explained(coef) is coef


def test_scores_of_probabilities_are_log_odds_and_those_of_numbers_are_themselves():
    found = ClassTargets(2).scores(np.array([[0.2, 0.8], [0.0, 1.0]]))
    np.testing.assert_allclose(found, [[math.log(4)], [math.log(999)]])
    three = np.array([[0.2, 0.5, 0.3]])
    np.testing.assert_allclose(ClassTargets(3).scores(three), np.log(three) - np.log(three).mean())
    np.testing.assert_array_equal(NumberTargets.fit(three).scores(three), three)


def test_numbers_are_standardised_by_those_of_the_training_rows():
    P = np.array([[1e5, 0.1, -3.0], [3e5, 0.1, 1.0], [2e5, 0.1, 2.0]])
    targets = NumberTargets.fit(P)
    found = targets.standardise(P)
    np.testing.assert_allclose(found.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(found.std(0), [1, 0, 1], atol=1e-12)
    np.testing.assert_array_equal(targets.scale[1], 1.0)
    np.testing.assert_allclose(targets.standardise(P[:1] + 1), (P[:1] + 1 - P.mean(0)) / targets.scale)


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_very_small_and_very_large_numbers_are_standardised_too(unit):
    found = NumberTargets.fit(unit * np.array([[1.0], [3.0]])).standardise(unit * np.array([[1.0], [3.0]]))
    np.testing.assert_allclose(found, [[-1], [1]])


def test_losses_of_numbers_by_hand():
    targets = NumberTargets.fit(np.eye(2))
    logits, P = torch.tensor([[3.0, 0.0], [0.5, 1.0]]), torch.tensor([[0.0, 0.0], [0.0, 1.0]])
    assert float(targets.mimicry(logits, P)) == pytest.approx((9 + 0.25) / 4)
    P = torch.tensor([[0.0, 0.0], [1.0, -3.0], [1.0, 1.0]])
    expected = torch.tensor([[0.0, 2.0, 1.0], [2.0, 0.0, 2.0], [1.0, 2.0, 0.0]])
    torch.testing.assert_close(targets.distances(P), expected)


def test_decisions_are_four_bands_of_the_first_number_that_hold_as_many_of_normal_numbers():
    P = torch.randn(20_000, 2, generator=torch.Generator().manual_seed(0))
    found = NumberTargets.fit(np.eye(2)).decisions(P)
    np.testing.assert_allclose(torch.bincount(found) / len(P), 0.25, atol=0.01)
    order = P[:, 0].argsort()
    assert (found[order].diff() >= 0).all()


@pytest.mark.parametrize("rank", [None, 2])
def test_terms_of_numbers_compare_standardised_numbers(rank):
    generator = torch.Generator().manual_seed(0)
    X, P = torch.randn(20, 4, generator=generator), torch.randn(20, 2, generator=generator)
    net = EncoderModel(MapNetwork(4, 3, generator, widths=(6, 8), rank=rank), linear(3, 2, generator))
    onehot = losses.OneHot(torch.zeros(4, dtype=torch.bool), 0)
    targets = NumberTargets.fit(P.numpy())
    terms = losses.loss_terms(ALL, net, Batch(X, P, X), onehot, 4, targets=targets)
    W = losses.unit(net.maps(X))
    Z = torch.einsum("nkm,nm->nk", W, X)
    log_Y = losses.log_neighbours((P[:, None] - P[None]).abs().mean(2))
    expected = {
        "y": losses.divergence(log_Y, losses.log_neighbours(losses.cosine(Z))),
        "g": (net.head(Z) - P).square().mean(),
    }
    for name, value in expected.items():
        torch.testing.assert_close(terms[name], value, rtol=1e-4, atol=1e-6, msg=name)


@pytest.mark.parametrize("objective", ["joint"])
def test_a_short_training_learns_a_product_of_inputs(objective):
    X = np.random.default_rng(0).normal(size=(700, 4))
    y = 1e5 * (3 + X[:, 0] + X[:, 1] * X[:, 2])
    encoder = regression((X[:500], y[:500]), 4, training=QUICK, objective=Objective.preset(objective))
    error = answers(encoder, X[500:])[:, 0] - y[500:]
    assert error.var() < 0.07 * y[500:].var()


@pytest.mark.parametrize("objective", [HEADED, ALL], ids=["a head", "all terms"])
@pytest.mark.parametrize(("factor", "shift"), [(1e5, 0.0), (2.0**-20, 0.0), (3e-3, 7e3)])
def test_other_units_scale_the_head_and_leave_the_latents_as_they_are(rows, objective, factor, shift):
    X, y = rows
    one = regression(rows, objective=objective)
    other = regression((X, factor * y + shift), objective=objective)
    np.testing.assert_allclose(other.transform(X), one.transform(X), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(other.head_.coef, factor * one.head_.coef, rtol=1e-2)
    found, expected = (answers(other, X) - shift) / factor, answers(one, X)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_several_outputs_are_learned_together_each_in_its_units(rows):
    X, y = rows
    P = np.column_stack([y, 1e6 - 1e4 * X[:, 3], np.full(len(X), 42.0)])
    training = Training(batch_size=64, learning_rate=5e-3, max_epochs=40)
    encoder = regression((X, P), 4, training=training, objective=Objective.preset("joint"))
    assert encoder.head_.coef.shape == (3, 4)
    assert encoder.head_.intercept.shape == (3,)
    found = answers(encoder, X)
    assert ((found - P).var(0)[:2] < 0.2 * P.var(0)[:2]).all()
    np.testing.assert_allclose(found[:, 2], 42, atol=0.5)


@pytest.mark.parametrize("kind", [MetaEncoder, LinearEncoder])
def test_a_column_of_numbers_is_the_same_as_a_vector(rows, kind):
    X, y = rows
    a = regression((X, y), kind=kind)
    b = regression((X, y[:, None]), kind=kind)
    np.testing.assert_array_equal(a.transform(X), b.transform(X))
    held_out = kind(3, task="regression", training=FAST).fit(X, y, validation=(X[:50], y[:50]))
    assert len(held_out.history_) > 0


def test_a_linear_function_is_learned_by_one_map(rows):
    X = rows[0]
    y = 10 + X @ [2.0, -1.0, 0.0, 0.5]
    encoder = regression((X, y), 2, LinearEncoder, training=Training(32, 1e-2, max_epochs=80))
    assert np.abs(answers(encoder, X)[:, 0] - y).max() < 0.3


def test_low_rank_maps_start_along_the_linear_model_of_the_numbers():
    X = np.random.default_rng(0).normal(size=(200, 20))
    brief = Training(batch_size=64, learning_rate=1e-9, max_epochs=1)
    base = regression((X, 7e4 * X[:, 3]), 2, rank=2, training=brief).weights_["base"]
    assert (np.abs(base[:, 3]) / np.linalg.norm(base, axis=1) > 0.5).all()


def test_without_numbers_the_latents_keep_the_structure_of_the_inputs_alone(rows):
    X, y = rows
    none = regression((X, None), objective=ALL)
    assert none.head_ is None
    assert none.history_[0].terms.keys() == {"x", "w", "st", "so", "co"}
    MetaEncoder(2, task="regression", training=FAST).fit(X, validation=(X[:9], y[:9]))


@pytest.mark.parametrize("task", ["ranking", None, ["regression"]])
def test_an_unknown_task_is_refused_and_both_are_named(rows, task):
    with pytest.raises(ValueError, match="task must be 'classification' or 'regression', found"):
        MetaEncoder(task=task).fit(*rows)


@pytest.mark.parametrize(
    "y", [["a"] * 200, np.full(200, np.nan), np.ones((200, 2, 2)), np.ones((200, 0)), np.full(200, np.inf)]
)
def test_what_is_no_number_is_refused(rows, y):
    with pytest.raises(
        ValueError, match=r"must hold finite numbers of shape \(n,\) or \(n, outputs\), found"
    ):
        MetaEncoder(task="regression").fit(rows[0], y)


def test_answers_to_validation_rows_must_be_of_the_same_shape(rows):
    X, y = rows
    for wrong in (np.ones((9, 2)), np.ones(8)):
        with pytest.raises(ValueError, match="the answers to 9 validation rows have shape"):
            MetaEncoder(task="regression").fit(X, y, validation=(X[:9], wrong))
