"""Losses and distances equal their definitions, pair by pair."""

import math

import pytest
import torch

from illume.encoders import losses


def random_distances(n, seed=0):
    A = torch.rand(n, n, generator=torch.Generator().manual_seed(seed)) * 2
    return (A + A.T) / 2


def slow_neighbours(D, temperature=1.0):
    n = len(D)
    weights = [
        [0.0 if i == j else math.exp(-(D[i][j] ** 2) / temperature) for j in range(n)] for i in range(n)
    ]
    return [[w / sum(row) for w in row] for row in weights]


def test_neighbours_equal_the_definition_and_leave_the_row_itself_out():
    D = random_distances(5)
    S = losses.log_neighbours(D, 0.7).exp()
    slow = torch.tensor(slow_neighbours(D.tolist(), 0.7))
    mask = ~torch.eye(5, dtype=torch.bool)
    torch.testing.assert_close(S[mask], slow[mask])
    assert slow.diagonal().sum() == 0


def test_divergence_equals_the_definition_pair_by_pair():
    D_A, D_B = random_distances(6, 1), random_distances(6, 2)
    A, B = slow_neighbours(D_A.tolist()), slow_neighbours(D_B.tolist())
    slow = sum(A[i][j] * math.log(A[i][j] / B[i][j]) for i in range(6) for j in range(6) if i != j) / 6
    found = losses.divergence(losses.log_neighbours(D_A), losses.log_neighbours(D_B))
    assert float(found) == pytest.approx(slow, rel=1e-5)


@pytest.mark.parametrize("n", [1, 2])
def test_tiny_batches_give_finite_losses_and_gradients(n):
    D = torch.zeros(n, n, requires_grad=True)
    loss = losses.divergence(losses.log_neighbours(D), losses.log_neighbours(D * 2))
    loss.backward()
    assert loss == 0
    assert D.grad.isfinite().all()


def test_far_rows_neither_overflow_nor_give_log_of_zero():
    D = torch.full((4, 4), 100.0)
    D[0, 1] = 0.0
    found = losses.divergence(losses.log_neighbours(D), losses.log_neighbours(D.T))
    assert found.isfinite()


def test_orthogonality_by_hand_and_pair_by_pair():
    # |W||W|' = [[1, .6], [.6, 1]], so two of four entries are .6 off.
    W = torch.tensor([[[1.0, 0.0], [-0.6, 0.8]]])
    assert float(losses.orthogonality(W)) == pytest.approx(2 * 0.36 / 4)
    W = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0))
    slow = 0.0
    for i in range(3):
        for r in range(4):
            for s in range(4):
                gram = sum(abs(float(W[i, r, j])) * abs(float(W[i, s, j])) for j in range(5))
                slow += (gram - (r == s)) ** 2
    assert float(losses.orthogonality(W)) == pytest.approx(slow / 48, rel=1e-5)


def test_collinearity_by_hand_and_against_torch_corrcoef_and_finite_for_a_constant_latent():
    # Correlation 1 and -1 count alike: two of four entries are 1 off.
    Z = torch.tensor([[1.0, -2.0], [2.0, -4.0], [3.0, -6.0]])
    assert float(losses.collinearity(Z)) == pytest.approx(0.5, rel=1e-5)
    Z = torch.randn(30, 3, generator=torch.Generator().manual_seed(0))
    expected = (torch.corrcoef(Z.T).abs() - torch.eye(3)).square().mean()
    torch.testing.assert_close(losses.collinearity(Z), expected)
    constant = torch.tensor([[1.0, 5.0], [2.0, 5.0]], requires_grad=True)
    losses.collinearity(constant).backward()
    assert constant.grad.isfinite().all()


def test_neighbour_spread_takes_the_nearest_of_the_same_decision_only():
    distance, A = random_distances(8, 3), torch.randn(8, 4, generator=torch.Generator().manual_seed(4))
    decisions = torch.tensor([0, 0, 0, 0, 0, 1, 1, 2])
    total, count = 0.0, 0
    for i in range(8):
        same = [j for j in range(8) if j != i and decisions[j] == decisions[i]]
        for j in sorted(same, key=lambda j, i=i: float(distance[i, j]))[:3]:
            total += 1 - float(torch.nn.functional.cosine_similarity(A[i], A[j], dim=0))
            count += 1
    found = losses.neighbour_spread(A, losses.nearest(distance, decisions))
    assert float(found) == pytest.approx(total / count, rel=1e-5)
    alone = losses.nearest(torch.ones(2, 2), torch.tensor([0, 1]))
    assert losses.neighbour_spread(torch.ones(2, 2), alone) == 0


def slow_cosine(u, v):
    norm = math.sqrt(sum(a * a for a in u)) * math.sqrt(sum(b * b for b in v))
    return 1.0 if norm == 0 else 1 - sum(a * b for a, b in zip(u, v, strict=True)) / norm


def off_diagonal(matrix):
    return matrix[~torch.eye(len(matrix), dtype=torch.bool)]


def test_cosine_equals_the_definition_and_puts_a_zero_row_at_distance_one():
    A = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    slow = [[slow_cosine(u, v) for v in A.tolist()] for u in A.tolist()]
    torch.testing.assert_close(losses.cosine(A), torch.tensor(slow), atol=1e-6, rtol=1e-5)
    A = torch.tensor([[0.0, 0.0], [1.0, 2.0]], requires_grad=True)
    distance = losses.cosine(A)
    distance.sum().backward()
    assert distance[0, 1] == 1
    assert A.grad.isfinite().all()


def test_hamming_counts_differing_columns_centred_or_not():
    onehot = torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    slow = torch.tensor(
        [[sum(a != b for a, b in zip(u, v, strict=True)) / 4 for v in onehot] for u in onehot]
    )
    torch.testing.assert_close(losses.hamming(onehot), slow)
    torch.testing.assert_close(losses.hamming(onehot - onehot.mean(0)), slow)


@pytest.mark.parametrize("h", [0, 2, 4])
def test_the_input_distance_weighs_both_kinds_by_their_number_of_columns(h):
    numeric = torch.randn(5, 4 - h, generator=torch.Generator().manual_seed(1))
    onehot = torch.eye(2)[torch.tensor([0, 1, 0, 1, 1])].repeat(1, h // 2)
    mask = torch.tensor([False] * (4 - h) + [True] * h)
    expected = torch.zeros(5, 5)
    if h < 4:
        expected += (4 - h) / 4 * losses.cosine(numeric)
    if h > 0:
        expected += h / 4 * losses.hamming(onehot)
    torch.testing.assert_close(
        losses.input_distances(torch.cat([numeric, onehot], 1), losses.OneHot(mask, h)), expected
    )


def test_the_distance_of_maps_is_the_mean_over_directions():
    W = losses.unit(torch.randn(4, 3, 5, generator=torch.Generator().manual_seed(2)))
    slow, fast = torch.stack([losses.cosine(W[:, r]) for r in range(3)]).mean(0), losses.map_distances(W)
    torch.testing.assert_close(off_diagonal(fast), off_diagonal(slow), atol=1e-6, rtol=1e-5)
