import numpy as np
import pytest

from illume.twin.games import leaf_pairs, leaf_tables, leaf_values, pair_tables
from tests.twin.enumerate_games import interactions, shapley, subsets


def leaf_game(row, shares, d):
    """Return the game of a leaf of value 1: whether row or background row meets each player's conditions."""
    return {
        S: sum(
            share
            for pattern, share in enumerate(shares)
            if all((row if j in S else pattern) >> j & 1 for j in range(d))
        )
        for S in subsets(d)
    }


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_tables_hold_the_values_and_interactions_of_every_pattern(d):
    shares = np.random.default_rng(d).dirichlet(np.ones(1 << d), 2)
    tables, pairs = leaf_tables(shares), pair_tables(shares)
    for i, own in enumerate(shares):
        for row in range(1 << d):
            played = leaf_game(row, own, d)
            np.testing.assert_allclose(tables[i, row], shapley(played, d), atol=1e-14)
            np.testing.assert_allclose(pairs[i, row], interactions(played, d), atol=1e-14)


def test_leaves_without_a_table_have_the_same_values():
    shares = np.random.default_rng(0).dirichlet(np.ones(8))
    some = np.array([0, 3, 5, 7])
    own = np.zeros(8)
    own[some] = shares[some]
    rows = np.arange(8)
    np.testing.assert_allclose(
        leaf_values(rows, some, shares[some], 3), leaf_tables(own[None])[0], atol=1e-14
    )
    np.testing.assert_allclose(leaf_pairs(rows, some, shares[some], 3), pair_tables(own[None])[0], atol=1e-14)
