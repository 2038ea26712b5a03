"""Validity, size and plausibility of counterfactual examples.

An example is one row per explained row, all NaN where none was found.
"""

from __future__ import annotations

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.threads import row_chunks
from illume.metrics.model_queries import ROWS, Ask, features

SAME = 1e-9
"""Values that differ by no more than this are the same."""


def validity(examples: FloatArray, wanted: IntArray | FloatArray, ask: Ask) -> BoolArray:
    """Return which examples (n, m) the black box gives the wanted class, (n,); never one that was not found.

    For a black box that answers with numbers (n,), `wanted` is a range `[low, high]` for each row, (n, 2).

    >>> ask = lambda X: np.column_stack([X[:, 0] <= 0, X[:, 0] > 0]).astype(float)
    >>> validity(np.array([[1.0], [-1.0], [np.nan]]), np.array([1, 1, 1]), ask)
    array([ True, False, False])
    """
    examples = np.asarray(examples, dtype=float)
    there = np.flatnonzero(_found(examples))
    valid = np.zeros(len(examples), dtype=bool)
    for part in row_chunks(len(there), ROWS):
        answers, wish = np.asarray(ask(examples[there[part]])), np.asarray(wanted)[there[part]]
        if wish.ndim == 2:
            valid[there[part]] = (answers.ravel() >= wish[:, 0]) & (answers.ravel() <= wish[:, 1])
        else:
            valid[there[part]] = answers.argmax(axis=1) == wish
    return valid


def proximity(
    X: FloatArray, examples: FloatArray, *, onehot: BoolArray | None = None, owner: IntArray | None = None
) -> FloatArray:
    """Return how far each example is from its row, (n,): the mean over features, NaN without an example.

    A number counts its absolute difference in scaled units, a category 1 where it changed.

    Parameters
    ----------
    X, examples
        Encoded rows (n, m), and an example for each.
    onehot
        Which columns are one-hot, 0/1 or centred; none by default.
    owner
        Which feature each column belongs to, (m,); every column its own by default.

    Examples
    --------
    >>> X, examples = np.array([[0.5, 1.0, 0.0]]), np.array([[2.5, 0.0, 1.0]])
    >>> proximity(X, examples, onehot=np.array([False, True, True]), owner=np.array([0, 1, 1]))  # (2 + 1) / 2
    array([1.5])
    """
    apart = np.abs(np.asarray(examples, dtype=float) - X)
    feature = features(owner, apart.shape[1])
    categories = np.zeros(apart.shape[1], dtype=bool) if onehot is None else np.asarray(onehot, dtype=bool)
    total = apart[:, ~categories].sum(axis=1) + _count_changes(apart[:, categories], feature[categories])
    return _nan_unless_found(total / (feature.max() + 1), examples)


def sparsity(X: FloatArray, examples: FloatArray, *, owner: IntArray | None = None) -> FloatArray:
    """Return how many features each example changes, (n,); NaN without an example.

    >>> X, examples = np.array([[0.5, 1.0, 0.0]]), np.array([[0.5, 0.0, 1.0]])
    >>> sparsity(X, examples), sparsity(X, examples, owner=np.array([0, 1, 1]))
    (array([2.]), array([1.]))
    """
    apart = np.abs(np.asarray(examples, dtype=float) - X)
    return _nan_unless_found(_count_changes(apart, features(owner, apart.shape[1])).astype(float), examples)


def plausibility(examples: FloatArray, background: FloatArray) -> FloatArray:
    """Return how far each example is from the nearest real row, (n,); NaN without an example.

    In units of the median distance of a background row to the nearest different one, all Euclidean: 0 is a
    real row, about 1 as usual as they are, more is stranger. NaN where all background rows are equal.

    >>> plausibility(np.array([[2.5], [3.0]]), np.array([[0.0], [1.0], [2.0], [3.0]]))
    array([0.5, 0. ])
    """
    from sklearn.neighbors import NearestNeighbors

    examples, rows = np.asarray(examples, dtype=float), np.unique(background, axis=0)
    found, there = np.full(len(examples), np.nan), _found(examples)
    if len(rows) < 2 or not there.any():
        return found
    search = NearestNeighbors(n_neighbors=1).fit(rows)
    others = rows[search.kneighbors(return_distance=False)[:, 0]]
    nearest = rows[search.kneighbors(examples[there], return_distance=False)[:, 0]]
    usual = np.median(np.linalg.norm(rows - others, axis=1))
    found[there] = np.linalg.norm(examples[there] - nearest, axis=1) / usual
    return found


def _found(examples: FloatArray) -> BoolArray:
    return np.all(np.isfinite(examples), axis=1)


def _nan_unless_found(values: FloatArray, examples: FloatArray) -> FloatArray:
    return np.where(_found(np.asarray(examples, dtype=float)), values, np.nan)


def _count_changes(apart: FloatArray, feature: IntArray) -> IntArray:
    """Return how many features have a column that differs, (n,)."""
    member = feature[:, None] == np.unique(feature)
    return ((apart > SAME) @ member).sum(axis=1)
