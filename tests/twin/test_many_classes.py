"""Cost that grows as the number of classes does, and no faster."""

import numpy as np
import pytest
import torch

from illume.data.encoding import Encoding
from illume.data.frames import as_frame
from illume.data.schema import Schema
from illume.twin import train_networks, walks
from illume.twin.network_arrays import Coding


def test_what_walks_are_corrected_by_does_not_grow_with_the_number_of_classes():
    rng = np.random.default_rng(0)
    few, many = rng.normal(size=(50, 4)), rng.normal(size=(50, 200))
    assert walks._strongest(few) is few
    found = walks._strongest(many)
    assert found.shape == (50, walks.MOST_TOTALS)
    strongest = np.linalg.svd(many - many.mean(0), compute_uv=False)[: walks.MOST_TOTALS]
    np.testing.assert_allclose(np.linalg.svd(found, compute_uv=False), strongest)


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
