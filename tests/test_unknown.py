"""Categories that were not seen while fitting: where they stand, and what can be done after the fit."""

import pickle
from copy import copy

import numpy as np
import pandas as pd
import pytest

import illume
from illume.errors import BlackBoxError, RowError, UnknownCategoryError, rows_after
from illume.explanations import asked as answers
from illume.explanations import attributions
from tests.common import global_explainer, loans

KINDS = ("__call__", "latents", "rules", "counterfactuals")


@pytest.fixture
def explainer(loan_explainer):
    """The shared explainer's parts, to be changed at will."""
    return copy(loan_explainer)


def strange(n, *rows):
    """Rows of which some hold a category that no fit has seen."""
    frame = loans(n, seed=3)
    frame.loc[list(rows), "education"] = "doctorate"
    return frame


@pytest.fixture
def small_pieces(monkeypatch):
    """Work through frames ten rows at a time."""
    monkeypatch.setattr(answers, "BATCH_ROWS", 10)
    monkeypatch.setattr(attributions, "BATCH_ROWS", 10)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_strange_row_is_named_by_its_place_in_the_frame(kind, explainer, small_pieces):
    with pytest.raises(UnknownCategoryError, match=r"'education' holds 'doctorate' in row 34, not") as caught:
        getattr(explainer, kind)(strange(40, 34, 37))
    assert (caught.value.column, caught.value.row) == ("education", 34)
    assert "(known: high, low, middle)" in str(caught.value)
    assert "explainer.unknown = 'ignore'" in str(caught.value)


def test_an_infinite_number_is_named_by_its_place_in_the_frame(explainer, small_pieces):
    rows = loans(40, seed=3)
    rows.loc[27, "income"] = np.inf
    with pytest.raises(RowError, match="column 'income' holds inf in row 27; replace"):
        explainer(rows)


def test_a_stream_counts_rows_from_its_beginning(explainer, tmp_path):
    rows = strange(40, 34)
    rows.to_parquet(tmp_path / "rows.parquet")
    for source in (rows, tmp_path / "rows.parquet"):
        pieces = explainer.stream(source, 8)
        assert len([next(pieces) for _ in range(4)]) == 4
        with pytest.raises(UnknownCategoryError, match="in row 34"):
            next(pieces)


@pytest.mark.parametrize("kind", KINDS)
def test_what_to_do_with_them_can_be_chosen_after_the_fit(kind, explainer, loan_model, loan_frame):
    rows = strange(6, 2)
    explainer.unknown = "ignore"
    found = getattr(explainer, kind)(rows)
    assert len(found) == 6
    explainer.unknown = "error"
    with pytest.raises(UnknownCategoryError):
        getattr(explainer, kind)(rows)


def test_it_is_as_if_that_had_been_chosen_when_fitting(loan_model, loan_frame):
    plain, lenient = (
        global_explainer(loan_model, unknown=choice).fit(loan_frame) for choice in ("error", "ignore")
    )
    rows = strange(6, 2)
    later = plain.set_params(unknown="ignore")(rows)
    np.testing.assert_array_equal(later.values, lenient(rows).values)
    assert later.outside[2]


def test_a_choice_after_the_fit_is_saved_and_can_be_made_after_loading(explainer, tmp_path):
    rows = strange(6, 2)
    explainer.save(tmp_path / "strict.illume")
    loaded = illume.load(tmp_path / "strict.illume")  # without the model, the surrogate answers
    with pytest.raises(UnknownCategoryError, match="in row 2"):
        loaded(rows)
    loaded.unknown = "ignore"
    expected = loaded(rows).values
    loaded.save(tmp_path / "lenient.illume")
    np.testing.assert_array_equal(illume.load(tmp_path / "lenient.illume")(rows).values, expected)


def test_no_other_choice_is_taken(explainer):
    with pytest.raises(ValueError, match="unknown must be 'error' or 'ignore', found 'skip'"):
        explainer.unknown = "skip"


def test_what_such_an_error_says_survives_pickling():
    error = UnknownCategoryError("town", "'Ulm'", 3, ", not seen", "map it").renumber(
        lambda row: 10 + row, "new.csv"
    )
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is UnknownCategoryError
    assert str(again) == str(error)
    assert "in row 13 of new.csv (rows count from 0), not seen; map it" in str(again)


def test_rows_that_a_model_fails_on_are_named_by_the_file_too():
    says = r"failing rows of new.csv \(from 0\): 103, 107$"
    with pytest.raises(BlackBoxError, match=says), rows_after(100, "new.csv"):
        raise BlackBoxError("no", (3, 7))


def test_a_frame_with_an_index_is_counted_by_position(explainer):
    rows = strange(6, 2).set_index(pd.Index(list("abcdef")))
    with pytest.raises(UnknownCategoryError, match="in row 2,"):
        explainer(rows)


def test_a_category_that_a_schema_made_by_hand_lacks_is_named_by_its_row_in_the_fit(loan_model, loan_frame):
    rows = loan_frame.assign(education="low")
    schema = illume.Schema.infer(loan_frame)
    rows.loc[[150, 151, 152, 153, 199], "education"] = "doctorate"
    with pytest.raises(UnknownCategoryError) as caught:
        global_explainer(loan_model, schema=schema).fit(rows)
    assert rows["education"][caught.value.row] == "doctorate"
