"""Where maps of low rank start: along what the black box's log-odds follow."""

import numpy as np
import pytest
import torch

from illume import MetaEncoder, Objective, Training
from illume.encoders.networks import LED_LENGTH, LowRankNetwork
from illume.encoders.starts import FARTHEST, MOST_ROWS, linear_directions

BRIEF = Training(batch_size=64, learning_rate=1e-9, max_epochs=1)


def answers(logits):
    p = 1 / (1 + np.exp(-logits))
    return np.column_stack([1 - p, p])


def rows(n=300, m=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, m))


def test_log_odds_that_are_linear_give_their_direction():
    X, weights = rows(), np.array([3.0, 0, 0, -4.0, 0, 0]) / 5
    np.testing.assert_allclose(linear_directions(X, answers(X @ weights)), weights[None], atol=1e-6)


def test_every_class_has_a_direction():
    X = rows()
    logits = np.column_stack([X[:, 0], X[:, 1], -X[:, 0] - X[:, 1]])
    P = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    expected = np.zeros((3, 6))
    expected[0, 0] = expected[1, 1] = 1.0
    expected[2, :2] = -np.sqrt(0.5)
    np.testing.assert_allclose(linear_directions(X, P), expected, atol=1e-6)


@pytest.mark.parametrize("X", [rows(), np.zeros((300, 6))], ids=["rows that differ", "rows that do not"])
def test_where_there_is_nothing_to_follow_there_is_no_direction(X):
    np.testing.assert_array_equal(linear_directions(X, np.full((len(X), 2), 0.5)), np.zeros((1, 6)))


def test_a_row_far_out_does_not_decide():
    X, weights = rows(2000), np.array([1.0, 0, 0, 0, 0, 0])
    P = answers(X @ weights)
    X[0, 5], P[0] = 1e9, [0.001, 0.999]
    assert linear_directions(X, P)[0, 0] > 0.99
    assert FARTHEST < 100


def test_no_more_than_some_rows_are_read():
    X = rows(3 * MOST_ROWS, m=2)
    P = answers(np.where(np.arange(len(X)) % 3 == 0, X[:, 0], 5 * X[:, 1]))
    np.testing.assert_allclose(linear_directions(X, P), [[1.0, 0.0]], atol=1e-6)


def network(k=4, m=30):
    return LowRankNetwork(m, k, torch.Generator().manual_seed(0), rank=3)


def test_led_directions_are_near_the_given_ones_and_differ():
    found, given = network(), torch.eye(30)[:2]
    found.lead(given)
    torch.testing.assert_close(found.base.norm(dim=1), torch.full((4,), LED_LENGTH))
    near = found.base @ given.mT / LED_LENGTH
    assert (near[[0, 2], 0] > 0.5).all()
    assert (near[[1, 3], 1] > 0.5).all()
    assert not torch.allclose(found.base[0], found.base[2])


def test_a_direction_of_zero_leads_nowhere():
    found, untouched = network(), network()
    found.lead(torch.zeros(1, 30))
    torch.testing.assert_close(found.base, untouched.base)


@pytest.mark.parametrize(("objective", "led"), [("aligned", True), ("co", False)])
def test_a_training_with_a_head_starts_there(objective, led):
    X = rows(200, m=20)
    encoder = MetaEncoder(2, rank=2, objective=Objective.preset(objective), training=BRIEF)
    encoder.fit(X, answers(4 * X[:, 3])[:, 1])
    towards = encoder.weights_["base"][:, 3] / np.linalg.norm(encoder.weights_["base"], axis=1)
    assert (np.abs(towards) > 0.5).all() == led
