"""Similarity of explanations: attributions by direction or rank, rules by their bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.threads import row_chunks

CELLS = 2**21
"""How many numbers of either side of a comparison are held at once."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """The bounds of n rules on m columns: `low <= x <= high`, infinite where a side is open.

    >>> len(Boxes(low=np.array([[0.0, -np.inf]]), high=np.array([[1.0, np.inf]])))
    1
    """

    low: FloatArray
    high: FloatArray

    def __post_init__(self) -> None:
        if np.ndim(self.low) != 2 or np.shape(self.low) != np.shape(self.high):
            raise ValueError(
                f"both bounds must be (n, m), however: {np.shape(self.low)=}, {np.shape(self.high)=}"
            )

    def __len__(self) -> int:
        return len(self.low)


Explanations: TypeAlias = FloatArray | Boxes
"""Attributions (n, m), compared by their cosine, or rules, compared by their completeness."""


def cosine_score(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return `aᵢ·bᵢ / (|aᵢ| |bᵢ|)` of each row, (n, m) twice to (n,); 0 for a zero vector.

    >>> cosine_score(np.array([[2.0, 0.0], [3.0, 4.0], [0.0, 0.0]]), np.array([[1.0, 0], [-3, -4], [1, 1]]))
    array([ 1., -1.,  0.])
    """
    return _dot(unit(A), unit(B))


def rank_score(A: FloatArray, reference: FloatArray) -> FloatArray:
    """Return Spearman's rank correlation of each row of A (n, m) with the reference, (m,) or (n, m).

    Equal values share their average rank; 0 where all values of either row are equal.

    >>> rank_score(np.array([[9.0, 3.0, 1.0], [1.0, 3.0, 9.0], [1.0, 1.0, 1.0]]), np.array([4.0, 2.0, 1.0]))
    array([ 1., -1.,  0.])
    """
    reference = np.broadcast_to(reference, np.shape(A))
    return cosine_score(_centred_ranks(A), _centred_ranks(reference))


def completeness(boxes: Boxes, others: Boxes) -> FloatArray:
    """Return how alike the bounds of each two rules are, (n,), from 0 to 1.

    The mean of `1 / (1 + (l − l̂)²)` and `1 / (1 + (u − û)²)` over the bounds that
    are finite in at least one of the two rules. A finite bound against an open side counts 0, two rules
    without any bound count 1.

    >>> inf = np.inf
    >>> rule = Boxes(low=np.array([[0.0, -inf]]), high=np.array([[inf, 5.0]]))
    >>> other = Boxes(low=np.array([[1.0, -inf]]), high=np.array([[inf, inf]]))
    >>> completeness(rule, other)  # 1/(1 + 1) for the lower bound, 0 for the upper one
    array([0.25])
    """
    return _near(_bounds(boxes), _bounds(others))


def similarities(explanations: Explanations, i: IntArray, j: IntArray) -> FloatArray:
    """Return how alike explanations i and j are, for index arrays of any equal shape, a chunk at a time.

    >>> similarities(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 0]), np.array([0, 1]))
    array([1., 0.])
    """
    if isinstance(explanations, Boxes):
        return compare_rows(_near, _bounds(explanations), i, j)
    return compare_rows(_dot, unit(explanations), i, j)


def compare_rows(function: Callable[..., FloatArray], A: FloatArray, *positions: IntArray) -> FloatArray:
    """Return `function(A[i], A[j], …)` of rows at positions of any equal shape, a chunk at a time.

    >>> compare_rows(lambda a, b: (a - b)[:, 0], np.array([[1.0], [5.0]]), np.array([1]), np.array([0]))
    array([4.])
    """
    A = np.asarray(A, dtype=float).reshape(len(A), -1)
    flat = [each.ravel() for each in positions]
    found = np.empty(positions[0].size)
    for part in row_chunks(len(found), max(1, CELLS // max(1, A.shape[1]))):
        found[part] = function(*(A[each[part]] for each in flat))
    return found.reshape(positions[0].shape)


def spearman(a: FloatArray, b: FloatArray) -> float:
    """Return Spearman's rank correlation of two vectors; 0 where either is constant up to rounding.

    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([10.0, 30.0, 20.0]))
    0.5
    """
    scaled = (v / (np.abs(v).max(initial=0.0) or 1.0) for v in (a, b))
    A, B = (_centred_ranks(np.round(v, 12)[None])[0] for v in scaled)
    length = np.sqrt((A @ A) * (B @ B))
    return float(A @ B / length) if length else 0.0


def unit(A: FloatArray) -> FloatArray:
    """Scale rows to unit length, large and tiny ones alike; a zero row stays zero."""
    A = np.asarray(A, dtype=float)
    peak = np.abs(A).max(axis=1, keepdims=True, initial=0.0)
    A = A / np.where(peak == 0, 1.0, peak)
    length = np.sqrt(np.square(A).sum(axis=1, keepdims=True))
    return A / np.where(length == 0, 1.0, length)


def _dot(A: FloatArray, B: FloatArray) -> FloatArray:
    return np.clip(np.einsum("ij,ij->i", A, B), -1.0, 1.0)


def _bounds(boxes: Boxes) -> FloatArray:
    return np.hstack([boxes.low, boxes.high])


def _near(A: FloatArray, B: FloatArray) -> FloatArray:
    bounded = np.isfinite(A) | np.isfinite(B)
    with np.errstate(invalid="ignore", over="ignore"):  # inf - inf is no bound at all
        near = np.where(bounded, 1.0 / (1.0 + np.square(A - B)), 0.0)
    number = bounded.sum(axis=1)
    return np.where(number, near.sum(axis=1) / np.maximum(number, 1), 1.0)


def _centred_ranks(A: FloatArray) -> FloatArray:
    from scipy.stats import rankdata

    ranks: FloatArray = rankdata(A, axis=1)
    return ranks - (ranks.shape[1] + 1) / 2
