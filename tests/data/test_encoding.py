import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from illume import Schema
from illume.data.answers import is_missing
from illume.data.encoding import Encoding
from illume.data.frames import as_frame
from illume.data.match_dtypes import FrameBuilder
from illume.data.schema import Feature, Kind
from illume.errors import SchemaError
from tests.common import loans


def encoding_of(data, unknown="error", categorical=()):
    return Encoding.fit(Schema.infer(data, categorical), as_frame(data), unknown)


def test_by_hand():
    frame = pd.DataFrame({"n": [1.0, 3.0], "c": ["u", "v"]})
    encoding = encoding_of(frame, unknown="ignore")
    # n: mean 2, deviation 1; c: each category is half of the rows
    assert encoding.transform(as_frame(frame)).X.tolist() == [[-1, 0.5, -0.5], [1, -0.5, 0.5]]
    assert encoding.input_names == ("n", "c = u", "c = v")
    assert encoding.onehot.tolist() == [False, True, True]
    unseen = as_frame(pd.DataFrame({"n": [2.0], "c": ["w"]}))
    assert encoding.transform(unseen).X.tolist() == [[0, -0.5, -0.5]]


def test_every_input_is_centred_and_numbers_have_unit_variance():
    frame = loans(50)
    encoding = encoding_of(frame)
    X = encoding.transform(as_frame(frame)).X
    np.testing.assert_allclose(X.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(X[:, 0].std(), 1)


def test_all_libraries_give_the_same_numbers():
    frame = loans(50)
    encoding = encoding_of(frame)
    expected = encoding.transform(as_frame(frame))
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    for other in (pl.from_pandas(frame), arrow, frame.convert_dtypes()):
        found = encoding.transform(as_frame(other))
        np.testing.assert_array_equal(found.X, expected.X)
        np.testing.assert_array_equal(found.imputed, expected.imputed)


def test_a_missing_number_is_the_mean_and_a_missing_category_one_of_its_own():
    frame = pd.DataFrame({"a": [1.0, np.nan, 2.0, 3.0], "c": ["u", None, "u", "u"]})
    encoding = encoding_of(frame)
    encoded = encoding.transform(as_frame(frame))
    assert encoding.input_names == ("a", "c = u", "c = (missing)")
    assert encoded.X[1].tolist() == [0, -0.75, 0.75]
    assert encoded.imputed.T.tolist() == [[False, True, False, False], [False] * 4]


def test_gathering_sums_the_inputs_of_a_feature():
    frame = pd.DataFrame({"c": ["u", "v", "w"], "n": [1.0, 2.0, 3.0]})
    gathered = encoding_of(frame).gather(np.array([[1.0, 2.0, 3.0, 10.0]]))
    assert gathered.tolist() == [[6.0, 10.0]]
    three_classes = encoding_of(frame).gather(np.ones((1, 3, 4)))
    assert three_classes.tolist() == [[[3, 1], [3, 1], [3, 1]]]


def test_constant_features_have_no_input_and_gather_to_zero():
    frame = pd.DataFrame({"a": [1.0, 2.0], "one": [5.0, 5.0]})
    with pytest.warns(UserWarning, match="'one'"):
        encoding = encoding_of(frame)
    later = pd.DataFrame({"a": [3.0], "one": [7.0]})
    assert encoding.transform(as_frame(later)).X.shape == (1, 1)
    assert encoding.transform(as_frame(later.assign(one=np.nan))).imputed.tolist() == [[False, True]]
    with pytest.raises(SchemaError, match="column 'one' holds inf in row 0"):
        encoding.transform(as_frame(later.assign(one=np.inf)))
    assert encoding.gather(np.array([[4.0]])).tolist() == [[4.0, 0.0]]


def test_an_unseen_category_is_an_error_that_names_column_value_and_row():
    encoding = encoding_of(loans(50))
    rows = loans(2).assign(education=["low", "none"])
    with pytest.raises(
        SchemaError, match=r"'education' holds 'none' in row 1, not seen .* high, low, middle"
    ):
        encoding.transform(as_frame(rows))
    with pytest.raises(SchemaError, match="column 'education' holds a missing value"):
        encoding.transform(as_frame(rows.assign(education=["low", None])))


def test_text_where_numbers_were_is_an_error_with_an_example():
    encoding = encoding_of(loans(50))
    with pytest.raises(SchemaError, match="column 'age' holds text such as 'old'"):
        encoding.transform(as_frame(loans(2).assign(age=["old", "young"])))
    untyped = loans(2).astype(object).to_numpy()
    untyped[0, 0] = "old"
    with pytest.raises(SchemaError, match="holds text such as"):
        encoding_of(loans(50).to_numpy()).transform(as_frame(untyped))


def test_the_error_names_the_value_that_is_no_number_not_its_neighbour():
    encoding = encoding_of(pd.DataFrame({"age": [30.0, 40.0, 50.0]}))
    rows = as_frame(pd.DataFrame({"age": [30, "40", "forty"]}, dtype=object))
    with pytest.raises(SchemaError, match="column 'age' holds text such as 'forty', expected numbers"):
        encoding.transform(rows)


def test_a_column_that_holds_nothing_at_all_is_missing_whatever_its_type():
    encoding = encoding_of(loans(50))
    rows = loans(2).assign(age=pd.Series([None, None], dtype="string"))
    assert encoding.transform(as_frame(rows)).imputed[:, 0].all()


def test_huge_and_tiny_numbers_neither_overflow_nor_vanish():
    frame = pd.DataFrame({"huge": [1e300, -1e300, 1e300], "tiny": [1e-300, 2e-300, 3e-300]})
    X = encoding_of(frame).transform(as_frame(frame)).X
    np.testing.assert_allclose(X.std(0), 1)


def test_rare_categories_are_one_category_and_new_ones_belong_to_it():
    names = [f"n{i:03d}" for i in range(100)] + ["n000", "n001"] * 3
    frame = pd.DataFrame({"name": names, "x": np.arange(106.0)})
    with pytest.warns(UserWarning, match="column 'name' holds 100 different values; the 64 most frequent"):
        encoding = encoding_of(frame)
    assert encoding.schema["name"].labels[-1] == "(other)"
    assert {"n000", "n001"} <= set(encoding.schema["name"].categories)
    later = as_frame(pd.DataFrame({"name": ["n000", "n099", "never seen"], "x": 0.0}))
    X = encoding.transform(later).X
    assert X.shape == (3, 66)
    assert X[0].argmax() == 0
    np.testing.assert_array_equal(X[1], X[2])


def test_codes_with_and_without_missing_values_are_the_same_codes():
    encoding = encoding_of(pd.DataFrame({"k": [1, 2, 1]}), categorical=["k"])
    as_float = as_frame(pd.DataFrame({"k": [2.0, 1.0]}))
    np.testing.assert_array_equal(encoding.transform(as_float).X.argmax(1), [1, 0])


def test_a_slope_per_unit_is_a_number_however_small_the_unit():
    frame = as_frame(pd.DataFrame({"a": [5e-324, -5e-324, 0.0, 5e-324]}))
    encoding = Encoding.fit(Schema.infer(frame.native), frame)
    assert np.isfinite(1.0 / encoding.scale).all()
    assert np.isfinite(encoding.transform(frame).X).all()


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


def plain(columns):
    return {name: [None if is_missing(v) else v for v in values] for name, values in columns.items()}


@pytest.fixture
def mixed():
    return Encoding.fit(SCHEMA, as_frame(pd.DataFrame({**ROWS, "a": [0.5, 1.0, -1.0, 2.0, 0.0]})))


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        lambda rows: FrameBuilder(NAMES, "pandas").frame(plain(rows)),
        lambda rows: pa.table(plain(rows)),
    ],
    ids=["pandas", "plain", "arrow"],
)
def test_missing_odd_and_huge_numbers_are_flagged_in_every_library(mixed, make):
    found = mixed.transform(as_frame(make(ROWS)))
    expected = mixed.transform(as_frame(pd.DataFrame(ROWS).astype(object)))
    for name in ("X", "imputed", "odd"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.X.shape == (5, 5)
    assert found.imputed[:, 0].tolist() == [False, True, False, False, False]
    assert found.odd.T.astype(int).tolist()[:2] == [[0, 0, 1, 0, 1], [0, 0, 1, 0, 0]]
    assert found.odd[:, 4].tolist() == [False, True, False, False, False]  # no value had been seen


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_all_types_are_encoded_alike_and_stay_unchanged(dtype, order):
    array = np.asarray(np.arange(12).reshape(4, 3) % 7, dtype=dtype, order=order)
    before, encoding = array.copy(), encoding_of(array[:3])
    found, expected = (encoding.transform(as_frame(each)) for each in (array, array.astype(object)))
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.odd, expected.odd)
    np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("name", ["a", "fixed"])
def test_an_infinite_number_is_named_beside_categories(mixed, name, value):
    frame = pd.DataFrame(ROWS)
    frame.loc[3, name] = value
    with pytest.raises(SchemaError, match=rf"column '{name}' holds {value} in row 3"):
        mixed.transform(as_frame(frame))


def test_text_is_no_number_even_if_it_could_be_read_as_one(mixed):
    frame = FrameBuilder(NAMES, "pandas").frame({**plain(ROWS), "a": ["0.5", "1", "2", "3", "4"]})
    with pytest.raises(SchemaError, match=r"column 'a' holds text such as '0\.5'"):
        mixed.transform(frame)
