"""A training whose loss becomes NaN, or that is interrupted, is never returned as a success."""

import math

import numpy as np
import pytest

from illume import Explainer, Objective, Training
from illume.encoders.training import Trainer
from illume.errors import OutOfMemoryError
from tests.brief_fits import BRIEF, ROWS, SMALL, bent
from tests.common import grouped

SPARSE = Objective(lambda_co=0.0, lambda_so=1.0, lambda_g=1.0, alpha=2, width=8)


def fitted(objective=SMALL, training=BRIEF, **settings):
    usual = {"n_latents": 2, "queries": 60, "verbose": False}
    settings = grouped(objective=objective, training=training, **usual | settings)
    return Explainer(bent, **settings).fit(ROWS).fit_latents()


def explode_at(monkeypatch, epoch):
    """Make all weights NaN, as a step that is too long does, in some epoch of every training."""
    original = Trainer.train_epoch

    def train(self):
        loss = original(self)
        if len(self.state.epochs) + 1 >= epoch:
            for parameter in self.model.parameters():
                parameter.data.fill_(math.nan)
            return math.nan
        return loss

    monkeypatch.setattr(Trainer, "train_epoch", train)


@pytest.mark.parametrize("objective", [SMALL, "co"])
def test_a_learning_rate_that_explodes_at_once_leaves_the_global_surrogate(objective):
    too_long = Training(32, learning_rate=1e30, max_epochs=4)
    words = "the loss was NaN from the first epoch on, and nothing was learned; try a smaller learning rate"
    with pytest.warns(UserWarning, match=f"training ended early: {words}"):
        explainer = fitted(objective, too_long)
    assert explainer.quality_.surrogate.fell_back
    assert words in explainer.quality_.surrogate.reason
    assert words in repr(explainer.quality_)
    assert explainer.history_.diverged
    assert not explainer.history_.learned
    assert np.isfinite(explainer(ROWS).values).all()


def test_the_best_weights_before_are_kept_and_the_quality_says_so(monkeypatch):
    explode_at(monkeypatch, 4)
    words = "the loss became NaN; the best weights before that were kept; try a smaller learning rate"
    with pytest.warns(UserWarning, match=f"training ended early: {words}"):
        explainer = fitted()
    assert explainer.history_.diverged
    assert 1 <= explainer.history_.best <= 3
    assert words in explainer.quality_.surrogate.reason
    assert np.isfinite(explainer.fitted_.local.encoder.transform(ROWS)).all()
    assert np.isfinite(explainer(ROWS).values).all()


@pytest.mark.parametrize("epoch", [3, 9, 10, 12])
def test_a_sparse_training_that_explodes_anywhere_keeps_sparse_weights_that_are_numbers(monkeypatch, epoch):
    explode_at(monkeypatch, epoch)  # dense up to 8, thinning up to 11, then sparse
    with pytest.warns(UserWarning, match="the loss became NaN"):
        explainer = fitted(SPARSE, Training(32, max_epochs=8, sparsity_epochs=3))
    encoder = explainer.fitted_.local.encoder
    assert len(explainer.history_) == epoch
    assert encoder.alpha_ == 2
    W = encoder.encode(ROWS).W
    assert np.isfinite(W).all()
    assert ((W != 0).sum(-1) <= 2).all()


def test_rules_fall_back_too():
    too_long = Training(32, learning_rate=1e30, max_epochs=4)
    with pytest.warns(UserWarning, match="nothing was learned"):
        shared, own = (fitted(training=too_long, rule_objective=name) for name in ("shared", "so"))
    with pytest.warns(UserWarning, match=r"the rules' encoder ended early: .*nothing was learned"):
        own.fit_rules()
    for explainer in (own, shared.fit_rules()):
        assert explainer.rule_quality_.source == "global"


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
        MemoryError(),
    ],
    ids=["CUDA", "CPU", "Python"],
)
def test_a_training_for_which_memory_runs_out_is_told_with_advice(monkeypatch, error):
    def full(self):
        raise error

    monkeypatch.setattr(Trainer, "train_epoch", full)
    with pytest.raises(OutOfMemoryError, match=r"training on batches of 32 rows .*use smaller ones"):
        fitted()


def test_an_interrupt_while_rules_are_trained_is_told(monkeypatch):
    explainer, original = fitted(rule_objective=SMALL), Trainer.train_epoch

    def train(self):
        if self.state.epochs:
            raise KeyboardInterrupt
        return original(self)

    monkeypatch.setattr(Trainer, "train_epoch", train)
    with pytest.warns(UserWarning, match=r"rules' encoder ended early: interrupted, the best so far .* fit"):
        explainer.fit_rules()
    assert "training ended early: interrupted" in explainer.rule_quality_.reason
