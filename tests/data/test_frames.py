import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from illume.data.frames import Storage, as_frame, chunks
from illume.errors import SchemaError
from tests.common import loans

LIBRARIES = {
    "pandas": lambda frame: frame,
    "pandas nullable": lambda frame: frame.convert_dtypes(),
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "numpy": lambda frame: frame.to_numpy(),
}


@pytest.fixture(params=LIBRARIES.values(), ids=LIBRARIES)
def frame(request):
    return as_frame(request.param(loans(20)))


def test_every_library_stores_and_gives_the_same(frame):
    age, income, owner, education = frame.names
    expected = loans(20)
    storages = [frame.storage(name) for name in frame.names]
    assert storages == [Storage.NUMBER, Storage.NUMBER, Storage.BOOLEAN, Storage.LABEL]
    np.testing.assert_array_equal(frame.numbers(age), expected["age"])
    np.testing.assert_array_equal(frame.numbers(income), expected["income"])
    assert frame.labels(owner) == expected["owner"].tolist()
    assert frame.labels(education) == expected["education"].tolist()


def test_pieces_put_together_are_the_whole(frame):
    name = frame.names[0]
    pieces = [piece.numbers(name) for _, piece in chunks(frame, 7)]
    assert [len(piece) for piece in pieces] == [7, 7, 6]
    np.testing.assert_array_equal(np.concatenate(pieces), frame.numbers(name))


def test_rows_are_taken_by_position(frame):
    taken = frame.take(np.array([3, 0, 3]))
    np.testing.assert_array_equal(taken.numbers(frame.names[0]), frame.numbers(frame.names[0])[[3, 0, 3]])


def test_columns_are_selected_in_the_asked_order(frame):
    names = frame.names
    assert frame.select([names[2], names[0]]).names == (names[2], names[0])
    assert frame.select(names) is frame


def test_replaced_columns_keep_the_type_of_the_frame(frame):
    age, _, _, education = frame.names
    other = frame.select([education]).take(np.arange(20)[::-1])
    changed = frame.with_columns({age: np.arange(20.0), education: other})
    assert type(changed.native) is type(frame.native)
    np.testing.assert_array_equal(changed.numbers(age), np.arange(20.0))
    assert changed.labels(education) == frame.labels(education)[::-1]
    if not isinstance(frame.native, np.ndarray):
        assert changed.view.schema == frame.view.schema


def test_a_result_goes_back_to_the_library_and_index_it_came_from():
    rows = loans(3).set_index(pd.Index(["p", "q", "r"]))
    built = as_frame(rows).origin.frame({"value": [1, 2, 3]})
    assert built.index.tolist() == ["p", "q", "r"]
    assert isinstance(as_frame(pl.from_pandas(rows)).origin.frame({"value": [1]}), pl.DataFrame)
    assert isinstance(as_frame(np.eye(2)).origin.frame({"value": [1]}), pd.DataFrame)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([[1, 2]], "found list; make a data frame of it"),
        (pl.DataFrame({"a": [1]}).lazy(), "found LazyFrame; collect it first"),
        (pd.Series([1]), r"found Series; one row is frame.iloc\[\[0\]\]"),
        (np.arange(3.0), r"2 dimensions, found 1; one row is array\[None, :\]"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "datetime64"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "column names must be unique"),
    ],
)
def test_what_is_no_frame_is_refused_with_advice(data, words):
    with pytest.raises(SchemaError, match=words):
        as_frame(data)


@pytest.mark.parametrize(
    "column",
    [pd.date_range("2020-01", periods=3), pd.period_range("2020-01", periods=3, freq="M"), [1j, 2j, 3]],
)
def test_dates_periods_and_complex_numbers_are_refused_with_advice(column):
    frame = as_frame(pd.DataFrame({"day": column}))
    with pytest.raises(SchemaError, match=r"column 'day' holds .* convert it"):
        frame.storage("day")


@pytest.mark.parametrize(
    "nothing", [pl.Series("a", [None, None]), pl.Series("a", [None, None], dtype=pl.Date)]
)
def test_a_column_of_nothing_counts_as_missing_numbers(nothing):
    assert as_frame(pl.DataFrame([nothing])).storage("a") is Storage.NUMBER


def test_numbers_in_an_untyped_column_are_found():
    frame = as_frame(pd.DataFrame({"a": pd.Series([1, None, 2.5], dtype=object)}))
    assert frame.storage("a") is Storage.NUMBER
    np.testing.assert_array_equal(frame.numbers("a"), [1, np.nan, 2.5])


def test_pandas_own_missing_value_is_missing_in_an_array_too():
    array = loans(20).convert_dtypes().to_numpy()
    assert np.isnan(as_frame(array).numbers("x1")[0])


def test_pieces_hold_at_least_a_row():
    with pytest.raises(ValueError, match="at least one row, found 0"):
        list(chunks(as_frame(loans(3)), 0))


def test_column_names_that_are_numbers_become_text():
    frame = as_frame(pd.DataFrame(np.eye(2)))
    assert frame.names == ("0", "1")
    assert frame.numbers("1").tolist() == [0, 1]


def test_values_that_are_none_of_the_others_categories_are_mixed_with_them_as_they_are():
    town = pd.Series(["Ulm", "Bonn"], dtype="category")
    mix = as_frame(pd.DataFrame({"town": ["Kiel", "Ulm"]})).mixer(as_frame(pd.DataFrame({"town": town})))
    assert mix(np.array([0, 1, 0]), np.array([[-1], [-1], [1]])).labels("town") == ["Kiel", "Ulm", "Bonn"]


def test_booleans_are_mixed_with_integers_as_integers():
    mix = as_frame(pl.DataFrame({"a": [1, 2]})).mixer(as_frame(pl.DataFrame({"a": [True, False]})))
    assert mix(np.array([0, 1, 0]), np.array([[-1], [-1], [0]])).numbers("a").tolist() == [1, 2, 1]
