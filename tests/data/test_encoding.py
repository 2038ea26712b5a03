import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from illume import Schema
from illume.data.encoding import Encoding
from illume.data.frames import as_frame
from illume.errors import SchemaError
from tests.common import loans


def encoding_of(data, unknown="error", categorical=()):
    return Encoding.fit(Schema.infer(data, categorical), as_frame(data), unknown)


def test_by_hand():
    frame = pd.DataFrame({"n": [1.0, 3.0], "c": ["u", "v"]})
    encoding = encoding_of(frame)
    # n: mean 2, deviation 1; c: each category is half of the rows
    assert encoding.transform(as_frame(frame)).X.tolist() == [[-1, 0.5, -0.5], [1, -0.5, 0.5]]
    assert encoding.input_names == ("n", "c = u", "c = v")
    assert encoding.onehot.tolist() == [False, True, True]


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


def test_a_missing_number_is_the_mean_and_says_so():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0]})
    encoded = encoding_of(frame).transform(as_frame(frame))
    assert encoded.X[1, 0] == 0
    assert encoded.imputed[:, 0].tolist() == [False, True, False]


def test_a_missing_category_is_a_category_of_its_own():
    frame = pd.DataFrame({"c": ["u", None, "u", "u"]})
    encoding = encoding_of(frame)
    assert encoding.input_names == ("c = u", "c = (missing)")
    assert encoding.transform(as_frame(frame)).X[1].tolist() == [-0.75, 0.75]


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


def test_an_unseen_category_can_be_none_of_the_known_ones():
    frame = pd.DataFrame({"c": ["u", "v"]})
    encoding = encoding_of(frame, unknown="ignore")
    assert encoding.transform(as_frame(pd.DataFrame({"c": ["w"]}))).X.tolist() == [[-0.5, -0.5]]


def test_text_where_numbers_were_is_an_error_with_an_example():
    encoding = encoding_of(loans(50))
    with pytest.raises(SchemaError, match="column 'age' holds text such as 'old'"):
        encoding.transform(as_frame(loans(2).assign(age=["old", "young"])))
    untyped = loans(2).astype(object).to_numpy()
    untyped[0, 0] = "old"
    with pytest.raises(SchemaError, match="holds text such as"):
        encoding_of(loans(50).to_numpy()).transform(as_frame(untyped))


def test_a_column_that_holds_nothing_at_all_is_missing_whatever_its_type():
    encoding = encoding_of(loans(50))
    rows = loans(2).assign(age=pd.Series([None, None], dtype="string"))
    assert encoding.transform(as_frame(rows)).imputed[:, 0].all()


def test_infinite_numbers_are_an_error_with_their_place():
    with pytest.raises(SchemaError, match="column 'income' holds inf in row 1"):
        encoding_of(loans(50)).transform(as_frame(loans(3).assign(income=[1.0, np.inf, 2.0])))


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
