"""Cost that grows as the number of classes does, and no faster."""

import numpy as np
import pytest
import torch

from illume.data.encoding import Encoding
from illume.data.frames import as_frame
from illume.data.schema import Schema
from illume.twin import train_networks
from illume.twin.network_arrays import Coding


def test_many_classes_take_fewer_walks_of_which_each_costs_more():
    values = np.random.default_rng(0).normal(size=(50, 3, 200))
    few, many = (train_networks._count_walks(9_000, each, each) for each in (values[..., :2], values))
    assert (few, many) == (3_000, 3_000 * train_networks.MOST_OUTPUTS // 200)


@pytest.mark.parametrize("at_once", [1, 100])
def test_values_in_pieces_are_those_of_all_rows_at_once(monkeypatch, at_once):
    X = np.random.default_rng(0).normal(size=(40, 3))
    encoding = Encoding.fit(Schema.infer(X), as_frame(X))
    encoded = encoding.transform(as_frame(X))
    coding = Coding.fit(encoding, encoded.X, np.ones(3, dtype=bool))
    codes = coding.codes(encoded.X, encoded.imputed)
    network = train_networks.ValueNetwork(coding, 5, 4, 6, torch.Generator().manual_seed(0))
    rows = train_networks._tensors(codes, torch.device("cpu"))
    whole = network(*rows).detach()
    monkeypatch.setattr(train_networks, "AT_ONCE", at_once)
    np.testing.assert_allclose(network(*rows).detach(), whole, rtol=1e-5, atol=1e-6)
    assert whole.shape == (40, 3, 5)
