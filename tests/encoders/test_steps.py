import numpy as np
import pytest
import torch
from illume.encoders.steps import Steps, optimiser, set_learning_rate

from illume import MetaEncoder, Objective, Training
from illume.encoders import steps
from illume.encoders.objective import Batch


def batch(n):
    return Batch(torch.full((n, 2), 1.0), torch.full((n, 2), 0.5), torch.zeros(n, 2))


def test_on_the_cpu_every_batch_is_prepared_for_and_worked_on():
    log = []
    step = Steps(lambda b: torch.tensor(float(len(b.X))), lambda: log.append("before"))
    assert [float(step(batch(n))) for n in (3, 3, 2)] == [3.0, 3.0, 2.0]
    assert log == ["before"] * 3
    step.forget()
    assert float(step(batch(4))) == 4.0


def test_the_learning_rate_can_be_changed():
    adam = optimiser([torch.nn.Parameter(torch.zeros(1))], 0.1)
    set_learning_rate(adam, 0.5)
    assert [group["lr"] for group in adam.param_groups] == [0.5]
    adam.param_groups[0]["lr"] = rate = torch.tensor(0.1)  # as on a GPU, where it must stay the same tensor
    set_learning_rate(adam, 0.25)
    assert float(rate) == 0.25


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("objective", [Objective(), Objective(lambda_so=1, alpha=2), Objective(lambda_g=1)])
def test_recorded_steps_train_like_others(objective, monkeypatch):  # pragma: no cover
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    X[:, 4:] = X[:, 4:] > 0
    losses = []
    for eager in (10**9, 3):
        monkeypatch.setattr(steps, "EAGER", eager)
        training = Training(max_epochs=20, sparsity_epochs=5, batch_size=128)
        encoder = MetaEncoder(3, objective=objective, training=training, onehot=(4, 5), device="cuda")
        history = encoder.fit(X, X[:, 0] > 0).history_
        losses.append([epoch.validation_loss for epoch in history.epochs])
    np.testing.assert_allclose(*losses, rtol=1e-3)
