"""Models that are stepped at once learn what each learns alone."""

import pytest
import torch
from benchmarks.ensemble import Ensemble, weights_of
from benchmarks.gpu_trials import OBJECTIVE, WAYS, models_of

from benchmarks import gpu_trials
from illume.encoders.batches import Rows
from illume.encoders.distances import Columns
from illume.encoders.options import PRESETS

N_INPUTS = 5


def batches(n):
    generator = torch.Generator().manual_seed(1)
    X = torch.randn(40, N_INPUTS, generator=generator)
    p = torch.sigmoid(3 * X[:, 0])
    rows = Rows(X, torch.stack([1 - p, p], 1))
    orders = [torch.randperm(40, generator=generator) for _ in range(n)]
    return [next(rows.batches(order, 40, generator, 8)) for order in orders]


def columns():
    return Columns.of(torch.zeros(N_INPUTS, dtype=torch.bool))


@pytest.mark.parametrize("way", WAYS[1:], ids=lambda way: way.__name__)
def test_losses_step_by_step_are_those_of_models_trained_apart(way):
    alone, joined = (make(models_of(N_INPUTS, "cpu"), columns()) for make in (WAYS[0], way))
    for batch in batches(5):
        torch.testing.assert_close(joined(batch), alone(batch), rtol=2e-3, atol=1e-4)


def test_padding_is_never_trained_and_weights_come_back():
    models, again = models_of(N_INPUTS, "cpu"), models_of(N_INPUTS, "cpu")
    ensemble = Ensemble(models, OBJECTIVE)
    for each in again:
        for weight in weights_of(each).values():
            weight.data.zero_()
    ensemble.losses(batches(1)[0], columns()).sum().backward()
    for name, stacked in zip(ensemble.names, ensemble.stacked, strict=True):
        rest = stacked.grad[0].clone()
        rest[tuple(slice(0, n) for n in weights_of(models[0])[name].shape)] = 0
        assert not rest.any(), name
    ensemble.release(again)
    for one, other in zip(models, again, strict=True):
        torch.testing.assert_close(weights_of(one), weights_of(other))


def test_objectives_in_which_padding_would_count_are_refused():
    with pytest.raises(ValueError, match="padded latents would count"):
        Ensemble(models_of(N_INPUTS, "cpu"), PRESETS["joint"])


def test_the_script_prints_a_line_of_figures(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["gpu_trials", "--device", "cpu", "--inputs", "4"])
    monkeypatch.setattr(gpu_trials, "LIMIT", 0.0)
    gpu_trials.main()
    assert '"stacked"' in capsys.readouterr().out
