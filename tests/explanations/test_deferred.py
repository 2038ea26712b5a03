"""What is looked up later is what would have been looked up at once."""

import pickle

import numpy as np
import pytest

from illume.explanations.trust_map import DeferredNovelty, DeferredTrust, TrustMap

ERRORS = np.ones((50, 3), dtype=np.float32)
NAMES = ("agreement", "error", "n_rows", "distance")


@pytest.fixture(params=[40, 400])
def trust_map(request):
    rng = np.random.default_rng(0)
    P = rng.dirichlet([1, 1], request.param)
    return TrustMap.fit(rng.normal(size=(request.param, 3)), P, P[::-1])


@pytest.fixture
def rows():
    return np.random.default_rng(1).normal(size=(50, 3)).astype(np.float32)


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in NAMES)


def test_figures_are_those_of_the_map(trust_map, rows):
    assert same(DeferredTrust(trust_map, rows, ERRORS), trust_map(rows))


def test_rows_taken_before_or_after_the_figures_are_known_are_the_same(trust_map, rows):
    before, after = DeferredTrust(trust_map, rows, ERRORS), DeferredTrust(trust_map, rows, ERRORS)
    assert len(after.error) == 50
    for taken in (slice(0, 50, 3), np.array([4, 4, 1]), np.arange(50) > 30):
        np.testing.assert_allclose(before[taken].distance, after[taken].distance, rtol=1e-5)
        np.testing.assert_array_equal(before[taken].agreement, after[taken].agreement)
    assert float(before[3].error) == float(after[3].error)


def test_a_pickled_one_still_knows(trust_map, rows):
    assert same(pickle.loads(pickle.dumps(DeferredTrust(trust_map, rows, ERRORS))), trust_map(rows))


def test_rows_are_looked_up_once(trust_map, rows, monkeypatch):
    asked, look_up = [], TrustMap.__call__
    monkeypatch.setattr(TrustMap, "__call__", lambda self, X: asked.append(len(X)) or look_up(self, X))
    trust = DeferredTrust(trust_map, rows, ERRORS)
    assert asked == []
    assert len(trust.agreement) == len(trust.distance) == len(trust[:].error)
    assert asked == [50]


def test_far_rows_are_read_off_the_distances(trust_map, rows):
    trust = DeferredTrust(trust_map, rows, ERRORS)
    features = np.zeros((50, 3), dtype=bool)
    features[7, 1] = True
    limit = float(np.median(trust_map(rows).distance))
    novelty = DeferredNovelty(features, trust, limit, ("a", "b", "c"))
    assert novelty.far.sum() == 25
    np.testing.assert_array_equal(novelty[10:20].far, novelty.far[10:20])
    np.testing.assert_array_equal(novelty.outside, novelty.far | features.any(1))
    assert "b has a value not seen while fitting" in novelty[7:8].reasons()
