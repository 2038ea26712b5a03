import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import spearmanr

from illume.metrics import Boxes, completeness, cosine_score, rank_score
from illume.metrics import similarity as module
from illume.metrics.similarity import similarities, spearman
from tests.metrics.common import INF, random_boxes

QUICK = settings(max_examples=40, deadline=None, derandomize=True)
bound = st.one_of(st.floats(-1e3, 1e3), st.sampled_from([-INF, INF]))
boxes = st.builds(Boxes, arrays(float, (3, 4), elements=bound), arrays(float, (3, 4), elements=bound))


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e170, 1e300])
def test_neither_tiny_nor_huge_attributions_lose_their_direction(size):
    A = np.array([[3.0, 4.0]])
    assert cosine_score(size * A, A)[0] == pytest.approx(1.0)


def test_rank_scores_are_scipys_with_ties_too():
    rng = np.random.default_rng(0)
    A, B = rng.integers(0, 4, (2, 50, 8)).astype(float)
    np.testing.assert_allclose(
        rank_score(A, B), [spearmanr(a, b).statistic for a, b in zip(A, B, strict=True)]
    )
    np.testing.assert_allclose(rank_score(A, B[0]), [spearmanr(a, B[0]).statistic for a in A])
    assert spearman(A.ravel(), B.ravel()) == pytest.approx(spearmanr(A, B, axis=None).statistic)


def test_what_is_constant_but_for_rounding_has_no_rank_correlation():
    noise = 1.0 + 1e-15 * np.arange(5)
    assert spearman(noise, np.arange(5.0)) == 0
    assert rank_score(np.ones((1, 3)), np.arange(3.0))[0] == 0


def test_completeness_by_hand():
    rules = Boxes(
        np.array([[0.0, -INF], [-INF, -INF], [-INF, -INF], [2.0, 2.0]]),
        np.array([[1.0, INF], [INF, INF], [INF, 3.0], [INF, INF]]),
    )
    others = Boxes(
        np.array([[0.0, -INF], [-INF, -INF], [-INF, -INF], [2.0, -INF]]),
        np.array([[3.0, INF], [INF, INF], [INF, INF], [INF, INF]]),
    )
    # 1 and 1/(1 + 4); two empty rules; a bound against none; one bound shared, one not
    np.testing.assert_allclose(completeness(rules, others), [0.6, 1.0, 0.0, 0.5])


@QUICK
@given(boxes, boxes)
def test_completeness_is_symmetric_and_between_0_and_1(one, other):
    found = completeness(one, other)
    np.testing.assert_array_equal(found, completeness(other, one))
    assert ((found >= 0) & (found <= 1)).all()
    np.testing.assert_array_equal(completeness(one, one), 1.0)


@pytest.mark.parametrize("chunk", [1, 7, 10**6])
def test_pairs_are_compared_as_rows_are_whatever_the_chunk(chunk, monkeypatch):
    monkeypatch.setattr(module, "CELLS", chunk)
    rng = np.random.default_rng(0)
    A, rules = rng.normal(size=(9, 5)), random_boxes(rng, 9, 5)
    i, j = rng.integers(9, size=(2, 6, 4))
    np.testing.assert_allclose(similarities(A, i, j).ravel(), cosine_score(A[i.ravel()], A[j.ravel()]))
    left, right = (Boxes(rules.low[k.ravel()], rules.high[k.ravel()]) for k in (i, j))
    np.testing.assert_allclose(similarities(rules, i, j).ravel(), completeness(left, right))


def test_bounds_of_two_shapes_are_refused():
    with pytest.raises(ValueError, match="both bounds must be"):
        Boxes(np.zeros((2, 3)), np.zeros((2, 4)))
