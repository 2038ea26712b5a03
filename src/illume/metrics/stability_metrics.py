"""Robustness and faithfulness: whether similar rows, or answers, have similar explanations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.threads import row_chunks
from illume.metrics.similarity import CELLS, Explanations, similarities, spearman, unit

ALL_PAIRS = 300
"""Up to this many rows all pairs are compared, beyond it random ones."""


def robustness(
    explanations: Explanations,
    X: FloatArray,
    decisions: IntArray,
    *,
    onehot: BoolArray | None = None,
    n_neighbours: int = 20,
) -> float:
    """Return how alike the explanations of neighbours are; 1 is best.

    For each row and K = 1, ..., `n_neighbours`: the least similarity to the explanations of its K nearest
    other rows of the same decision (of all of them, where there are fewer); the mean over K and rows. A row
    that is alone with its decision is left out; NaN where all are. Rows that are equally near come in no
    particular order. Constant explanations score 1, so the figure says little without `faithfulness`.

    Parameters
    ----------
    explanations
        Attributions (n, m), compared by their cosine, or `Boxes`, compared by their completeness.
    X
        Encoded rows (n, m). They are `(m − h)/m · d_cos + h/m · d_hamming` apart, h the number of
        one-hot columns.
    decisions
        The decision of the black box for each row.
    onehot
        Which columns are one-hot, 0/1 or centred; none by default.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> A = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> # rows 0 and 1 are alike for K = 1 and not for K = 2, row 2 is like none
    >>> float(round(robustness(A, X, np.zeros(3), n_neighbours=2), 3))
    0.333
    """
    total, n_rows = 0.0, 0
    for rows, nearest in _neighbours(X, decisions, onehot, n_neighbours):
        alike = similarities(explanations, np.broadcast_to(rows[:, None], nearest.shape), nearest)
        least = np.minimum.accumulate(alike, axis=1)
        missing = n_neighbours - least.shape[1]
        total += float((least.sum() + missing * least[:, -1].sum()) / n_neighbours)
        n_rows += len(rows)
    return total / n_rows if n_rows else float("nan")


def global_robustness(
    explanations: Explanations, X: FloatArray, decisions: IntArray, *, n_pairs: int = 50_000, seed: int = 0
) -> float:
    """Return how well alike explanations go with near rows, over pairs of rows of the same decision.

    `max(0, −ρ)` with Spearman's ρ of the similarity of two explanations and the
    Euclidean distance of their rows: all pairs up to 300 rows, else `n_pairs` random ones.

    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> A = np.array([[1.0, 0.0], [1.0, 0.5], [0.0, 1.0]])
    >>> global_robustness(A, X, np.zeros(3))
    1.0
    """
    i, j = _pairs(np.unique(decisions, return_inverse=True)[1], n_pairs, seed)
    return _order(explanations, X, i, j)


def faithfulness(explanations: Explanations, P: FloatArray, *, n_pairs: int = 50_000, seed: int = 0) -> float:
    """Return how well alike explanations go with alike answers P (n, c) of the black box.

    `max(0, −ρ)` with Spearman's ρ of the similarity of two explanations and the
    Euclidean distance of their answers: all pairs up to 300 rows, else `n_pairs` random ones. Constant
    explanations score 0.

    >>> P = np.array([[0.1, 0.9], [0.2, 0.8], [0.9, 0.1]])
    >>> A = np.array([[1.0, 0.0], [1.0, 0.5], [0.0, 1.0]])
    >>> faithfulness(A, P), faithfulness(np.ones((3, 2)), P)
    (1.0, 0.0)
    """
    i, j = _pairs(np.zeros(len(P), dtype=int), n_pairs, seed)
    return _order(explanations, P, i, j)


def _order(explanations: Explanations, places: FloatArray, i: IntArray, j: IntArray) -> float:
    """Return how strictly similarity falls as distance grows; NaN without two pairs."""
    if len(explanations) != len(places):
        raise ValueError(f"one explanation per row, however: {len(explanations)=}, {len(places)=}")
    if len(i) < 2:
        return float("nan")
    rho = spearman(similarities(explanations, i, j), _distances(places, i, j))
    return max(-rho, 0.0) + 0.0  # NaN stays NaN, -0 becomes 0


def _distances(places: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """Return Euclidean distances of rows i and j, a chunk at a time."""
    places = np.asarray(places, dtype=float).reshape(len(places), -1)
    found = np.empty(len(i))
    for part in row_chunks(len(i), max(1, CELLS // max(1, places.shape[1]))):
        found[part] = np.sqrt(np.square(places[i[part]] - places[j[part]]).sum(axis=1))
    return found


def _pairs(groups: IntArray, n_pairs: int, seed: int) -> tuple[IntArray, IntArray]:
    """Return pairs of two rows of the same group 0, 1, ...: all of them, or random ones, each as likely."""
    if len(groups) <= ALL_PAIRS:
        i, j = np.triu_indices(len(groups), 1)
        same = groups[i] == groups[j]
        return i[same], j[same]
    rng = np.random.default_rng(seed)
    order = np.argsort(groups, kind="stable")
    size = np.bincount(groups).astype(np.int64)
    start = np.cumsum(size) - size
    weight = size * (size - 1.0)
    if not weight.any():
        return order[:0], order[:0]
    group = rng.choice(len(size), n_pairs, p=weight / weight.sum())
    first = rng.integers(size[group])
    second = (first + 1 + rng.integers(size[group] - 1)) % size[group]
    return order[start[group] + first], order[start[group] + second]


def _neighbours(
    X: FloatArray, decisions: IntArray, onehot: BoolArray | None, n_neighbours: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield rows (r,) and their nearest others of the same decision (r, k), nearest first, chunk by chunk."""
    points, offset = _embed(X, onehot)
    decisions = np.unique(decisions, return_inverse=True)[1]
    for members in np.split(np.argsort(decisions, kind="stable"), np.cumsum(np.bincount(decisions))[:-1]):
        k = min(n_neighbours, len(members) - 1)
        if k < 1:
            continue
        others, shift = points[members], offset[members]
        for part in row_chunks(len(members), max(1, 4 * CELLS // len(members))):
            distance = shift - others[part] @ others.T  # a row's own offset changes no order
            distance[np.arange(len(distance)), np.arange(part.start, part.stop)] = np.inf
            nearest = np.argpartition(distance, k - 1, axis=1)[:, :k]
            order = np.argsort(np.take_along_axis(distance, nearest, axis=1), axis=1, kind="stable")
            yield members[part], members[np.take_along_axis(nearest, order, axis=1)]


def _embed(X: FloatArray, onehot: BoolArray | None) -> tuple[FloatArray, FloatArray]:
    """Return points (n, m) and offsets (n,) with `d_X(i, j) = w + oᵢ + oⱼ − pᵢ·pⱼ`.

    Two one-hot columns differ by 0 or 1, centred or not, so the Hamming share is a squared distance over h,
    and both kinds of columns fit one matrix product; w is the share of numeric columns.
    """
    X = np.asarray(X, dtype=float)
    m = X.shape[1]
    onehot = np.zeros(m, dtype=bool) if onehot is None else np.asarray(onehot, dtype=bool)
    categories = X[:, onehot] / np.sqrt(m)
    numbers = unit(X[:, ~onehot]) * np.sqrt(1 - onehot.sum() / m)
    return np.hstack([numbers, np.sqrt(2.0) * categories]), np.square(categories).sum(axis=1)
