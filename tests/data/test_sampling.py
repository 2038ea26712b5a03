import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from illume import Schema
from illume.data.encoding import Encoding
from illume.data.frames import as_frame
from illume.data.sampling import query_rows, split_rows
from tests.common import loans

LIBRARIES = {
    "pandas": lambda frame: frame.assign(education=frame["education"].astype("category")),
    "nullable": lambda frame: frame.convert_dtypes(),
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "numpy": lambda frame: frame.to_numpy(),
}


@pytest.fixture(params=LIBRARIES.values(), ids=LIBRARIES)
def made(request):
    data = request.param(loans(60))
    frame = as_frame(data)
    encoding = Encoding.fit(Schema.infer(data), frame)
    return frame, encoding, query_rows(frame, encoding, 400, np.random.default_rng(0))


def test_made_rows_are_possible_rows_of_the_same_types(made):
    frame, encoding, rows = made
    assert type(rows.native) is type(frame.native)
    assert len(rows) == 400
    age, income, owner, education = rows.names
    ages, incomes = rows.numbers(age), rows.numbers(income)
    assert (ages == np.round(ages)).all()
    assert ages.min() >= frame.numbers(age).min()
    assert ages.max() <= frame.numbers(age).max()
    assert np.nanmin(incomes) >= np.nanmin(frame.numbers(income))
    assert np.nanmax(incomes) <= np.nanmax(frame.numbers(income))
    assert set(rows.labels(owner)) == {True, False}
    assert set(rows.labels(education)) == {"low", "middle", "high"}
    if not isinstance(frame.native, np.ndarray):
        assert rows.view.schema == frame.view.schema
    encoding.transform(rows)


def test_most_numbers_are_new_and_missing_ones_stay_possible(made):
    frame, _, rows = made
    income = rows.names[1]
    known = set(frame.numbers(income))
    found = rows.numbers(income)
    assert np.mean([value in known for value in found[~np.isnan(found)]]) < 0.2
    assert 0 < np.isnan(found).mean() < 0.2


def test_numbers_between_two_rows_lie_between_them_and_jitter_is_a_quarter_deviation():
    data = np.array([[0.0, 0.0], [1.0, 10.0]] * 300 + [[-5.0, -50.0], [6.0, 60.0]])
    frame = as_frame(data)
    encoding = Encoding.fit(Schema.infer(data), frame)
    rows = query_rows(frame, encoding, 2000, np.random.default_rng(0)).native
    between, beside = rows[:1000], rows[1000:]
    # all rows lie on one line, and whole numbers stay whole, so x0 is the rounded tenth of x1
    assert (np.abs(between[:, 0] - between[:, 1] / 10) <= 0.55).all()
    jitter = beside[:, 1] - 10 * np.round(beside[:, 1] / 10)
    assert jitter.std() == pytest.approx(0.25 * encoding.standard_deviation(1), rel=0.15)


def test_no_queries_are_no_rows():
    frame = as_frame(loans(20))
    encoding = Encoding.fit(Schema.infer(loans(20)), frame)
    assert len(query_rows(frame, encoding, 0, np.random.default_rng(0))) == 0


def test_columns_that_are_no_features_come_along():
    data = loans(30).assign(note="n")
    encoding = Encoding.fit(Schema.infer(loans(30)), as_frame(data))
    rows = query_rows(as_frame(data), encoding, 10, np.random.default_rng(0))
    assert rows.native["note"].tolist() == ["n"] * 10
    assert isinstance(rows.native, pd.DataFrame)


@pytest.mark.parametrize("n", [10, 37, 1000])
def test_every_row_is_of_one_kind_and_decisions_are_alike_in_all(n):
    decisions = (np.arange(n) % 3 == 0).astype(int)
    split = split_rows(decisions, 0.15, 0.15, np.random.default_rng(0))
    assert sorted(np.concatenate(split)) == list(range(n))
    assert all(len(part) for part in split)
    if n == 1000:
        assert [len(part) for part in split] == [700, 150, 150]
        np.testing.assert_allclose([decisions[part].mean() for part in split], 1 / 3, atol=0.01)


@pytest.mark.parametrize("sizes", [(4, 4, 4), (2, 2, 2, 2, 2), (9, 1)])
def test_no_kind_of_rows_is_empty_however_small_the_classes(sizes):
    decisions = np.repeat(np.arange(len(sizes)), sizes)
    assert all(len(part) for part in split_rows(decisions, 0.15, 0.15, np.random.default_rng(0)))


def test_a_decision_of_one_row_is_trained_on():
    decisions = np.array([0] * 20 + [1])
    for seed in range(5):
        assert 20 in split_rows(decisions, 0.25, 0.25, np.random.default_rng(seed)).training
