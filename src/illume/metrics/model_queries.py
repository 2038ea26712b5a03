"""Ask the black box about changed rows, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from illume._typing import FloatArray, IntArray
from illume.data.threads import row_chunks

Ask: TypeAlias = Callable[[FloatArray], FloatArray]
"""Encoded rows (n, m) to probabilities (n, c), or to numbers (n,)."""

ROWS, CELLS = 50_000, 2**23
"""Largest number of rows, and of cells, in one call of the black box."""

LEAST = 1e-6
"""Probabilities are clipped to this distance from 0 and 1 before their log-odds are taken."""


def log_odds(p: FloatArray) -> FloatArray:
    """Return log(p / (1 − p)), p held between 1e-6 and 1 − 1e-6.

    >>> log_odds(np.array([0.5, 0.0])).round(2)
    array([  0.  , -13.82])
    """
    p = np.clip(p, LEAST, 1.0 - LEAST)
    return np.log(p) - np.log1p(-p)


def ask_answer(ask: Ask, rows: FloatArray, classes: IntArray | None) -> FloatArray:
    """Return the probability of a row's class, for rows (..., m) whose first axis the classes belong to.

    Without classes, the black box answers with a number, and that is returned.
    """
    flat = rows.reshape(-1, rows.shape[-1])
    shape = "(n,) numbers" if classes is None else "(n, c) probabilities"
    wanted = None if classes is None else np.repeat(classes, np.prod(rows.shape[1:-1], dtype=int))
    found = np.empty(len(flat))
    for part in row_chunks(len(flat), _rows_at_once(flat.shape[1])):
        answers = np.asarray(ask(flat[part]))
        if wanted is None and answers.ndim == 2 and answers.shape[1] == 1:
            answers = answers[:, 0]
        if answers.ndim != (1 if wanted is None else 2) or len(answers) != part.stop - part.start:
            raise ValueError(
                f"ask must answer {shape} for n rows, however: {answers.shape=}, n={part.stop - part.start}"
            )
        found[part] = answers if wanted is None else answers[np.arange(len(answers)), wanted[part]]
    return found.reshape(rows.shape[:-1])


def ask_score(ask: Ask, rows: FloatArray, classes: IntArray | None) -> FloatArray:
    """Return the log-odds of a row's class, or the number itself, see `ask_answer`."""
    found = ask_answer(ask, rows, classes)
    return found if classes is None else log_odds(found)


def of_rows(classes: IntArray | None, part: slice) -> IntArray | None:
    """Return the classes of some rows; None if the black box answers with numbers."""
    return None if classes is None else classes[part]


def batches(n_rows: int, n_samples: int, n_columns: int) -> Iterator[slice]:
    """Yield slices of rows of which `n_samples` copies each are asked about at once.

    >>> list(batches(3, 30_000, 4))
    [slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)]
    """
    yield from row_chunks(n_rows, max(1, _rows_at_once(n_columns) // max(1, n_samples)))


def features(owner: IntArray | None, n_columns: int) -> IntArray:
    """Return which feature 0, 1, ... a column belongs to; every column its own without an owner.

    >>> features(np.array([7, 7, 9]), 3), features(None, 3)
    (array([0, 0, 1]), array([0, 1, 2]))
    """
    if owner is None:
        return np.arange(n_columns)
    if len(owner) != n_columns:
        raise ValueError(f"one owner per column, however: {len(owner)=}, {n_columns=}")
    return np.unique(owner, return_inverse=True)[1]


def importance(attributions: FloatArray, feature: IntArray, signed: bool = False) -> FloatArray:
    """Return one figure per feature, (n, g): the largest absolute value of its columns.

    Not the sum, since the slopes of a feature's categories may cancel. Where `signed`, the attributions
    are contributions and a feature has the sum of its columns.

    >>> importance(np.array([[2.0, -3.0, 1.0]]), np.array([0, 0, 1]))
    array([[3., 1.]])
    >>> importance(np.array([[2.0, -3.0, 1.0]]), np.array([0, 0, 1]), signed=True)
    array([[-1.,  1.]])
    """
    attributions = np.asarray(attributions, dtype=float)
    order = np.argsort(feature, kind="stable")
    start = np.searchsorted(feature[order], np.arange(feature.max() + 1))
    if signed:
        return np.add.reduceat(attributions[:, order], start, axis=1)
    return np.maximum.reduceat(np.abs(attributions[:, order]), start, axis=1)


def places(scores: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return the place of each feature in its row, (n, g), 0 for the highest score; ties in random order.

    Ties must not go by column: important features often come first.

    >>> places(np.array([[1.0, 3.0, 2.0]]), np.random.default_rng(0))
    array([[2, 0, 1]])
    """
    order = np.lexsort((rng.random(scores.shape), -scores), axis=1)
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(scores.shape[1])[None, :], axis=1)
    return place


def typical_row(background: FloatArray, feature: IntArray) -> FloatArray:
    """Return one row (m,) to stand for the background: means of numbers, the most frequent category.

    A feature of several columns is a category, and so is a column with at most two values.

    >>> rows = np.array([[1.0, 1, 0], [2.0, 0, 1], [6.0, 0, 1]])
    >>> typical_row(rows, np.array([0, 1, 1]))
    array([3., 0., 1.])
    """
    row = np.asarray(background, dtype=float).mean(axis=0)
    for group in range(feature.max() + 1):
        columns = np.flatnonzero(feature == group)
        values, counts = np.unique(background[:, columns], axis=0, return_counts=True)
        if len(columns) > 1 or len(values) <= 2:
            row[columns] = values[counts.argmax()]
    return row


def _rows_at_once(n_columns: int) -> int:
    return max(1, min(ROWS, CELLS // max(1, n_columns)))
