"""A fit on rows that are read piece by piece is the fit on the rows that were drawn."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from illume import DataOptions, Explainer, Schema, load
from illume.data.load_rows import RowLimit, load_rows
from illume.errors import SchemaError
from tests.common import CHECKS, FAST, grouped, loans

BUDGET = 120
QUICK = {"n_latents": 2, "queries": 60, "training": FAST, "verbose": False}


def model(rows):
    """Grant what is earned or learned; a plain function says nothing of the columns that it uses."""
    rows = pd.DataFrame(rows)
    score = rows["income"].fillna(30.0) + 10 * (rows["education"] == "high") - 0.3 * rows["age"] - 20
    return 1 / (1 + np.exp(-score.to_numpy(float)))


@pytest.fixture(scope="module")
def rows():
    frame = loans(1_000)
    frame.loc[7, "education"] = "none at all"
    frame.loc[500, "age"] = 101
    frame["owner"] = np.where(np.arange(1_000) == 300, None, frame["owner"])
    return frame


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("folder")
    for i, (start, stop) in enumerate([(0, 3), (3, 700), (700, 1_000)]):
        pq.write_table(_arrow(rows[start:stop]), path / f"{i}.parquet", row_group_size=211)
    return path


def _arrow(rows):
    table = pa.Table.from_pandas(rows, preserve_index=False)
    return table.set_column(2, "owner", table["owner"].cast(pa.bool_()))


@pytest.fixture(scope="module")
def streamed(folder):
    return Explainer(model, **grouped(row_budget=BUDGET, **QUICK)).fit(folder)


def drawn(data, seed=0, **options):
    return load_rows(data, model, None, (), RowLimit(BUDGET, seed, verbose=False, **options))


def alike(one, other, frame):
    """Say whether two explainers are the same, to the last digit."""
    np.testing.assert_array_equal(one(frame).values, other(frame).values)
    assert one.schema_ == other.schema_
    np.testing.assert_array_equal(one.fitted_.missing, other.fitted_.missing)
    np.testing.assert_array_equal(one.fitted_.reference().knots, other.fitted_.reference().knots)
    one, other = (each.quality_ for each in (one, other))
    assert one.report == other.report
    assert one.n_asked == other.n_asked


def test_a_folder_and_a_frame_of_the_same_rows_give_the_same_explainer(streamed, rows):
    framed = Explainer(model, **grouped(row_budget=BUDGET, **QUICK)).fit(rows)
    alike(streamed, framed, rows[:50])


def test_the_explainer_is_that_of_the_drawn_rows_in_memory(streamed, folder, rows):
    found = drawn(folder, check_seed())
    assert len(found.frame) == BUDGET
    assert found.n_rows == 1_000
    in_memory = Explainer(model, **grouped(schema=found.schema, **QUICK)).fit(found.frame.native)
    alike(streamed, in_memory, rows[:50])


def check_seed():
    from sklearn.utils import check_random_state

    return check_random_state(0).randint(2**31 - 1)


def test_what_was_drawn_is_said_and_kept(streamed, rows, tmp_path):
    text = "fitted on 120 of 1,000 rows, drawn at random with seed 0"
    assert str(streamed.quality_.sampling) == text
    assert text in repr(streamed.quality_)
    assert streamed.quality_.to_dict()["sampling"] == {"n_rows": 1_000, "n_drawn": 120, "seed": 0}
    streamed.save(tmp_path / "kept.illume")
    kept = load(tmp_path / "kept.illume", model=model)
    assert kept.quality_.sampling == streamed.quality_.sampling
    assert kept.data_options.row_budget == BUDGET
    np.testing.assert_allclose(kept(rows[:9]).values, streamed(rows[:9]).values, rtol=1e-5, atol=1e-8)


def test_where_all_rows_are_taken_nothing_was_drawn(tmp_path):
    few, path = loans(200), tmp_path / "few.parquet"
    few.to_parquet(path)
    one, other = (Explainer(model, **grouped(**QUICK)).fit(each) for each in (few, path))
    assert one.quality_.sampling is other.quality_.sampling is None
    alike(one, other, few[:50])


def test_ranges_categories_and_missing_values_are_those_of_all_rows(folder, rows):
    for data in (folder, rows):
        for seed in range(4):
            schema = drawn(data, seed).schema
            assert schema == Schema.infer(rows)
            assert schema["age"].high == 101
            assert "none at all" in schema["education"].categories
            assert schema["owner"].categories == (False, True, None)
            assert drawn(data, seed).missing == {"income"}


def test_types_are_those_that_pandas_gives_to_all_rows(tmp_path):
    columns = {"n": [1, 2, None] + 97 * [4], "b": [True, None] + 98 * [False], "i": range(100)}
    table = pa.table({**columns, "c": pa.array(["z", *(99 * ["y"])]).dictionary_encode()})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=40)
    path = tmp_path / "rows.parquet"
    wanted = pd.read_parquet(path)
    found = load_rows(path, model, None, (), RowLimit(10, seed=0, verbose=False)).frame.native
    assert not found.isna().any().any()
    assert found.dtypes.astype(str).to_dict() == wanted.dtypes.astype(str).to_dict()
    assert list(found["c"].cat.categories) == list(wanted["c"].cat.categories) == ["z", "y"]
    pd.testing.assert_frame_equal(found, wanted.iloc[found["i"]].reset_index(drop=True))


@pytest.mark.parametrize(
    ("source", "backend"),
    [
        (lambda folder: str(folder), "pandas"),
        (ds.dataset, "pandas"),
        (lambda folder: ds.dataset(folder).scanner(batch_size=97).to_reader(), "pandas"),
        (lambda folder: pl.scan_parquet(folder / "*.parquet"), "polars"),
    ],
    ids=["text", "dataset", "reader", "lazy"],
)
def test_the_same_rows_are_drawn_from_every_kind_of_source(folder, rows, source, backend):
    found = drawn(source(folder), seed=3)
    wanted = drawn(rows, seed=3)
    assert found.frame.origin.backend == backend
    assert found.schema == wanted.schema
    for name in rows.columns:
        assert found.frame.labels(name) == wanted.frame.labels(name)


def test_the_user_says_of_which_library_frames_are(folder):
    assert drawn(folder, backend="pyarrow").frame.origin.backend == "pyarrow"
    with pytest.raises(ValueError, match=r"backend must be 'pandas', 'polars' or 'pyarrow', found 'numpy'"):
        Explainer(model, data_options=DataOptions(backend="numpy")).fit(folder)
    with pytest.raises(ValueError, match=r"row_budget must be None or an integer, 10 or more, found 9"):
        Explainer(model, data_options=DataOptions(row_budget=9)).fit(folder)


def test_codes_and_a_schema_by_hand_are_seen_to_as_in_a_frame(folder, rows):
    plain = rows.drop(columns="owner")
    for options in ({"categorical": ["age"]}, {"schema": Schema.infer(plain)}):
        wanted = load_rows(plain, model, *_of(options), RowLimit(BUDGET, 1))
        found = load_rows(ds.dataset(_arrow(rows).drop("owner")), model, *_of(options), RowLimit(BUDGET, 1))
        assert found.schema == wanted.schema
    with pytest.raises(SchemaError, match=r"categorical names 'agee', which is no column; .*'age'"):
        load_rows(folder, model, None, ["agee"], RowLimit(BUDGET, 1))


def _of(options):
    return options.get("schema"), options.get("categorical", ())


@pytest.mark.parametrize("kind", ["attributions", "rules"])
def test_explanations_of_a_folder_come_piece_by_piece(streamed, folder, rows, kind):
    whole = list(streamed.stream(rows[:250], kind=kind, chunk_rows=100))
    (folder.parent / "some").mkdir(exist_ok=True)
    rows[:250].to_parquet(folder.parent / "some" / "rows.parquet", row_group_size=70)
    pieces = list(streamed.stream(folder.parent / "some", kind=kind, chunk_rows=100))
    assert [len(piece) for piece in pieces] == [100, 100, 50]
    for one, other in zip(pieces, whole, strict=True):
        pd.testing.assert_frame_equal(one.to_frame(), other.to_frame().reset_index(drop=True))
    with pytest.raises(SchemaError, match="column 'income' is missing"):
        next(streamed.stream(ds.dataset(_arrow(rows).drop("income"))))


def test_too_few_rows_and_columns_of_another_kind_are_refused(tmp_path, rows):
    rows[:9].to_parquet(tmp_path / "few.parquet")
    with pytest.raises(SchemaError, match="fit needs at least 10 rows, found 9"):
        Explainer(model).fit(tmp_path / "few.parquet")
    with pytest.raises(SchemaError, match=r"column 'day' holds Datetime.*neither a number nor a category"):
        Explainer(model).fit(ds.dataset(pa.table({"day": pd.to_datetime(["2020-01-01"])})))
    infinite = pa.table({"a": [None, *range(69_999), np.inf]})
    with pytest.raises(SchemaError, match=r"column 'a' holds inf in row 70000"):
        Explainer(model).fit(ds.dataset(infinite))


def test_of_a_column_of_names_the_most_frequent_of_the_drawn_rows_are_known():
    from illume.data import column_stats

    names = pa.array([f"row {i}" for i in range(column_stats.MOST_VALUES + 10)] + 500 * ["often"])
    with pytest.warns(UserWarning, match="'name' holds more than 100,000 different values; the 64 most"):
        found = drawn(ds.dataset(pa.table({"name": names, "a": range(len(names))})))
    assert found.schema["name"].open
    assert len(found.schema["name"].categories) == 65


def test_the_model_is_asked_only_about_drawn_rows(streamed):
    assert streamed.quality_.n_asked == BUDGET + CHECKS + streamed.quality_.n_queries
