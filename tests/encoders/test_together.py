"""Encoders that are trained side by side learn, to the last bit, what each learns alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from illume.encoders.together import Mean, Together

from illume import MetaEncoder, Training
from illume.encoders import losses
from illume.encoders.options import Objective
from illume.encoders.training import Trainer

TRAINING = Training(batch_size=32, learning_rate=5e-3, max_epochs=4, patience=4, decay=True, stability_rows=8)
ALIGNED = Objective.preset("aligned")
N_STEPS = 3  # of an epoch


def rows(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 4))
    p = 1 / (1 + np.exp(-4 * X[:, 0] * X[:, 1]))
    return X, np.column_stack([1 - p, p])


ROWS, VALIDATION = rows(90, 0), rows(30, 1)


def encoders(device="cpu"):
    settings = ((2, 1.0), (3, 1.0), (3, 0.0))
    options = {"training": TRAINING, "device": device, "verbose": False}
    return [MetaEncoder(k, objective=ALIGNED.softened(a), **options) for k, a in settings]


@pytest.fixture(scope="module")
def alone():
    return [encoder.fit(*ROWS, validation=VALIDATION) for encoder in encoders()]


def same(one, other):
    assert one.weights_.keys() == other.weights_.keys()
    for name, weight in one.weights_.items():
        np.testing.assert_array_equal(weight, other.weights_[name])
    np.testing.assert_array_equal(one.head_.coef, other.head_.coef)
    losses = [[(e.loss, e.validation_loss) for e in encoder.history_] for encoder in (one, other)]
    assert losses[0] == losses[1]
    assert one.history_.ended == other.history_.ended


@pytest.mark.parametrize("n_steps", [1, N_STEPS, 2 * N_STEPS + 1, 100])
def test_whoever_goes_on_ends_as_if_it_had_been_alone(alone, n_steps):
    for i, expected in enumerate(alone):
        together = Together(encoders(), *ROWS, VALIDATION)
        assert not together.go(n_steps)
        assert together.n_done == min(n_steps, 4 * N_STEPS)
        for j in range(3):
            together.learned(j)  # a look changes nothing
        same(together.finish(i), expected)


def test_neighbours_are_looked_for_once_a_batch(monkeypatch):
    original, seen = losses.nearest, []
    monkeypatch.setattr(losses, "nearest", lambda *parts: seen.append(1) or original(*parts))
    Together(encoders(), *ROWS, VALIDATION).go(N_STEPS - 1)
    assert len(seen) == N_STEPS - 1


def test_a_look_shows_the_mean_weights_of_the_last_steps():
    together, weights = Together(encoders()[:1], *ROWS, VALIDATION), []
    last = together.learnings[0].trainer.model.maps.layers[-1].bias
    original = Mean.add

    class Watched(Mean):
        def add(self):
            weights.append(last.detach().clone())
            original(self)

    together.means = [Watched(learning.trainer) for learning in together.learnings]
    together.go(8)
    found = together.learned(0).weights["layers.4.bias"]
    assert len(weights) == 2, "a quarter of them"
    np.testing.assert_allclose(found, torch.stack(weights).mean(0).numpy(), rtol=1e-6)
    assert torch.equal(last, weights[-1]), "it goes on from where it was"


def test_an_interrupt_leaves_the_best_epoch_or_else_what_there_is(monkeypatch):
    def at(step):
        original, seen = Trainer.trained, []

        def trained(self, between):
            seen.append(1)
            if len(seen) > 3 * step:
                raise KeyboardInterrupt
            return original(self, between)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Trainer, "trained", trained)
            together = Together(encoders(), *ROWS, VALIDATION)
            assert together.go(100)
        return together

    early, late = at(1), at(N_STEPS + 1)
    first = early.learned(0, interrupted=True)
    assert first.history.interrupted
    assert first.history.best == 0
    later = late.learned(0, interrupted=True)
    assert later.history.best == 1
    best = late.learnings[0].trainer.at.weights
    np.testing.assert_array_equal(later.weights["layers.4.bias"], best["0.layers.4.bias"].numpy())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu_one_recording_steps_all_of_them():
    found = []
    for device in ("cpu", "cuda"):
        together = Together(encoders(device), *ROWS, VALIDATION)
        together.go(4 * N_STEPS)
        found.append([together.learned(i).weights["layers.4.bias"] for i in range(3)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-2, atol=1e-3)


def test_one_that_has_ended_is_judged_by_its_best_epoch(monkeypatch):
    original = Trainer._epoch

    def worse(self, progress):  # from the second epoch on
        return original(self, progress) + 10.0 * len(self.epochs)

    monkeypatch.setattr(Trainer, "_epoch", worse)
    options = {"training": replace(TRAINING, patience=1), "verbose": False}
    together = Together([MetaEncoder(2, objective=ALIGNED, **options)], *ROWS, VALIDATION)
    together.go(4 * N_STEPS)
    at = together.learnings[0].trainer.at
    assert not together.learnings[0].trainer.goes_on
    assert together.n_done < 4 * N_STEPS
    found = together.learned(0)
    assert found.history.best == at.best
    for name, weight in found.weights.items():
        key = next(key for key in at.weights if key.endswith(name))
        np.testing.assert_array_equal(weight, at.weights[key].numpy())


def test_an_interrupt_before_the_first_epoch_is_done_keeps_what_the_trial_learned(monkeypatch):
    together = Together(encoders()[:1], *ROWS, VALIDATION)
    together.go(N_STEPS - 1)
    bias = together.learnings[0].trainer.model.maps.layers[-1].bias
    before = bias.detach().clone()

    def interrupted(self, progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "_epoch", interrupted)
    encoder = together.finish(0)
    assert encoder.history_.interrupted
    np.testing.assert_array_equal(encoder.weights_["layers.4.bias"], before.numpy())
