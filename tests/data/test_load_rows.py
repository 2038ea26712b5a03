"""Rows are drawn uniformly, and the same ones however they are cut."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from illume.data.load_rows import RowSample, sample_rows


def by_batches(cuts, budget, seed):
    """RowSample from numbered rows that are cut into batches of some lengths."""
    draw, start = RowSample(budget, seed), 0
    for n in cuts:
        draw.add(pa.record_batch({"row": np.arange(start, start + n), "text": np.arange(n).astype(str)}))
        start += n
    return draw.table(pa.schema({"row": pa.int64(), "text": pa.string()}))


@given(st.lists(st.integers(0, 40), max_size=12), st.integers(1, 60), st.integers(0, 2**31))
@settings(deadline=None)
def test_the_rows_drawn_from_batches_are_those_drawn_from_the_whole(cuts, budget, seed):
    table = by_batches(cuts, budget, seed)
    np.testing.assert_array_equal(table["row"], sample_rows(sum(cuts), budget, seed))


def test_every_row_is_drawn_as_often_as_any_other():
    draws = np.concatenate([sample_rows(20, 5, seed) for seed in range(4_000)])
    counts = np.bincount(draws, minlength=20)
    assert counts.sum() == 20_000
    # Each count is binomial with mean 1,000 and deviation 27; chi² of 20 such is below 43 in 99.9 %.
    assert ((counts - 1_000) ** 2 / 750).sum() < 43


def test_pairs_are_drawn_as_often_as_any_other():
    draws = [tuple(sample_rows(4, 2, seed)) for seed in range(6_000)]
    counts = np.array([draws.count(pair) for pair in sorted(set(draws))])
    assert len(counts) == 6
    assert ((counts - 1_000) ** 2 / 1_000).sum() < 20.5  # 99.9 % of chi² with 5 degrees of freedom


@pytest.mark.parametrize("budget", [1, 50])
def test_no_more_than_half_again_as_many_rows_are_held(budget):
    draw, most = RowSample(budget, 0), 0
    for _ in range(40):
        draw.add(pa.record_batch({"row": np.arange(7)}))
        most = max(most, draw.n_held)
    assert most <= 1.5 * budget + 1 + 7
    assert draw.n_rows == 280


def test_columns_with_a_dictionary_of_their_own_in_every_batch_keep_their_values():
    draw = RowSample(6, 0)
    for words in (["a", "b"], ["c", "a"], ["b", "d"], ["e", "e"], ["f", "a"], ["b", "c"]):
        draw.add(pa.record_batch({"word": pa.array(words).dictionary_encode()}))
    words = np.array(list("abcabdeefabc"))
    schema = pa.schema({"word": pa.dictionary(pa.int32(), pa.string())})
    assert draw.table(schema)["word"].to_pylist() == list(words[sample_rows(12, 6, 0)])
