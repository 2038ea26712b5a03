"""The loop that the library is measured against computes the same objective."""

import pytest
import torch

from benchmarks import fit_speed, plain_training
from illume import Objective
from illume.encoders.batches import Model
from illume.encoders.distances import Columns
from illume.encoders.networks import MetaNetwork
from illume.encoders.objective import Batch, loss_terms
from illume.encoders.stability import exact_instability

ROWS = fit_speed.problem(30, 6)
COLUMNS = Columns(torch.zeros(6, dtype=torch.bool), 0)


def test_all_terms_are_those_of_the_library_and_stability_is_exact():
    net = MetaNetwork(6, 3, torch.Generator().manual_seed(0))
    plain = plain_training.terms(net, ROWS.X, ROWS.P)
    ours = loss_terms(Objective(), Model(net, None), Batch(ROWS.X, ROWS.P, torch.zeros(30, 6)), COLUMNS, 6)
    ours["st"] = exact_instability(net, ROWS.X, 6)
    assert plain.keys() == ours.keys()
    for name, value in ours.items():
        torch.testing.assert_close(plain[name], value, rtol=1e-4, atol=1e-6, msg=name)


def test_both_learn_alike():
    one, other = (train(ROWS, ROWS, 3, 3) for train in (fit_speed.ours, fit_speed.plain))
    assert one == pytest.approx(other, rel=0.02)
