"""The typical distance between training rows is that of all of them, in any order."""

import numpy as np
import pytest

from illume.explanations.boxes import Layout
from illume.explanations.plausibility import nearest_distance, typical_distance


def layout_of(m):
    zeros, ones = np.zeros(m), np.ones(m)
    return Layout(np.arange(m), np.zeros(m, dtype=bool), zeros, ones, zeros, ones)


def test_rows_that_are_sorted_have_the_typical_distance_of_shuffled_ones():
    X = np.sort(np.random.default_rng(0).pareto(2.0, size=5_000))[:, None]
    # Sorted, the first ones lie close together.
    shuffled = np.random.default_rng(1).permutation(X)
    found, wanted = (typical_distance(rows, layout_of(1)) for rows in (X, shuffled))
    assert found == pytest.approx(wanted, rel=0.2)


def test_a_row_is_not_the_nearest_row_of_what_was_made_of_it():
    reference, made = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 1.0]])
    assert nearest_distance(reference, layout_of(2), made, reference[:1]) == pytest.approx(np.sqrt(18))
    assert np.isnan(typical_distance(np.ones((3, 2)), layout_of(2)))
