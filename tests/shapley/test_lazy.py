"""Slopes that are computed when they are read are those that would have been computed at once."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np

from illume import Attributions
from illume.explanations.lazy import LazyAttributions
from tests.common import loans


def test_what_is_computed_later_is_the_same_for_rows_taken_before_and_after(loan_explainer):
    rows = loans(30, seed=5)
    before, after = loan_explainer(rows), loan_explainer(rows)
    assert type(before) is LazyAttributions
    assert isinstance(before, Attributions)
    some = before[[3, 7]]
    assert before._found is None
    np.testing.assert_allclose(some.slopes, after.slopes[[3, 7]], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(some.agreed, after.agreed[[3, 7]])
    np.testing.assert_array_equal(after[[3, 7]].slopes, after.slopes[[3, 7]])


def test_slopes_are_those_of_the_latents(loan_explainer):
    rows = loans(30, seed=5)
    found, latents = loan_explainer(rows), loan_explainer.latents(rows, maps=True)
    agreed = np.flatnonzero(found.agreed)
    for i in agreed[:5]:
        np.testing.assert_allclose(found.slopes[i], latents[int(i)].slopes[0], rtol=1e-4, atol=1e-6)


def test_changed_and_pickled_ones_are_ordinary(loan_explainer):
    found = loan_explainer(loans(10, seed=5))
    for other in (replace(found, rest=found.rest), pickle.loads(pickle.dumps(found))):
        assert type(other) is Attributions
        np.testing.assert_array_equal(other.values, found.values)
        np.testing.assert_array_equal(other.slopes, found.slopes)
