"""The training loop, trials, and initial directions."""

import numpy as np
import pytest
import torch

from illume import LinearEncoder, MetaEncoder, Objective, Training
from illume.data.rounded_weights import round_weights
from illume.encoders import networks
from illume.encoders import training as module
from illume.encoders.networks import linear_directions
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
        seen.append([p.detach().clone() for p in self.model.parameters()])
        return {"x": next(losses)}

    monkeypatch.setattr(Trainer, "validate", fake)
    encoder = fitted(rows, training=Training(64, max_epochs=10, patience=2))
    assert encoder.history_.best == 2
    for (name, kept), best in zip(encoder.weights_.items(), seen[1], strict=False):
        wanted = best.numpy()
        np.testing.assert_array_equal(kept, round_weights(wanted) if name.endswith(".weight") else wanted)


def test_the_number_of_inputs_falls_evenly_to_its_target(rows):
    sparse = Objective.preset("so")
    encoder = fitted(rows, objective=sparse, training=Training(64, max_epochs=2, sparsity_epochs=4))
    assert [epoch.alpha for epoch in encoder.history_] == [4, 4, 4, 4, 3, 2, 2, 2]
    W = encoder.encode(rows[0]).W
    assert ((W != 0).sum(-1) == 2).all()
    np.testing.assert_allclose(np.square(W).sum(-1), 1, rtol=1e-6)


def test_an_interrupt_keeps_the_best_model_so_far(rows, monkeypatch):
    original, calls = Trainer.train_epoch, []

    def interrupted(self):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return original(self)

    monkeypatch.setattr(Trainer, "train_epoch", interrupted)
    encoder = fitted(rows)
    assert encoder.history_.interrupted
    assert len(encoder.history_) == 3
    assert encoder.encode(rows[0]).Z.shape == (150, 3)


def test_a_loss_that_becomes_nan_stops_the_training(rows, monkeypatch):
    losses = iter([1.0, 0.5, float("nan")])
    monkeypatch.setattr(Trainer, "validate", lambda self: {"x": next(losses)})
    history = fitted(rows).history_
    assert "NaN" in history.ended
    assert history.best == 2


def test_an_epoch_shows_no_more_rows_than_asked(rows, monkeypatch):
    seen = []
    original = module.loss_terms

    def counted(objective, model, batch, *others, **options):
        seen.append(len(batch.X))
        return original(objective, model, batch, *others, **options)

    monkeypatch.setattr(module, "loss_terms", counted)
    fitted(rows, training=Training(16, max_epochs=1, epoch_rows=40, validation_rows=10))
    assert sum(seen) == 40 + 10


def test_the_learning_rate_falls_along_a_cosine(rows, monkeypatch):
    rates = []
    original = Trainer.train_epoch

    def watched(self):
        rates.append(self.optimizer.param_groups[0]["lr"])
        return original(self)

    monkeypatch.setattr(Trainer, "train_epoch", watched)
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


@pytest.mark.parametrize(
    ("stability_rows", "directions"), [(None, [3, 2, 2]), (2, [2, 2, 2]), (9, [3, 2, 2])]
)
def test_batches_hold_every_row_once_with_its_answer(stability_rows, directions):
    X = np.arange(14.0).reshape(7, 2)
    training = Training(3, stability_rows=stability_rows)
    y = np.arange(7) % 2
    trainer = MetaEncoder(2, training=training)._trainer(X, y, (X, np.eye(2)[y]), None)
    batches = list(trainer._training_batches())
    assert [len(batch.X) for batch in batches] == [3, 2, 2]
    assert [len(batch.v) for batch in batches] == directions
    shown = torch.cat([batch.X for batch in batches])
    order = (shown[:, 0] / 2).long()
    assert sorted(order.tolist()) == list(range(7))
    assert torch.equal(shown, torch.from_numpy(X).float()[order])
    assert torch.equal(torch.cat([batch.P for batch in batches])[:, 1].long(), order % 2)
    assert len(torch.cat([batch.v for batch in batches]).unique()) == 2 * sum(directions)


def answers(logits):
    p = 1 / (1 + np.exp(-logits))
    return np.column_stack([1 - p, p])


def normal(n=300, m=6):
    return np.random.default_rng(0).normal(size=(n, m))


def test_linear_scores_give_their_directions():
    X, weights = normal(), np.array([[3.0, 0, 0, -4.0, 0, 0], [0, 5.0, 0, 0, 0, 0]]) / 5
    np.testing.assert_allclose(linear_directions(X, X @ weights.T * [2, 1e5]), weights, atol=1e-5)


@pytest.mark.parametrize("X", [normal(), np.zeros((300, 6))], ids=["rows that differ", "rows that do not"])
def test_constant_scores_give_no_direction(X):
    np.testing.assert_array_equal(linear_directions(X, np.full((len(X), 1), 0.5)), np.zeros((1, 6)))


def test_an_outlier_does_not_decide_the_direction_and_many_rows_are_thinned(monkeypatch):
    X = normal(2000)
    scores = X[:, :1].copy()
    X[0, 5], scores[0] = 1e9, 6.9
    assert linear_directions(X, scores)[0, 0] > 0.99
    monkeypatch.setattr(networks, "START_ROWS", 100)
    X = normal(300, 2)
    scores = np.where(np.arange(300) % 3 == 0, X[:, 0], 5 * X[:, 1])
    np.testing.assert_allclose(linear_directions(X, scores[:, None]), [[1.0, 0.0]], atol=1e-5)


@pytest.mark.parametrize(("objective", "led"), [("joint", True), ("co", False)])
def test_low_rank_maps_with_a_head_start_along_the_linear_directions(objective, led):
    X = normal(200, 20)
    brief = Training(batch_size=64, learning_rate=1e-9, max_epochs=1)
    encoder = MetaEncoder(2, rank=2, objective=Objective.preset(objective), training=brief)
    encoder.fit(X, answers(4 * X[:, 3])[:, 1])
    towards = encoder.weights_["base"][:, 3] / np.linalg.norm(encoder.weights_["base"], axis=1)
    assert (np.abs(towards) > 0.5).all() == led


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_training_on_a_cuda_device_begins_as_on_the_cpu(task):  # pragma: no cover
    X = normal()
    training = Training(max_epochs=2, sparsity_epochs=1, batch_size=128)
    options = {"objective": Objective(lambda_so=1, alpha=2), "training": training}
    found = [
        MetaEncoder(3, task=task, device=device, **options).fit(X, X[:, 0] > 0).history_[0].validation_loss
        for device in ("cpu", "cuda")
    ]
    np.testing.assert_allclose(*found, rtol=1e-2)
