"""All numbers at once are the numbers one by one."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from illume.data.column_values import is_missing
from illume.data.encoding import Encoding
from illume.data.frames import as_frame
from illume.data.match_dtypes import FrameBuilder
from illume.data.number_scaling import number_columns
from illume.data.schema import Feature, Kind, Schema
from illume.errors import SchemaError

NAMES = ("a", "fixed", "town", "b", "empty")
SCHEMA = Schema(
    (
        Feature("a", Kind.NUMERIC, low=-1.0, high=2.0),
        Feature("fixed", Kind.NUMERIC, low=3.0, high=3.0),
        Feature("town", Kind.CATEGORICAL, ("Bonn", "Ulm", None)),
        Feature("b", Kind.NUMERIC, low=0.0, high=9.0),
        Feature("empty", Kind.NUMERIC, low=np.nan, high=np.nan),
    )
)
ROWS = {
    "a": [0.5, np.nan, -7.0, 2.0, 1e300],
    "fixed": [3.0, 3.0, 4.0, np.nan, 3.0],
    "town": ["Ulm", "Bonn", "Ulm", None, "Bonn"],
    "b": [1.0, 2.0, 9.5, np.nan, 0.0],
    "empty": [np.nan, 1.0, np.nan, np.nan, np.nan],
}


def encoding():
    fitted = Encoding.fit(SCHEMA, as_frame(pd.DataFrame({**ROWS, "a": [0.5, 1.0, -1.0, 2.0, 0.0]})))
    assert fitted.n_inputs == 5
    return fitted


def one_by_one(mine, frame, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("illume.data.encoding.number_columns", lambda frame, names: None)
        return mine.transform(frame)


def plain(columns):
    return {name: [None if is_missing(v) else v for v in values] for name, values in columns.items()}


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        lambda rows: FrameBuilder(NAMES, "pandas").frame(plain(rows)),
        lambda rows: pa.table(plain(rows)),
    ],
    ids=["pandas", "plain", "arrow"],
)
def test_together_and_one_by_one_are_the_same(make, monkeypatch):
    mine, frame = encoding(), as_frame(make(ROWS))
    found, expected = mine.transform(frame), one_by_one(mine, frame, monkeypatch)
    for name in ("X", "imputed", "odd"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.imputed[:, 0].tolist() == [False, True, False, False, False]
    assert found.odd.T.astype(int).tolist()[:2] == [[0, 0, 1, 0, 1], [0, 0, 1, 0, 0]]
    assert found.odd[:, 4].tolist() == [False, True, False, False, False]  # no value had been seen


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_all_types_are_encoded_alike(dtype, order, monkeypatch):
    array = np.asarray(np.arange(12).reshape(4, 3) % 7, dtype=dtype, order=order)
    frame = as_frame(array)
    mine = Encoding.fit(Schema.infer(array[:3]), frame)
    found, expected = mine.transform(frame), one_by_one(mine, frame, monkeypatch)
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.odd, expected.odd)


def test_the_users_numbers_are_not_changed():
    array = np.array([[1.0, 2.0], [0.0, 4.0], [np.nan, 1e300]])
    before = array.copy()
    Encoding.fit(Schema.infer(array[:2]), as_frame(array)).transform(as_frame(array))
    np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("name", ["a", "fixed"])
def test_an_infinite_number_is_named_as_ever(name, value):
    frame = pd.DataFrame(ROWS)
    frame.loc[3, name] = value
    with pytest.raises(SchemaError, match=rf"column '{name}' holds {value} in row 3"):
        encoding().transform(as_frame(frame))


def test_text_is_no_number_even_if_it_could_be_read_as_one():
    rows = {**plain(ROWS), "a": ["0.5", "1", "2", "3", "4"]}
    frame = FrameBuilder(NAMES, "pandas").frame(rows)
    assert number_columns(frame, ["a", "b"]) is None
    with pytest.raises(SchemaError, match=r"column 'a' holds text such as '0\.5'"):
        encoding().transform(frame)


def test_numbers_beside_a_constant_that_is_no_number_are_encoded():
    frame = pd.DataFrame({"a": [1.0, 3.0], "b": [2.0, 6.0], "c": [True, True]})
    with pytest.warns(UserWarning, match="holds only one value"):
        schema = Schema.infer(frame)
    encoding = Encoding.fit(schema, as_frame(frame))
    encoded = encoding.transform(as_frame(frame.assign(b=[2.0, 7.0])))
    assert encoded.X.tolist() == [[-1.0, -1.0], [1.0, 1.5]]
    assert encoded.odd.tolist() == [[False, False, False], [False, True, False]]
