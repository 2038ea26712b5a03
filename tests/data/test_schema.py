import numpy as np
import pandas as pd
import pytest

from illume import Feature, Kind, Schema
from illume.data.frames import as_frame
from illume.data.schema import require_columns
from illume.errors import SchemaError
from tests.common import loans


def test_kinds_are_inferred_from_what_columns_hold():
    schema = Schema.infer(loans(30))
    assert [feature.kind for feature in schema.features] == [
        Kind.NUMERIC,
        Kind.NUMERIC,
        Kind.BOOLEAN,
        Kind.CATEGORICAL,
    ]
    assert schema["education"].categories == ("high", "low", "middle")
    assert schema["age"].whole
    assert not schema["income"].whole


def test_codes_become_categories_by_declaration_even_with_missing_ones():
    frame = pd.DataFrame({"code": [1, 2, None, 10]})
    feature = Schema.infer(frame, categorical=["code"])["code"]
    assert feature.categories == (1, 2, 10, None)
    assert feature.labels == ("1", "2", "10", "(missing)")


def test_unused_pandas_categories_are_no_categories():
    frame = pd.DataFrame({"c": pd.Categorical(["x", "y"], categories=["z", "y", "x"])})
    assert Schema.infer(frame)["c"].categories == ("x", "y")


@pytest.mark.parametrize(
    ("column", "words"),
    [([None, None], "no value"), ([1.0, 1.0], "only one value"), (["a", "a"], "only one value")],
)
def test_a_column_that_cannot_tell_rows_apart_is_warned_of(column, words):
    frame = pd.DataFrame({"a": column, "b": [1, 2]})
    with pytest.warns(UserWarning, match=f"column 'a' holds {words}"):
        assert Schema.infer(frame)["a"].constant


def test_infinite_numbers_are_refused_with_their_place():
    with pytest.raises(SchemaError, match="column 'a' holds -inf in row 1"):
        Schema.infer(pd.DataFrame({"a": [1.0, -np.inf]}))


def test_a_declared_column_that_is_not_there_is_named_with_its_nearest():
    with pytest.raises(
        SchemaError, match="'educaton', which is no column; the nearest column is 'education'"
    ):
        Schema.infer(loans(5), categorical=["educaton"])


def test_column_names_that_are_numbers_can_be_declared():
    assert Schema.infer(pd.DataFrame({0: [1, 2]}), categorical=[0])["0"].categories == (1, 2)


def test_a_bare_name_is_no_list_of_names():
    with pytest.raises(SchemaError, match=r"write \['ab'\]"):
        Schema.infer(pd.DataFrame({"a": [1, 2], "b": [1, 2]}), categorical="ab")


def test_values_that_cannot_be_categories_are_refused():
    with pytest.raises(SchemaError, match="column 'a' holds"):
        Schema.infer(pd.DataFrame({"a": [[1], [2]]}))


def test_what_a_schema_by_hand_leaves_open_is_filled_in():
    by_hand = Schema((Feature("age", Kind.NUMERIC), Feature("education", Kind.CATEGORICAL)))
    schema = by_hand.complete(as_frame(loans(30)))
    assert schema["education"].categories == ("high", "low", "middle")
    assert schema["age"].whole
    narrow = Feature("age", Kind.NUMERIC, low=0, high=5)
    assert Schema((narrow,)).complete(as_frame(loans(30)))["age"] is narrow
    with pytest.warns(UserWarning, match="only one value"):
        by_hand.complete(as_frame(loans(30).assign(age=3)))


def test_a_frame_without_columns_is_refused():
    with pytest.raises(SchemaError, match="no columns"):
        Schema.infer(pd.DataFrame(index=range(3)))


def test_missing_columns_are_named_with_the_nearest_match():
    frame = as_frame(loans(5).rename(columns={"income": "incme"}))
    with pytest.raises(SchemaError, match="column 'income' is missing; the nearest column is 'incme'"):
        require_columns(frame, ["age", "income"])
    with pytest.raises(SchemaError, match="column 'zzz' is missing; the columns are 'age'"):
        require_columns(frame, ["zzz"])


def test_extra_columns_and_their_order_do_not_matter():
    frame = as_frame(loans(5)[["education", "owner", "income", "age"]])
    assert require_columns(frame, ["age", "income"]).names == ("age", "income")


def test_arrays_are_taken_by_position_and_must_have_the_right_width():
    assert require_columns(as_frame(np.eye(2)), ["a", "b"]).names == ("a", "b")
    with pytest.raises(SchemaError, match="the array has 2 columns, expected 3"):
        require_columns(as_frame(np.eye(2)), ["a", "b", "c"])


def test_a_schema_reads_well_and_can_be_written_by_hand():
    schema = Schema((Feature("a", Kind.NUMERIC, low=0, high=1), Feature("b", Kind.BOOLEAN, (False, True))))
    assert repr(schema).splitlines()[1:] == ["  a  numeric      0 to 1", "  b  boolean      False, True"]
    assert len(schema) == 2
