"""What is seen of columns piece by piece is what is seen of them as a whole."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from illume import Schema
from illume.data.column_stats import LabelStats, NumberStats
from illume.data.frames import as_frame
from illume.data.schema import Kind, column_kind
from illume.errors import SchemaError

COLUMNS = {
    "number": st.one_of(st.none(), st.floats(-1e300, 1e300), st.just(float("nan")), st.integers(-5, 5)),
    "whole": st.one_of(st.none(), st.integers(-(2**53), 2**53)),
    "flag": st.one_of(st.none(), st.booleans()),
    "word": st.one_of(st.none(), st.sampled_from("abc"), st.text(max_size=3)),
}
TYPES = {"number": pa.float64(), "whole": pa.int64(), "flag": pa.bool_(), "word": pa.string()}


def stats_for(name, arrow_type, is_code=False):
    kind = column_kind(as_frame(pa.schema({name: arrow_type}).empty_table()), name, is_code)
    return NumberStats(name) if kind is Kind.NUMERIC else LabelStats(name, kind)


@pytest.mark.parametrize("name", COLUMNS)
@given(st.data(), st.integers(1, 9))
@settings(deadline=None, max_examples=60)
def test_a_column_seen_in_pieces_is_the_column_of_the_whole(name, data, size):
    values = data.draw(st.lists(COLUMNS[name], min_size=1, max_size=30))
    table = pa.table({name: pa.array(values, TYPES[name])})
    for is_code in (False, True) if name == "whole" else (False,):
        seen = stats_for(name, TYPES[name], is_code=is_code)
        for start in range(0, len(values), size):
            seen.add(table.slice(start, size), start)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            (wanted,) = Schema.infer(table, [name] if is_code else []).features
        found = seen.feature([])
        assert repr(found).replace("-0.0", "0.0") == repr(wanted).replace(
            "-0.0", "0.0"
        )  # nan is not equal to itself
        assert seen.missing == pd.isna(pd.Series(values, dtype=object)).any()


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinite_numbers_are_refused_with_their_row(bad):
    seen = stats_for("a", pa.float64())
    seen.add(pa.table({"a": [1.0, None]}), 0)
    with pytest.raises(SchemaError, match=f"column 'a' holds {bad} in row 103; replace infinite values"):
        seen.add(pa.table({"a": [None, bad]}), 102)


def test_columns_that_are_neither_numbers_nor_labels_are_refused():
    for odd in (pa.timestamp("s"), pa.binary(), pa.list_(pa.int8())):
        with pytest.raises(
            SchemaError, match=r"column 'a' holds .*, which is neither a number nor a category"
        ):
            stats_for("a", odd)
