"""Robustness and faithfulness: whether similar rows, or answers, have similar explanations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.metrics.similarity import Explanations, compare_rows, similarities, spearman, unit

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
    rho = spearman(similarities(explanations, i, j), compare_rows(_distance, places, i, j))
    return max(-rho, 0.0) + 0.0  # NaN stays NaN, -0 becomes 0


def _distance(A: FloatArray, B: FloatArray) -> FloatArray:
    return np.sqrt(np.square(A - B).sum(axis=1))


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
    """Yield the rows of each decision (r,) and their nearest others (r, k), nearest first."""
    from sklearn.neighbors import NearestNeighbors

    points = _embed(X, onehot)
    for decision in np.unique(decisions):
        members = np.flatnonzero(decisions == decision)
        k = min(n_neighbours, len(members) - 1)
        if k > 0:
            search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(points[members])
            yield members, members[search.kneighbors(return_distance=False)]


def _embed(X: FloatArray, onehot: BoolArray | None) -> FloatArray:
    """Return points whose squared Euclidean distances are `2 d_X`.

    Two one-hot columns differ by 0 or 1, centred or not, so their Hamming distance is a squared distance;
    the cosine distance is half that of unit vectors. Rows of zeros have a direction of their own.
    """
    X = np.asarray(X, dtype=float)
    onehot = np.zeros(X.shape[1], dtype=bool) if onehot is None else np.asarray(onehot, dtype=bool)
    numbers = unit(X[:, ~onehot])
    numbers = np.column_stack([numbers, ~numbers.any(axis=1)]) * np.sqrt(np.mean(~onehot))
    return np.hstack([numbers, X[:, onehot] * np.sqrt(2.0 / len(onehot))])
