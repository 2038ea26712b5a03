r"""Shapley values of one leaf of a tree, in closed form.

A leaf with d players on its path counts for a set S of them if the row meets the conditions of all players in
S, and the background row those of all others. Let bit j of a (of b) say whether the row (the background row)
meets the conditions of player j. With :math:`U = \neg b` and :math:`V = \neg a`, which must not overlap,

.. math:: \phi_j = \frac{(|U|-1)!\,|V|!}{(|U|+|V|)!} \; (j \in U), \qquad
          \phi_j = -\frac{|U|!\,(|V|-1)!}{(|U|+|V|)!} \; (j \in V).

|U| depends on b alone, and |V| on a alone: sums over background rows are therefore sums over subsets of a.
"""

from __future__ import annotations

from functools import lru_cache
from math import factorial

import numpy as np

from illume._typing import FloatArray, IntArray

MOST_PLAYERS = 62  # bits of a whole number
AT_ONCE = 2**22  # numbers that are summed at once, 32 MB


def _table(most: int, top: int, rows: bool, columns: bool) -> FloatArray:
    """Return (u - rows)! (v - columns)! / (u + v - top)!, 0 where a factorial is of a negative number."""
    found = np.zeros((most, most))
    for u in range(rows, most):
        for v in range(columns, most):
            if u + v >= max(top, 1):
                found[u, v] = factorial(u - rows) * factorial(v - columns) / factorial(u + v - top)
    return found


@lru_cache(None)
def weights() -> tuple[FloatArray, FloatArray]:
    """Return the weights of a player in U and of one in V, by |U| and |V|.

    >>> up, down = weights()
    >>> [float(up[1, 0]), float(down[0, 1]), float(up[2, 2]), float(down[1, 1])]
    [1.0, 1.0, 0.08333333333333333, 0.5]
    """
    most = MOST_PLAYERS + 1
    return _table(most, 0, True, False), _table(most, 0, False, True)


@lru_cache(None)
def pair_weights() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weights of two players both in U, both in V, and one in each, by |U| and |V|.

    >>> both_up, both_down, apart = pair_weights()
    >>> [float(both_up[2, 0]), float(both_down[0, 2]), float(apart[1, 1])]
    [1.0, 1.0, 1.0]
    """
    most = MOST_PLAYERS + 1
    found = np.zeros((3, most, most))
    for u in range(most):
        for v in range(most):
            if u + v < 2:
                continue
            below = factorial(u + v - 1)
            found[0, u, v] = factorial(u - 2) * factorial(v) / below if u > 1 else 0.0
            found[1, u, v] = factorial(u) * factorial(v - 2) / below if v > 1 else 0.0
            found[2, u, v] = factorial(u - 1) * factorial(v - 1) / below if u and v else 0.0
    return found[0], found[1], found[2]


def subset_sums(shares: FloatArray) -> FloatArray:
    """Return for leaves with shares (n, 2^d) of background rows by pattern b, sums by |U| and a.

    Entry (i, u, a), of n × (d + 1) × 2^d, is the share of background rows that miss u players' conditions,
    all of them players whose conditions pattern a meets.

    >>> subset_sums(np.array([[0.25, 0.0, 0.75, 0.0]]))[0].tolist()
    [[0.0, 0.0, 0.0, 0.0], [0.0, 0.75, 0.0, 0.75], [0.0, 0.0, 0.0, 0.25]]
    """
    n, size = shares.shape
    d = size.bit_length() - 1
    patterns = np.arange(size)
    missed = np.bitwise_count(patterns)
    sums = np.zeros((n, d + 1, size))
    sums[:, missed, patterns] = shares[:, ::-1]  # the complement of a pattern is its mirror image
    for j in range(d):
        halves = sums.reshape(n, d + 1, -1, 2, 1 << j)
        halves[:, :, :, 1] += halves[:, :, :, 0]
    return sums


def leaf_tables(shares: FloatArray) -> FloatArray:
    """Return the values (n, 2^d, d) of every player for every pattern of a row, for leaves of value 1.

    >>> leaf_tables(np.array([[1.0, 0.0]]))[0].tolist()  # no background row meets the only condition
    [[0.0], [1.0]]
    """
    n, size = shares.shape
    d = size.bit_length() - 1
    tables = np.empty((n, size, d))
    at_once = max(1, AT_ONCE // ((d + 1) * size))
    for start in range(0, n, at_once):
        part = slice(start, start + at_once)
        tables[part] = _leaf_tables(subset_sums(shares[part]), d)
    return tables


def _leaf_tables(sums: FloatArray, d: int) -> FloatArray:
    size = 1 << d
    patterns = np.arange(size)
    v = d - np.bitwise_count(patterns)
    up, down = (table[: d + 1][:, v] for table in weights())  # (u, a)
    whole = np.einsum("nua,ua->na", sums, up)
    lost = 0.0 - np.einsum("nua,ua->na", sums, down)
    tables = np.empty((len(sums), size, d))
    for j in range(d):
        met = patterns >> j & 1 == 1
        mine = patterns[met]
        without = np.einsum("nua,ua->na", sums[:, :, mine ^ (1 << j)], up[:, mine])
        tables[:, met, j] = whole[:, met] - without
        tables[:, ~met, j] = lost[:, ~met]
    return tables


def leaf_values(rows: IntArray, background: IntArray, shares: FloatArray, d: int) -> FloatArray:
    """Return the values (n, d) for patterns of rows, of a leaf of value 1 whose table would be too large.

    `background` (p,) are the patterns that background rows have, with their `shares`.

    >>> leaf_values(np.array([0, 1]), np.array([0]), np.ones(1), 1).tolist()
    [[0.0], [1.0]]
    """
    full = (1 << d) - 1
    i, j = np.nonzero((rows[:, None] | background) == full)
    found = np.zeros((len(rows), d))
    if not len(i):
        return found
    row_only, background_only = full & ~background[j], full & ~rows[i]
    u, v = np.bitwise_count(row_only), np.bitwise_count(background_only)
    up, down = (table[u, v] * shares[j] for table in weights())
    for k in range(d):
        each = (row_only >> k & 1) * up - (background_only >> k & 1) * down
        found[:, k] = np.bincount(i, each, minlength=len(rows))
    return found


def pair_tables(shares: FloatArray) -> FloatArray:
    """Return Shapley interaction values (n, 2^d, d, d) of leaves of value 1, 0 on the diagonal.

    >>> pair_tables(np.array([[1.0, 0.0, 0.0, 0.0]]))[0, 3].tolist()  # a row that meets both conditions
    [[0.0, 1.0], [1.0, 0.0]]
    """
    n, size = shares.shape
    d = size.bit_length() - 1
    tables = np.zeros((n, size, d, d))
    at_once = max(1, AT_ONCE // ((d + 1) * size))
    for start in range(0, n, at_once):
        part = slice(start, start + at_once)
        _fill_pairs(tables[part], subset_sums(shares[part]))
    return tables


def _fill_pairs(tables: FloatArray, sums: FloatArray) -> None:
    size, d = tables.shape[1:3]
    patterns = np.arange(size)
    v = d - np.bitwise_count(patterns)
    both_up, both_down, apart = (table[: d + 1][:, v] for table in pair_weights())
    in_v = np.einsum("nua,ua->na", sums, both_down)

    def weighted(weight: FloatArray, rows: IntArray, left_out: int) -> FloatArray:
        return np.einsum("nua,ua->na", sums[:, :, rows & ~left_out], weight[:, rows])

    for i in range(d):
        for j in range(i + 1, d):
            one, other = 1 << i, 1 << j
            met_i, met_j = patterns & one > 0, patterns & other > 0
            both, neither = patterns[met_i & met_j], patterns[~met_i & ~met_j]
            up = weighted(both_up, both, 0) - weighted(both_up, both, one) - weighted(both_up, both, other)
            tables[:, both, i, j] = up + weighted(both_up, both, one | other)
            tables[:, neither, i, j] = in_v[:, neither]
            for bit, mixed in ((one, patterns[met_i & ~met_j]), (other, patterns[met_j & ~met_i])):
                tables[:, mixed, i, j] = weighted(apart, mixed, bit) - weighted(apart, mixed, 0)
            tables[:, :, j, i] = tables[:, :, i, j]


def leaf_pairs(rows: IntArray, background: IntArray, shares: FloatArray, d: int) -> FloatArray:
    """Return Shapley interaction values (n, d, d) for patterns of rows, 0 on the diagonal; see `leaf_values`.

    >>> leaf_pairs(np.array([3]), np.array([0]), np.ones(1), 2)[0].tolist()  # both players together
    [[0.0, 1.0], [1.0, 0.0]]
    """
    full = (1 << d) - 1
    i, j = np.nonzero((rows[:, None] | background) == full)
    found = np.zeros((len(rows), d, d))
    if not len(i):
        return found
    row_only, background_only = full & ~background[j], full & ~rows[i]
    u, v = np.bitwise_count(row_only), np.bitwise_count(background_only)
    both_up, both_down, apart = (table[u, v] * shares[j] for table in pair_weights())
    up, down = ((bits[:, None] >> np.arange(d)) & 1 for bits in (row_only, background_only))
    for k in range(d):
        for other in range(k + 1, d):
            each = up[:, k] * up[:, other] * both_up + down[:, k] * down[:, other] * both_down
            each = each - (up[:, k] * down[:, other] + down[:, k] * up[:, other]) * apart
            found[:, k, other] = found[:, other, k] = np.bincount(i, each, minlength=len(rows))
    return found
