import numpy as np
import pytest

from illume.explanations.trust_map import ANCHORS, NEIGHBOURS, TrustMap
from tests.explanations.common import NO_YES


def two_regions(n):
    """Left of 0 the surrogate is right, right of 0 it is wrong by .4 and decides otherwise."""
    X = np.linspace(-1, 1, n)[:, None]
    P = np.tile([0.7, 0.3], (n, 1))
    Q = np.where(X < 0, P, [[0.3, 0.7]])
    return X, P, Q


@pytest.mark.parametrize("n", [100, 3 * ANCHORS])
def test_trust_is_local(n):
    trust = TrustMap.fit(*two_regions(n), NO_YES)(np.array([[-0.9], [0.9]]))
    assert trust.agreement.tolist() == [1, 0]
    np.testing.assert_allclose(trust.error, [0, 0.4], atol=1e-12)
    assert trust.n_rows.tolist() == [NEIGHBOURS] * 2


def test_few_report_rows_are_searched_for_the_very_nearest():
    X, P, Q = two_regions(100)
    found = TrustMap.fit(X, P, Q, NO_YES)(X).agreement
    order = np.argsort(np.abs(X - X.T), axis=1, kind="stable")[:, :NEIGHBOURS]
    expected = (P.argmax(1) == Q.argmax(1))[order].mean(1)
    np.testing.assert_allclose(found, expected, atol=1 / NEIGHBOURS + 1e-9)  # ties in distance


def test_few_report_rows_are_counted_as_few():
    assert TrustMap.fit(*two_regions(4), NO_YES)(np.zeros((1, 1))).n_rows.tolist() == [4]


def test_without_report_rows_nothing_is_known():
    trust = TrustMap.fit(np.empty((0, 1)), np.empty((0, 2)), np.empty((0, 2)), NO_YES)(np.zeros((2, 1)))
    assert np.isnan(trust.agreement).all()
    assert trust.n_rows.tolist() == [0, 0]
