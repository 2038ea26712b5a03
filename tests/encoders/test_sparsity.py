import torch
from illume.encoders.sparsity import SparsitySchedule, keep_largest, normalised


def test_gradients_pass_straight_through_the_mask():
    V = torch.tensor([[[3.0, -4.0, 1.0]]], requires_grad=True)
    keep_largest(V, 1)[0].sum().backward()
    assert V.grad.tolist() == [[[1.0, 1.0, 1.0]]]


def test_all_inputs_are_kept_where_alpha_is_as_large():
    V = torch.randn(2, 3, 4)
    assert keep_largest(V, 4)[0] is V


def test_a_zero_direction_stays_finite():
    V = torch.zeros(1, 1, 3, requires_grad=True)
    W, _ = normalised(V)
    W.sum().backward()
    assert W.tolist() == [[[0.0, 0.0, 0.0]]]
    assert V.grad.isfinite().all()


def test_a_schedule_of_no_epochs_is_at_its_end():
    assert SparsitySchedule(8, 2, 0)(0) == 2
