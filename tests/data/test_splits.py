import numpy as np
import pytest

from illume.data.sampling import split_rows


@pytest.mark.parametrize("n", [10, 37, 1000])
def test_every_row_is_of_one_kind_and_decisions_are_alike_in_all(n):
    decisions = (np.arange(n) % 3 == 0).astype(int)
    split = split_rows(decisions, 0.15, 0.15, np.random.default_rng(0))
    assert sorted(np.concatenate(split)) == list(range(n))
    assert all(len(part) for part in split)
    if n == 1000:
        assert [len(part) for part in split] == [700, 150, 150]
        np.testing.assert_allclose([decisions[part].mean() for part in split], 1 / 3, atol=0.01)


@pytest.mark.parametrize("sizes", [(4, 4, 4), (2, 2, 2, 2, 2), (9, 1)])
def test_no_kind_of_rows_is_empty_however_small_the_classes(sizes):
    decisions = np.repeat(np.arange(len(sizes)), sizes)
    assert all(len(part) for part in split_rows(decisions, 0.15, 0.15, np.random.default_rng(0)))


def test_a_decision_of_one_row_is_trained_on():
    decisions = np.array([0] * 20 + [1])
    for seed in range(5):
        assert 20 in split_rows(decisions, 0.25, 0.25, np.random.default_rng(seed)).training
