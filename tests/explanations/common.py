"""Layouts and samples made by hand."""

import numpy as np

from illume.data.class_outputs import Classes
from illume.explanations.boxes import Layout
from illume.explanations.rule_sample import Sample


def numbers_layout(m, reach=5.0):
    """Return m numeric inputs, already scaled, seen from -reach to reach."""
    ends = np.full(m, reach)
    return Layout(np.arange(m), np.zeros(m, dtype=bool), np.zeros(m), np.ones(m), -ends, ends)


def mixed_layout():
    """Return two numbers, then a feature of three categories, each had by a third of the rows."""
    owner, onehot = np.array([0, 1, 2, 2, 2]), np.array([False, False, True, True, True])
    mean = np.array([0.0, 0.0, 1 / 3, 1 / 3, 1 / 3])
    low, high = np.array([-5.0, -5.0, 0, 0, 0]) - mean, np.array([5.0, 5.0, 1, 1, 1]) - mean
    return Layout(owner, onehot, mean, np.ones(5), low, high)


def mixed_rows(numbers, categories):
    """Return encoded rows of `mixed_layout`."""
    return np.hstack([np.asarray(numbers, dtype=float), np.eye(3)[categories] - 1 / 3])


NO_YES = Classes(("no", "yes"))


def sample_of(layout, X, decide):
    return Sample(layout, X, np.eye(2)[np.asarray(decide(X), dtype=np.intp)], NO_YES.question())
