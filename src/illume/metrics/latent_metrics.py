"""How much of the rows' structure a latent space keeps."""

from __future__ import annotations

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.metrics.similarity import compare_rows


def knn_gain(  # noqa: PLR0917 - three pairs in a fixed order
    Z_train: FloatArray,
    Z_test: FloatArray,
    X_train: FloatArray,
    X_test: FloatArray,
    y_train: IntArray,
    y_test: IntArray,
    n_neighbours: int = 5,
) -> float:
    """Return how often the nearest rows of Z tell a test row's label, over how often those of X do.

    Above 1 the space Z separates the labels better than X; NaN where the neighbours in X are never right.

    >>> train, labels = np.array([[0.0], [1.0]]), np.array([0, 1])
    >>> blurred = np.array([[0.0], [0.0]])  # test rows as X sees them: both like the first
    >>> knn_gain(train, train, train, blurred, labels, labels, n_neighbours=1)
    2.0
    """
    from sklearn.neighbors import KNeighborsClassifier

    accuracy = [
        KNeighborsClassifier(min(n_neighbours, len(y_train))).fit(train, y_train).score(test, y_test)
        for train, test in ((Z_train, Z_test), (X_train, X_test))
    ]
    return float(accuracy[0] / accuracy[1]) if accuracy[1] else float("nan")


def triplet_accuracy(A: FloatArray, B: FloatArray, *, n_triplets: int = 50_000, seed: int = 0) -> float:
    """Return how often two spaces agree which of two rows j and k is nearer to a row i.

    The share of random triplets of rows, A (n, a) and B (n, b) being the same rows in both spaces, with
    Euclidean distances. A tie in both spaces is agreement, a tie in only one counts half: a space in which
    all rows are one point scores 0.5, like guessing.

    >>> A = np.array([[0.0], [1.0], [3.0]])
    >>> triplet_accuracy(A, 2 - 5 * A), triplet_accuracy(A, np.zeros((3, 1)))
    (1.0, 0.5)
    """
    if len(A) != len(B) or len(A) < 3:
        raise ValueError(f"both spaces must hold the same three or more rows, however: {len(A)=}, {len(B)=}")
    triplets = _triplets(len(A), n_triplets, np.random.default_rng(seed))
    apart = np.abs(compare_rows(_nearer, A, *triplets) - compare_rows(_nearer, B, *triplets))
    return float(1.0 - apart.mean() / 2.0)


def macro_f1(decisions: IntArray, surrogate_decisions: IntArray) -> float:
    """Return the mean F1 over the decisions that either side takes; the black box's are the truth.

    >>> round(macro_f1(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0])), 3)  # of 4/5 and 2/3
    0.733
    """
    from sklearn.metrics import f1_score

    return float(f1_score(decisions, surrogate_decisions, average="macro", zero_division=0.0))


def _triplets(n: int, n_triplets: int, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
    """Return indices of three different rows each."""
    i = rng.integers(n, size=n_triplets)
    to_j, to_k = rng.integers(1, n, size=n_triplets), rng.integers(1, n - 1, size=n_triplets)
    return i, (i + to_j) % n, (i + to_k + (to_k >= to_j)) % n


def _nearer(at_i: FloatArray, at_j: FloatArray, at_k: FloatArray) -> FloatArray:
    """Return −1 where j is nearer to i than k is, 1 where k is, 0 for a tie."""
    return np.sign(np.square(at_i - at_j).sum(axis=1) - np.square(at_i - at_k).sum(axis=1))
