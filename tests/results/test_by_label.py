"""Rows are taken by position, or by their label in the index of the frame; prints say which is which."""

import numpy as np
import pandas as pd
import pytest

from tests.common import loans

LABELS = [126, 607, 3, 0]


@pytest.fixture(scope="module")
def rows():
    return loans(4, seed=5).set_index(pd.Index(LABELS))


@pytest.fixture(scope="module")
def results(loan_explainer, rows):
    return {
        "attributions": loan_explainer(rows),
        "rules": loan_explainer.rules(rows),
        "counterfactuals": loan_explainer.counterfactuals(rows, n=1),
        "latents": loan_explainer.latents(rows),
        "reasons": loan_explainer(rows).reasons(),
        "interactions": loan_explainer.interactions(rows),
    }


def test_every_result_takes_rows_by_label(results, rows):
    for name, result in results.items():
        for position, label in enumerate(LABELS):
            assert repr(result.loc[label]) == repr(result[position]), name
    for name in ("attributions", "rules", "counterfactuals", "latents"):
        several = results[name].loc[[3, 126]]
        assert several.row_labels.tolist() == [3, 126]
        assert len(results[name].loc[[]]) == 0
        assert results[name].loc[rows.index[[2, 0]]].row_labels.tolist() == [3, 126]
    reasons = results["reasons"]
    assert repr(reasons.loc[[3, 126]]) == repr([reasons[2], reasons[0]])


def test_a_label_that_no_row_has_is_refused_with_those_that_there_are(results):
    for result in results.values():
        with pytest.raises(KeyError, match=r"no row has the label 1; the labels are 126, 607, 3, …; by"):
            result.loc[1]
        with pytest.raises(KeyError, match="no row has the label"):
            result.loc[[126, 5]]


def test_a_label_of_several_rows_takes_them_all(loan_explainer, rows):
    found = loan_explainer(rows.set_index(pd.Index(["a", "b", "a", "c"])))
    np.testing.assert_array_equal(found.loc["a"].values, found[[0, 2]].values)
    assert found.loc[["b", "a"]].row_labels.tolist() == ["b", "a", "a"]
    assert found.loc["b"].label == "b"


def test_rows_without_an_index_are_labelled_by_position(loan_explainer, rows):
    polars = pytest.importorskip("polars")
    found = loan_explainer(polars.from_pandas(rows))
    assert repr(found.loc[2]) == repr(found[2])
    assert (found[2].label, found.loc[[1, 2]].row_labels.tolist()) == (2, [0, 1])
    with pytest.raises(KeyError, match="no row has the label 4"):
        found.loc[4]


def test_prints_name_label_and_position_where_they_differ(results, loan_explainer, rows):
    for name in ("attributions", "rules", "counterfactuals", "latents"):
        result = results[name]
        assert repr(result[1]).startswith("row 607 (position 1): "), name
        assert "<b>row 607 (position 1): " in result[1]._repr_html_()
        assert repr(result).endswith(".loc[126] takes one by label, [0] by position")
    usual = loan_explainer(rows.reset_index(drop=True))
    assert not repr(usual[1]).startswith("row")
    assert ".loc" not in repr(usual)
