import numpy as np
import pytest
import torch

from illume import LinearEncoder, MetaEncoder, Objective, Training
from illume.encoders import training as module
from illume.encoders.training import Trainer
from tests.common import FAST


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(150, 4))
    return X, 1 / (1 + np.exp(-4 * X[:, 0] * X[:, 1]))


def fitted(rows, **options):
    return MetaEncoder(3, **({"training": FAST, "objective": Objective(lambda_g=1)} | options)).fit(*rows)


def test_training_lowers_the_validation_loss(rows):
    history = fitted(rows).history_
    assert history.epochs[-1].validation_loss < history.epochs[0].validation_loss


def test_equal_seeds_give_identical_weights_and_other_seeds_do_not(rows):
    a, b, c = (fitted(rows, random_state=seed) for seed in (0, 0, 1))
    for name, weights in a.weights_.items():
        np.testing.assert_array_equal(weights, b.weights_[name])
        assert not np.array_equal(weights, c.weights_[name])


def test_training_leaves_the_global_random_state_alone(rows):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    fitted(rows)
    assert torch.equal(torch.rand(3), expected)


def test_it_stops_when_nothing_gets_better_and_goes_back_to_the_best(rows):
    history = fitted(rows, training=Training(64, 0.05, max_epochs=200, patience=3)).history_
    assert len(history) < 200
    assert history.ended == "no better for 3 epochs"
    assert history.best == min(history, key=lambda epoch: epoch.validation_loss).number
    assert len(history) == history.best + 3


def test_the_weights_kept_are_those_of_the_best_epoch(rows, monkeypatch):
    losses = iter([3.0, 1.0, 2.0, 2.0])
    seen = []

    def fake(self):
        seen.append([p.detach().clone() for p in self.model.modules.parameters()])
        return {"x": next(losses)}

    monkeypatch.setattr(Trainer, "_validate", fake)
    encoder = fitted(rows, training=Training(64, max_epochs=10, patience=2))
    assert encoder.history_.best == 2
    for kept, best in zip(encoder.weights_.values(), seen[1], strict=False):
        np.testing.assert_array_equal(kept, best.numpy())


def test_the_number_of_inputs_falls_evenly_to_its_target(rows):
    sparse = Objective.preset("so")
    encoder = fitted(rows, objective=sparse, training=Training(64, max_epochs=2, sparsity_epochs=4))
    assert [epoch.alpha for epoch in encoder.history_] == [4, 4, 4, 4, 3, 2, 2, 2]
    W = encoder.encode(rows[0]).W
    assert ((W != 0).sum(-1) == 2).all()
    np.testing.assert_allclose(np.square(W).sum(-1), 1, rtol=1e-6)


def test_an_interrupt_keeps_the_best_model_so_far(rows, monkeypatch):
    original, calls = Trainer._train, []

    def interrupted(self):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return original(self)

    monkeypatch.setattr(Trainer, "_train", interrupted)
    encoder = fitted(rows)
    assert encoder.history_.interrupted
    assert len(encoder.history_) == 3
    assert encoder.encode(rows[0]).Z.shape == (150, 3)


def test_a_loss_that_becomes_nan_stops_the_training(rows, monkeypatch):
    losses = iter([1.0, 0.5, float("nan")])
    monkeypatch.setattr(Trainer, "_validate", lambda self: {"x": next(losses)})
    history = fitted(rows).history_
    assert "NaN" in history.ended
    assert history.best == 2


def test_an_epoch_shows_no_more_rows_than_asked(rows, monkeypatch):
    seen = []
    original = module.loss_terms

    def counted(objective, model, batch, *others, **shared):
        seen.append(len(batch.X))
        return original(objective, model, batch, *others, **shared)

    monkeypatch.setattr(module, "loss_terms", counted)
    fitted(rows, training=Training(16, max_epochs=1, epoch_rows=40, validation_rows=10))
    assert sum(seen) == 40 + 10


def test_the_learning_rate_falls_along_a_cosine(rows, monkeypatch):
    rates = []
    original = Trainer._train

    def watched(self):
        rates.append(self.optimiser.param_groups[0]["lr"])
        return original(self)

    monkeypatch.setattr(Trainer, "_train", watched)
    fitted(rows, training=Training(64, 1.0e-3, max_epochs=4, decay=True))
    np.testing.assert_allclose(rates, 1e-3 * 0.5 * (1 + np.cos(np.pi * np.arange(4) / 4)))


def test_a_calm_start_begins_with_nearly_one_map(rows):
    def spread(calm):
        start = Training(64, learning_rate=1e-12, max_epochs=1)
        W = fitted(rows, objective=Objective(calm=calm), training=start).encode(rows[0]).W
        return W.std(0).mean()

    assert spread(0.05) < 0.2 * spread(1.0)


def test_history_reads_as_a_table_and_as_columns(rows):
    history = fitted(rows).history_
    assert "kept" in repr(history)
    table = history.to_dict()
    assert len(table["validation_loss"]) == len(table["g"]) == len(history)
    assert history[0].number == 1


def test_without_answers_the_latents_keep_the_structure_of_the_inputs_alone(rows):
    encoder = MetaEncoder(2, training=FAST, objective=Objective(lambda_g=1)).fit(rows[0])
    assert encoder.head_ is None
    assert encoder.history_[0].terms.keys() == {"x", "w", "st", "co"}


def test_the_linear_encoder_has_one_map_for_all_rows(rows):
    W = LinearEncoder(2, training=FAST).fit(*rows).encode(rows[0]).W
    assert (W[0] == W).all()
    assert W.strides[0] == 0


def test_a_progress_bar_shows_the_loss_when_asked_for(rows, capsys):
    fitted(rows, verbose=True)
    shown = capsys.readouterr().err
    assert "training, 3 latents" in shown
    assert "validation=" in shown
