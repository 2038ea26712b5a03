"""Rows as they came: every supported column comes back with its type and its values."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from illume.data.archive import format_json, parse_json
from illume.data.frames import as_frame
from illume.data.stored_arrays import ArrayReader, ArrayWriter
from illume.data.stored_frames import dump_frame, read_frame
from illume.errors import FormatError, SaveError
from tests.io.common import differences

PANDAS = {
    "int8": pd.Series([1, -2, 3], dtype="int8"),
    "uint64": pd.Series([1, 2**63, 3], dtype="uint64"),
    "float32": pd.Series([1.5, np.nan, -0.0], dtype="float32"),
    "float64": pd.Series([1e308, np.nan, 5e-324]),
    "bool": pd.Series([True, False, True]),
    "Int64": pd.Series([1, None, 2**62], dtype="Int64"),
    "Float64": pd.Series([1.5, None, 2.0], dtype="Float64"),
    "boolean": pd.Series([True, None, False], dtype="boolean"),
    "object": pd.Series(["a", None, np.nan], dtype=object),
    "mixed": pd.Series(["a", 1, 2.5], dtype=object),
    "missing": pd.Series([pd.NA, True, float("inf")], dtype=object),
    "string": pd.Series(["a", None, "ü\n\x00"], dtype="string"),
    "str": pd.Series(["a", None, "b"], dtype="str"),
    "category": pd.Series(["b", None, "a"], dtype=pd.CategoricalDtype(["b", "a", "c"], ordered=True)),
    "codes": pd.Series([3, 1, 3], dtype="category"),
    "yes or no": pd.Series([True, False, None], dtype="category"),
    "datetime": pd.Series(pd.to_datetime(["2020-01-01", None, "2021-05-06"])),
}
POLARS = {
    "Int32": pl.Series([1, None, 3], dtype=pl.Int32),
    "UInt8": pl.Series([1, 2, 3], dtype=pl.UInt8),
    "Float64": pl.Series([1.5, None, float("nan")]),
    "Float32": pl.Series([1.5, 2.0, None], dtype=pl.Float32),
    "Boolean": pl.Series([True, None, False]),
    "String": pl.Series(["a", None, ""]),
    "Categorical": pl.Series(["b", None, "a"], dtype=pl.Categorical),
    "Enum": pl.Series(["b", None, "a"], dtype=pl.Enum(["a", "b"])),
    "Null": pl.Series([None, None, None]),
}
ARROW = {
    "int16": pa.array([1, None, 3], type=pa.int16()),
    "float": pa.array([1.5, None, 2.0], type=pa.float32()),
    "double": pa.array([1.5, 2.5, None]),
    "bool": pa.array([True, None, False]),
    "string": pa.array(["a", None, "b"]),
    "large_string": pa.array(["a", None, "b"], type=pa.large_string()),
    "dictionary": pa.array(["a", None, "a"]).dictionary_encode(),
    "null": pa.nulls(3),
    "chunks": pa.chunked_array([[1, None], [3]]),
}
NUMPY = {
    "float64": np.array([[1.5, np.nan], [2.0, -0.0]]),
    "by columns": np.asfortranarray([[1.5, 3.0], [2.0, 4.0]]),
    "float32": np.ones((2, 2), dtype=np.float32),
    "int": np.array([[1, 2], [3, 4]]),
    "bool": np.array([[True, False], [False, True]]),
    "big-endian": np.array([[1.0, 2.0]], dtype=">f8"),
    "text": np.array([["a", "bcd"], ["", "ü"]]),
    "bytes": np.array([[b"a", b"bc"]]),
    "object": np.array([["a", 1], [None, np.nan]], dtype=object),
}


def there_and_back(native):
    frame, arrays = as_frame(native), ArrayWriter()
    described = parse_json(format_json(dump_frame(frame, arrays)), "pool")
    reader = ArrayReader.from_bytes(arrays.to_bytes(), arrays.transposed, "rows")
    found = read_frame(described, reader, frame.names)
    reader.finish()
    return found.native


@pytest.mark.parametrize("name", PANDAS)
def test_columns_of_pandas(name):
    frame = pd.DataFrame({"a": PANDAS[name]})
    pd.testing.assert_frame_equal(there_and_back(frame), frame)
    assert not list(differences(there_and_back(frame)["a"].tolist(), frame["a"].tolist()))


@pytest.mark.parametrize(
    ("make", "column"),
    [*((pl.DataFrame, each) for each in POLARS.values()), *((pa.table, each) for each in ARROW.values())],
    ids=[*POLARS, *ARROW],
)
def test_columns_of_polars_and_arrow(make, column):
    frame = make({"a": column, "b": [1, 2, 3]})
    found = there_and_back(frame)
    assert found.schema == frame.schema
    assert found.equals(frame)


@pytest.mark.parametrize("name", NUMPY)
def test_arrays(name):
    array = NUMPY[name]
    found = there_and_back(array)
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.flags.c_contiguous == array.flags.c_contiguous
    assert not list(differences(found, array.astype(found.dtype)))


def test_names_of_columns_become_text():
    assert list(there_and_back(pd.DataFrame({1: [1.0], "a": ["x"]})).columns) == ["1", "a"]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"when": pd.to_datetime(["2020-01-01"]).tz_localize("UTC")}),
        pd.DataFrame({"when": [object()]}),
        pl.DataFrame({"when": [[1, 2]]}),
        pa.table({"when": pa.array([b"x"])}),
    ],
    ids=["time zone", "objects", "lists", "bytes"],
)
def test_columns_that_a_file_cannot_hold_are_named_with_advice(frame):
    with pytest.raises(SaveError, match=r"column 'when' cannot be saved.*or use rows='none'"):
        dump_frame(as_frame(frame), ArrayWriter())


@pytest.mark.parametrize(
    "change",
    [
        {"library": "os"},
        {"rows": 4},
        {"rows": "3"},
        {"columns": []},
        {"columns": [{"name": "a", "type": "object", "values": None}]},
        {"columns": [{"name": "b", "type": "object", "values": [1, 2, 3]}]},
        {"columns": [{"name": "a", "type": "complex128", "values": [1, 2, 3]}]},
        {"columns": [{"name": "a", "type": {"string": "evil", "missing": "NA"}, "values": ["x", "y", "z"]}]},
        {"columns": [{"name": "a", "type": "datetime64[ns]", "values": None}]},
    ],
)
def test_described_rows_that_make_no_sense_are_refused(change):
    described = {
        "library": "pandas",
        "rows": 3,
        "columns": [{"name": "a", "type": "object", "values": [1, 2, 3]}],
    }
    assert read_frame(described, ArrayReader({}, "rows"), ["a"]).labels("a") == [1, 2, 3]
    with pytest.raises(FormatError):
        read_frame({**described, **change}, ArrayReader({}, "rows"), ["a"])
