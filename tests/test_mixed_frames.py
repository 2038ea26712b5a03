"""Counterfactuals keep every value and type of the rows that they do not change."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.common import linear_black_box, loans
from tests.test_counterfactuals import explainer_of


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_the_library_of_the_frame_does_not_matter(loan_frame, convert):
    def model(frame):
        numbers = frame.to_pandas() if not isinstance(frame, pd.DataFrame) else frame
        score = (
            numbers["income"].fillna(30) - 0.3 * numbers["age"] + 10 * (numbers["education"] == "high") - 20
        )
        return (1 / (1 + np.exp(-score))).to_numpy()

    rows = loans(20, seed=8)
    one = explainer_of(model).fit(loan_frame).counterfactuals(rows, n=1)
    other = explainer_of(model).fit(convert(loan_frame)).counterfactuals(convert(rows), n=1)
    assert [str(e.examples) for e in one] == [str(e.examples) for e in other]
    assert type(other.examples) is type(convert(rows))
    assert type(other.to_frame()) is type(convert(rows))


UNLIKE = {
    "a float column that was whole": lambda rows: rows.assign(age=rows["age"] + 0.9),
    "other categories": lambda rows: rows.assign(education=pd.Categorical(["doctorate"] * len(rows))),
    "text that was a category": lambda rows: rows.assign(education=rows["education"].astype(object)),
}


@pytest.mark.parametrize("change", UNLIKE.values(), ids=UNLIKE)
@pytest.mark.parametrize(
    "convert", [lambda rows: rows, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_what_does_not_change_stays_the_very_same_whatever_its_type(loan_frame, change, convert):
    def model(frame):
        frame = frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()
        score = (
            frame["income"].fillna(30)
            - 0.3 * frame["age"]
            + 10 * (frame["education"].astype(object) == "high")
        )
        return (1 / (1 + np.exp(20 - score))).to_numpy()

    fitted = convert(loan_frame.assign(education=loan_frame["education"].astype("category")))
    explainer = explainer_of(model, unknown="ignore").fit(fitted)
    rows = change(loans(30, seed=12))
    found = explainer.counterfactuals(convert(rows), n=2)
    examples = found.examples if isinstance(found.examples, pd.DataFrame) else found.examples.to_pandas()
    for j, name in enumerate(rows.columns):
        same = ~found.changed[:, j]
        before, after = rows[name].iloc[found.row][same].tolist(), examples[name][same].tolist()
        assert all(a == b or (pd.isna(a) and pd.isna(b)) for a, b in zip(before, after, strict=True))
    assert len(found.row)


def test_arrays_of_another_type_lose_nothing():
    X = np.random.default_rng(0).normal(size=(300, 2)) * 5
    explainer = explainer_of(linear_black_box([1, 0])).fit(X)
    whole = np.array([[-3, 1], [4, 2]])
    found = explainer.counterfactuals(whole, n=1)
    assert np.isin(found.examples[:, 0], explainer.fitted_.pool.frame.native[:, 0]).all()
    assert found.examples[:, 1].tolist() == [1, 2]


def test_rows_of_another_library_than_the_fitted_ones_are_served():
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = lambda rows: 1 / (1 + np.exp(-np.asarray(rows)[:, 0]))  # noqa: E731
    frames = {
        "pandas": pd.DataFrame(X, columns=["x0", "x1"]),
        "polars": pl.DataFrame(X, ["x0", "x1"]),
        "numpy": X,
    }
    for fitted in frames.values():
        explainer = explainer_of(model).fit(fitted)
        texts = {str(explainer.counterfactuals(rows[:5], n=1)[0].examples) for rows in frames.values()}
        assert len(texts) == 1
