"""The explanations of a method, in one form for all methods."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from benchmarks.data.problem import Problem
from illume._typing import BoolArray, FloatArray, IntArray
from illume.explanations.boxes import Boxes as InputBoxes
from illume.metrics import Boxes


@dataclass(eq=False)
class Outcome:
    """Explanations of test rows, as arrays; rules are bounds on encoded columns, (n, m) each."""

    rows: IntArray  # positions among the test rows
    slopes: FloatArray | None = None  # (n, m), of the explained class's log-odds or score
    contributions: FloatArray | None = None  # (n, n_features); columns of a category are summed
    # The same for one class that all rows share: those of the decided class change sign with the decision,
    # which would count as a difference between rows.
    slopes_of_one: FloatArray | None = None
    contributions_of_one: FloatArray | None = None
    rules: Boxes | None = None
    raw_rules: Boxes | None = None
    counterfactual_rules: Boxes | None = None
    latents: tuple[FloatArray, FloatArray] | None = None  # of training and of test rows
    figures: dict[str, float] = field(default_factory=dict)
    fit_s: float = 0.0
    explain_s: float = 0.0


def explained_classes(problem: Problem) -> IntArray:
    """Return the class explained for each test row: the decided one, or a fixed one as in the paper."""
    return problem.P_test.argmax(1) if problem.protocol == "clean" else fixed_class(problem)


def fixed_class(problem: Problem) -> IntArray:
    """Return class 1 of two, or the most frequent of more, for each test row."""
    one = 1 if len(problem.classes) == 2 else int(np.bincount(problem.y_train).argmax())
    return np.full(len(problem.P_test), one, dtype=np.intp)


def select_class(values: FloatArray, classes: IntArray) -> FloatArray:
    """Take each row's class from (n, outputs, m); one output is the log-odds of the second of two classes."""
    if values.shape[1] == 1:
        return values[:, 0] * np.where(classes == 1, 1.0, -1.0)[:, None]
    return values[np.arange(len(values)), classes]


def sum_by_feature(per_column: FloatArray, owner: IntArray) -> FloatArray:
    """Sum the columns of each feature, (n, m) to (n, n_features).

    >>> sum_by_feature(np.array([[1.0, 2.0, 3.0]]), np.array([0, 1, 1]))
    array([[1., 5.]])
    """
    features, position = np.unique(owner, return_inverse=True)
    result = np.zeros((len(per_column), len(features)))
    for j, k in enumerate(position):
        result[:, k] += per_column[:, j]
    return result


def column_bounds(boxes: InputBoxes, onehot: np.ndarray, owner: IntArray) -> Boxes:
    """Write boxes with allowed categories as bounds of 0.5 on 0/1 columns."""
    low, high = boxes.low.copy(), boxes.high.copy()
    low[:, onehot], high[:, onehot] = -np.inf, np.inf
    for feature in np.unique(owner[onehot]):
        columns = np.flatnonzero(owner == feature)
        bind_categories(low, high, columns, boxes.allowed[:, columns])
    return Boxes(low, high)


def bind_categories(low: FloatArray, high: FloatArray, columns: IntArray, allowed: BoolArray) -> None:
    """Set the bounds of a feature's 0/1 columns.

    One allowed category is a lower bound on its column; otherwise forbidden categories have upper bounds.
    """
    single = (allowed.sum(1) == 1) & (len(columns) > 1)
    low[np.ix_(single, columns)] = np.where(allowed[single], 0.5, -np.inf)
    high[np.ix_(~single, columns)] = np.where(allowed[~single], np.inf, 0.5)
