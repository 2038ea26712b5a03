"""Slopes that are computed when they are read are those that would have been computed at once."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np

from illume import Attributions
from illume.explanations.places import Places
from illume.results import lazy
from tests.common import loans


def test_what_is_computed_later_is_the_same_for_rows_taken_before_and_after(loan_explainer, monkeypatch):
    monkeypatch.setattr(lazy, "FEW", 5)
    rows = loans(30, seed=5)
    before, after = loan_explainer(rows), loan_explainer(rows)
    some = before[[3, 7]]
    assert isinstance(vars(before)["slopes"], lazy.Deferred)
    assert vars(some)["slopes"].source is vars(some)["refinement"].source
    np.testing.assert_allclose(some.slopes, after.slopes[[3, 7]], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(some.agreed, after.agreed[[3, 7]])
    np.testing.assert_array_equal(after[[3, 7]].slopes, after.slopes[[3, 7]])
    np.testing.assert_array_equal(some.trust.share, after.trust.share[[3, 7]])


def test_trust_and_novelty_are_looked_up_once_and_alone_as_in_a_batch(loan_explainer, monkeypatch):
    loan_explainer.fitted_.places()  # which measures distances of its own
    looked_up, look_up = [], Places.distance
    monkeypatch.setattr(Places, "distance", lambda self, X: looked_up.append(len(X)) or look_up(self, X))
    monkeypatch.setattr(lazy, "FEW", 5)
    rows = loans(30, seed=5)
    rows.loc[rows.index[4], "income"] = 1e6
    found = loan_explainer(rows)
    assert looked_up == []
    alone = found[[4]]
    assert found.novelty.outside[4]
    assert len(found.trust.share) == len(found.trust.contribution_error) == 30
    assert looked_up == [30]
    np.testing.assert_array_equal(alone.novelty.far, found.novelty.far[[4]])
    np.testing.assert_array_equal(alone.trust.share, found.trust.share[[4]])
    assert "income has a value not seen while fitting" in alone.novelty.reasons()


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
        assert not isinstance(vars(other)["slopes"], lazy.Deferred)
        np.testing.assert_array_equal(other.values, found.values)
        np.testing.assert_array_equal(other.slopes, found.slopes)
