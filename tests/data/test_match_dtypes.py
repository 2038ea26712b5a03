"""Rows of plain values become the frame that a user would have passed."""

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pytest

from illume.data.frames import NumpyFrame, as_frame
from illume.data.match_dtypes import FrameBuilder, PlainFrame

FRAME = pd.DataFrame(
    {
        "age": [18, 40, 71],
        "income": [1.5, np.nan, 3.25],
        "owner": [True, False, True],
        "town": ["Ulm", "Bonn", "Ulm"],
        "job": pd.Categorical(["a", "b", "a"]),
        "n": pd.array([1, None, 3], dtype="Int64"),
    }
)
COLUMNS = {
    "age": [18.0, 40.0, 71.0],  # as JSON brings them
    "income": [1.5, None, 3.25],
    "owner": [True, False, True],
    "town": ["Ulm", "Bonn", "Ulm"],
    "job": ["a", "b", "a"],
    "n": [1.0, None, 3.0],
}


def like(example):
    frame = as_frame(example)
    return FrameBuilder(frame.names, frame.origin.backend, frame.slice(0, 0))


def test_a_frame_has_the_types_of_the_example():
    pd.testing.assert_frame_equal(like(FRAME).frame(COLUMNS).native, FRAME)
    example = pl.from_pandas(FRAME)
    pl.testing.assert_frame_equal(like(example).frame(COLUMNS).native, example)
    table = pa.table({name: FRAME[name].tolist() for name in ("age", "owner", "town")})
    assert like(table).frame({name: COLUMNS[name] for name in table.column_names}).native == table


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_an_array_has_the_type_of_the_example(dtype):
    example = np.array([[1, 2], [3, 4]], dtype=dtype)
    frame = like(example).frame({"x1": [2.0, 4.0], "x0": [1.0, 3.0]})
    assert isinstance(frame, NumpyFrame)
    assert frame.native.dtype == dtype
    np.testing.assert_array_equal(frame.native, example)


@pytest.mark.parametrize(
    ("values", "dtype"), [([3.0, None], "float64"), ([3.5, 4.0], "float64"), ([3, 4], "int64")]
)
def test_whole_numbers_stay_whole_only_if_all_are(values, dtype):
    frame = like(FRAME[["age"]]).frame({"age": values})
    assert frame.native["age"].dtype == dtype


def test_a_value_that_a_column_cannot_hold_is_for_the_model_to_judge():
    frame = like(FRAME[["n", "town"]]).frame({"n": ["x"], "town": [5.0]})
    assert frame.native["n"].tolist() == ["x"]
    assert frame.native["town"].tolist() in (["5.0"], [5.0])


@pytest.mark.parametrize("values", [["z"], ["a", "z", None], [3, "b", "z"]])
@pytest.mark.parametrize("ordered", [False, True])
def test_a_value_that_is_none_of_the_categories_stays_what_it_is(values, ordered):
    example = pd.DataFrame({"job": pd.Categorical(["a", "b", "a"], ordered=ordered)})
    column = like(example).frame({"job": values}).native["job"]
    assert column.isna().tolist() == [value is None for value in values]
    assert [value for value in column if isinstance(value, (int, str))] == [
        v for v in values if v is not None
    ]
    assert column.cat.categories.tolist()[:2] == ["a", "b"]
    assert column.cat.ordered == ordered


def test_without_an_example_types_are_found():
    frame = FrameBuilder(("a", "b"), "pandas").frame({"b": ["x", None], "a": [1.0, None]})
    assert list(frame.native.columns) == ["a", "b"]
    assert frame.native["a"].dtype == np.float64
    assert frame.native["b"].isna().tolist() == [False, True]


@pytest.mark.parametrize("name", ["age", "income", "n"])
def test_plain_rows_read_like_those_of_a_data_frame(name):
    plain, whole = like(FRAME).frame(COLUMNS), as_frame(FRAME)
    assert isinstance(plain, PlainFrame)
    np.testing.assert_array_equal(plain.numbers(name), whole.numbers(name))
    assert plain.slice(1, 3).labels("town") == whole.slice(1, 3).labels("town")
    assert plain.select(["town", "age"]).names == ("town", "age")
    assert plain.storage(name) == whole.storage(name)
    assert len(plain.take(np.array([2, 0]))) == 2


def test_the_model_s_frame_is_made_once_and_only_when_asked_for():
    made = []
    frame = PlainFrame({"a": [1.0, 2.0]}, build=lambda columns: made.append(1) or dict(columns))
    frame.slice(0, 2).numbers("a")
    assert made == []
    assert frame.native is frame.native
    assert made == [1]
