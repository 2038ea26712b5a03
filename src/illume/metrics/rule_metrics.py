"""Coverage, precision and length of rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from illume._typing import BoolArray, FloatArray, IntArray
from illume.data.threads import row_chunks
from illume.metrics.similarity import Boxes

CELLS = 2**24
"""How many pairs of a rule and a row are looked at at once."""


def covered(boxes: Boxes, X: FloatArray) -> BoolArray:
    """Return which rules hold for which rows, (n_rules, n_rows); both bounds belong to a rule.

    A missing value (NaN) meets no bound, and is covered where its column is open.

    >>> box = Boxes(np.array([[0.0, -np.inf]]), np.array([[1.0, np.inf]]))
    >>> covered(box, np.array([[1.0, 9.0], [2.0, 9.0]]))
    array([[ True, False]])
    """
    X, low, high = np.asarray(X, dtype=float), np.asarray(boxes.low), np.asarray(boxes.high)
    bounded = np.isfinite(low) | np.isfinite(high)
    inside = np.ones((len(boxes), len(X)), dtype=bool)
    for column in np.flatnonzero(bounded.any(axis=0)):
        rules, values = np.flatnonzero(bounded[:, column]), X[:, column]
        above, below = low[rules, column, None] <= values, values <= high[rules, column, None]
        inside[rules] &= above & below
    return inside


def rule_coverage(boxes: Boxes, X: FloatArray) -> FloatArray:
    """Return the share of rows that each rule holds for, (n_rules,).

    >>> rule_coverage(Boxes(np.array([[0.0]]), np.array([[np.inf]])), np.array([[-1.0], [0.0], [1.0], [2.0]]))
    array([0.75])
    """
    same = np.zeros(max(len(boxes), len(X)), dtype=int)
    return rule_precision(boxes, same[: len(boxes)], X, same[: len(X)])[1]


def rule_precision(
    boxes: Boxes,
    decisions_of_rules: IntArray | FloatArray,
    X: FloatArray,
    decisions: IntArray | FloatArray,
    own: IntArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return precision and coverage of each rule, (n_rules,) both, on rows with known decisions.

    Precision is the share of the covered rows that get the rule's decision, NaN where none is covered.
    The row that a rule was made for flatters it: where it is among the rows, `own` (n_rules,) says at which
    position, and it is left out. Where rules end in intervals, these are the
    `decisions_of_rules`, (n_rules, 2), and `decisions` are numbers.

    >>> boxes = Boxes(np.array([[0.0], [9.0]]), np.array([[2.0], [np.inf]]))
    >>> rows, decided = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([1, 0, 1, 1])
    >>> rule_precision(boxes, np.array([1, 1]), rows, decided)
    (array([0.5, nan]), array([0.5, 0. ]))
    >>> rule_precision(boxes, np.array([1, 1]), rows, decided, own=np.array([0, 3]))
    (array([ 0., nan]), array([0.33333333, 0.        ]))
    """
    ends: Any = np.asarray(decisions_of_rules)
    answers: Any = np.asarray(decisions)
    precision, coverage = np.full(len(boxes), np.nan), np.zeros(len(boxes))
    others = max(1, len(X) - (own is not None))
    for part in row_chunks(len(boxes), max(1, CELLS // max(1, len(X)))):
        inside = covered(Boxes(boxes.low[part], boxes.high[part]), X)
        if own is not None:
            inside[np.arange(len(inside)), own[part]] = False
        right = inside & _is_right(ends[part], answers)
        held = inside.sum(axis=1)
        np.divide(right.sum(axis=1), held, out=precision[part], where=held > 0)
        coverage[part] = held / others
    return precision, coverage


def _is_right(ends: IntArray | FloatArray, answers: IntArray | FloatArray) -> BoolArray:
    """Return which answers (n,) are what rules end in, (n_rules, n): equal decisions, or in the interval."""
    if ends.ndim == 1:
        return np.asarray(ends[:, None] == answers)
    return np.asarray((ends[:, :1] <= answers) & (answers <= ends[:, 1:]))


def rule_length(boxes: Boxes, owner: IntArray | None = None) -> IntArray:
    """Return how many columns each rule bounds, (n_rules,); how many features, where `owner` (m,) names them.

    >>> boxes = Boxes(np.array([[0.0, -np.inf, 0.5]]), np.array([[1.0, 0.5, np.inf]]))
    >>> rule_length(boxes), rule_length(boxes, owner=np.array([0, 1, 1]))
    (array([3]), array([2]))
    """
    bounded = np.isfinite(boxes.low) | np.isfinite(boxes.high)
    if owner is not None:
        bounded = bounded @ (np.asarray(owner)[:, None] == np.unique(owner))
    return bounded.sum(axis=1)
