"""Training on pairs of rows: what is made up, what the losses say, and what slopes and levels learn."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from illume import MetaEncoder, Training
from illume.encoders.options import PAIRS, PairObjective
from illume.encoders.pair_losses import missed_change, neighbours, score_error, steadiness
from illume.encoders.pairs import Asked, make_pairs, pair_neighbours

SHORT = replace(PAIRS, max_steps=150)
SMALL = PairObjective(width=32)
RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(300, 4)), RNG.normal(size=(150, 4))
WEIGHTS = np.array([2.0, -1.0, 0.0, 0.5])


def linear(rows):
    return rows @ WEIGHTS[:, None]


def stairs(rows):
    """Three steps along the first number, and one along the second."""
    return (np.floor(2 * rows[:, :1]) + 2.0 * (rows[:, 1:2] > 0)).clip(-4, 4)


def probabilities(scores):
    p = 1 / (1 + np.exp(-scores))
    return np.hstack([1 - p, p])


def asked_of(scores, rows=X, n_pairs=4_000):
    nothing = np.zeros(rows.shape, dtype=bool)
    return Asked(lambda rows, _: scores(rows), nothing, np.arange(rows.shape[1]), n_pairs)


def fitted(scores, objective=SMALL, asked=True, **options):
    encoder = MetaEncoder(3, objective=objective, training=options.pop("training", SHORT), **options)
    validation = (NEW, probabilities(scores(NEW)))
    made_up = asked_of(scores) if asked else None
    return encoder.fit(X, probabilities(scores(X)), validation=validation, asked=made_up)


def answered(encoder, rows):
    pulled, head = encoder.pull_back(rows, encoder.head_.coef), encoder.head_
    return pulled.Z @ head.coef.T + head.intercept, pulled.slopes[:, 0]


def test_no_change_is_missed_by_the_slopes_of_a_linear_model():
    pairs = make_pairs(X, asked_of(linear), np.zeros(4, dtype=bool), RNG)
    along, change = pairs.D @ WEIGHTS[:, None], pairs.there - pairs.here
    assert float(missed_change(torch.tensor(along), torch.tensor(change), 1.0)) < 1e-9
    assert float(score_error(torch.tensor(pairs.here), torch.tensor(linear(pairs.X)), 1.0)) < 1e-9


def test_steps_move_numbers_alone_and_what_is_missing_stays_missing():
    rows = np.column_stack([X[:, :2], np.eye(2)[RNG.integers(2, size=300)] - 0.5])
    imputed = np.zeros((300, 3), dtype=bool)
    imputed[::3, 0] = True
    rows[::3, 0] = 0.0
    seen = []

    def answer(rows, missing):
        assert (rows[missing[:, 0], 0] == 0).all()
        seen.append(len(rows))
        return rows[:, :1]

    onehot = np.array([False, False, True, True])
    pairs = make_pairs(rows, Asked(answer, imputed, np.array([0, 1, 2, 2]), 20_000), onehot, RNG)
    assert sum(seen) == 2 * len(pairs) == 40_000
    assert (pairs.D[:, 2:] == 0).all()
    assert set(map(tuple, pairs.X[:, 2:])) == {(0.5, -0.5), (-0.5, 0.5)}
    assert 0.2 < (pairs.D[:, 0] == 0).mean() < 0.5  # missing in a third of the rows
    np.testing.assert_allclose(pairs.D[:, 1].std(), 0.5, atol=0.02)


def test_without_answers_rows_are_paired_with_near_ones():
    pairs = pair_neighbours(X, linear(X), 1_000, RNG)
    assert len(pairs) == 900
    np.testing.assert_allclose(pairs.there - pairs.here, linear(pairs.D), atol=1e-5)
    typical = np.linalg.norm(X - X.mean(0), axis=1).mean()
    assert np.linalg.norm(pairs.D, axis=1).mean() < 0.6 * typical


@pytest.mark.parametrize("asked", [True, False], ids=["asked", "neighbours"])
def test_slopes_of_a_linear_model_are_its_weights(asked):
    scores, slopes = answered(fitted(linear, asked=asked, training=replace(PAIRS, max_steps=300)), NEW)
    np.testing.assert_allclose(slopes.mean(0), WEIGHTS, atol=0.15)
    assert slopes.std(0).max() < 0.1
    assert np.abs(scores - linear(NEW)).mean() < 0.1


def test_pairs_make_slopes_truer_nearby_than_scores_alone_do():
    def error(objective):
        _, slopes = answered(fitted(stairs, objective), NEW)
        rng = np.random.default_rng(1)
        steps = 0.5 * rng.normal(size=(20, *NEW.shape))
        change = np.array([stairs(NEW + step) - stairs(NEW) for step in steps])[..., 0]
        return np.square(change - (steps * slopes).sum(-1)).mean()

    assert error(replace(SMALL, lambda_d=1.0)) < 0.95 * error(replace(SMALL, lambda_d=0.0))


def test_levels_follow_steps_that_slopes_do_not():
    steady = fitted(stairs, replace(SMALL, steadiness=0.95), training=replace(PAIRS, max_steps=300))
    scores, slopes = answered(steady, NEW)
    offset = scores[:, 0] - (slopes * NEW).sum(1)  # scores are slopes times inputs, plus the row's own offset
    assert offset.std() > 0.3
    assert np.square(scores - stairs(NEW)).mean() < 0.15 * stairs(NEW).var()
    assert steady.history_[-1].terms["steadiness"] > 0.85


def test_slopes_are_as_steady_as_they_are_asked_to_be():
    def bent(rows):
        return np.sin(3 * rows[:, :1]) * rows[:, 1:2] * 3

    found = [
        fitted(bent, replace(SMALL, steadiness=wanted)).history_[-1].terms["steadiness"]
        for wanted in (0.0, 0.9)
    ]
    assert found[0] + 0.1 < found[1]


def test_equal_seeds_give_equal_weights():
    a, b, c = (fitted(stairs, random_state=seed, training=replace(PAIRS, max_steps=10)) for seed in (0, 0, 1))
    for name, weights in a.weights_.items():
        np.testing.assert_array_equal(weights, b.weights_[name])
        assert not np.array_equal(weights, c.weights_[name])


@pytest.mark.parametrize(("task", "n_outputs"), [("classification", 3), ("regression", 2)])
def test_several_classes_or_numbers_are_learned_together(task, n_outputs):
    weights = RNG.normal(size=(4, n_outputs))

    def scores(rows):
        return rows @ weights

    def answers(rows):
        S = scores(rows)
        return np.exp(S) / np.exp(S).sum(1, keepdims=True) if task == "classification" else S

    encoder = MetaEncoder(4, objective=SMALL, training=replace(PAIRS, max_steps=300), task=task)
    encoder.fit(X, answers(X), validation=(NEW, answers(NEW)), asked=asked_of(scores))
    found, wanted = answered(encoder, NEW)[0], scores(NEW)
    if task == "classification":
        found, wanted = (each - each.mean(1, keepdims=True) for each in (found, wanted))
    assert np.square(found - wanted).mean() < 0.03 * np.square(wanted).mean()


def test_the_number_of_steps_is_fixed_and_none_follow_an_interrupt_or_nan(monkeypatch):
    from illume.encoders.pair_training import PairTrainer

    assert fitted(linear, training=replace(PAIRS, max_steps=30)).history_.ended == "all 30 steps done"
    with np.errstate(all="ignore"):
        wild = fitted(linear, training=Training(64, learning_rate=1e30, max_steps=40))
    assert wild.history_.diverged
    assert all(np.isfinite(weights).all() for weights in wild.weights_.values())
    monkeypatch.setattr(PairTrainer, "_step", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    assert fitted(linear).history_.interrupted


def test_steadiness_is_the_papers_robustness():
    from illume.encoders.losses import OneHot, input_distances
    from illume.metrics import robustness

    slopes, decisions = RNG.normal(size=(80, 4)), RNG.integers(2, size=80)
    rows = torch.from_numpy(X[:80])
    distance = input_distances(rows, OneHot(torch.zeros(4, dtype=torch.bool), 0))
    near = neighbours(distance, torch.from_numpy(decisions), 20)
    found = steadiness(torch.from_numpy(slopes), near)
    assert found == pytest.approx(robustness(slopes, X[:80], decisions), abs=1e-9)


@pytest.mark.parametrize("steadiness", [-0.1, 1.5, "high", True])
def test_a_steadiness_that_is_no_share_is_refused(steadiness):
    with pytest.raises(ValueError, match="steadiness must be a number from 0 to 1, found"):
        PairObjective(steadiness=steadiness)


def test_pairs_need_scores():
    with pytest.raises(ValueError, match="pass y, or another objective"):
        MetaEncoder(2, objective=SMALL).fit(X)
