import math

import pytest
import torch

from illume.encoders import distances


def slow_cosine(u, v):
    norm = math.sqrt(sum(a * a for a in u)) * math.sqrt(sum(b * b for b in v))
    return 1.0 if norm == 0 else 1 - sum(a * b for a, b in zip(u, v, strict=True)) / norm


def off_diagonal(matrix):
    return matrix[~torch.eye(len(matrix), dtype=torch.bool)]


def test_cosine_equals_the_definition_pair_by_pair():
    A = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    slow = [[slow_cosine(u, v) for v in A.tolist()] for u in A.tolist()]
    torch.testing.assert_close(distances.cosine(A), torch.tensor(slow), atol=1e-6, rtol=1e-5)


def test_a_zero_row_is_at_distance_one_and_has_a_finite_gradient():
    A = torch.tensor([[0.0, 0.0], [1.0, 2.0]], requires_grad=True)
    D = distances.cosine(A)
    D.sum().backward()
    assert D[0, 1] == 1
    assert A.grad.isfinite().all()


def test_hamming_counts_differing_columns_centred_or_not():
    onehot = torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    slow = torch.tensor(
        [[sum(a != b for a, b in zip(u, v, strict=True)) / 4 for v in onehot] for u in onehot]
    )
    torch.testing.assert_close(distances.hamming(onehot), slow)
    torch.testing.assert_close(distances.hamming(onehot - onehot.mean(0)), slow)


@pytest.mark.parametrize("h", [0, 2, 4])
def test_the_input_distance_weighs_both_kinds_by_their_number_of_columns(h):
    numeric = torch.randn(5, 4 - h, generator=torch.Generator().manual_seed(1))
    onehot = torch.eye(2)[torch.tensor([0, 1, 0, 1, 1])].repeat(1, h // 2)
    mask = torch.tensor([False] * (4 - h) + [True] * h)
    expected = torch.zeros(5, 5)
    if h < 4:
        expected += (4 - h) / 4 * distances.cosine(numeric)
    if h > 0:
        expected += h / 4 * distances.hamming(onehot)
    torch.testing.assert_close(
        distances.mixed(torch.cat([numeric, onehot], 1), distances.Columns.of(mask)), expected
    )


def test_the_distance_of_maps_is_the_mean_over_directions():
    W = torch.randn(4, 3, 5, generator=torch.Generator().manual_seed(2))
    slow = torch.stack([distances.cosine(W[:, r]) for r in range(3)]).mean(0)
    torch.testing.assert_close(off_diagonal(distances.maps(W)), off_diagonal(slow), atol=1e-6, rtol=1e-5)
