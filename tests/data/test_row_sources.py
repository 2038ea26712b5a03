"""Rows read piece by piece are the rows of the whole, in their types and order."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from illume.data.row_sources import is_row_source, iter_batches, open_rows
from illume.errors import FormatError, SchemaError
from tests.common import loans


@pytest.fixture(scope="module")
def frame():
    rows = loans(1_000)
    rows["age"] = rows["age"].astype("Int64")
    rows["region"] = pd.Categorical(rows["education"].str[:1], categories=["z", "m", "l", "h"])
    return rows


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    frame[:130].to_parquet(path / "part-0.parquet")
    frame[130:].to_parquet(path / "part-1.parquet", row_group_size=333)
    (path / "_SUCCESS").write_text("")
    return path


@pytest.mark.parametrize("rows", [1, 7, 130, 1_000, 5_000])
def test_pieces_are_of_the_asked_size_and_together_what_pandas_reads(folder, rows):
    if rows == 1:
        pieces = [next(iter_batches(folder, rows=1)), *list(iter_batches(folder, rows=999))]
        assert [len(piece) for piece in pieces] == [1, 999, 1]
        return
    pieces = list(iter_batches(folder, rows=rows))
    assert [len(piece) for piece in pieces[:-1]] == [rows] * (len(pieces) - 1)
    whole = pd.concat(pieces, ignore_index=True)
    pd.testing.assert_frame_equal(whole, pd.read_parquet(folder).reset_index(drop=True))


def test_every_kind_of_source_gives_the_same_rows(folder, frame):
    dataset = ds.dataset(folder)
    lazy = pl.scan_parquet(folder / "*.parquet")
    reader = dataset.scanner().to_reader()
    for source in (str(folder), folder, dataset, lazy, reader, open_rows(folder)):
        assert is_row_source(source)
        pieces = iter_batches(source, ["income", "age"], 300, backend="numpy")
        np.testing.assert_array_equal(np.concatenate(list(pieces)), frame[["income", "age"]].to_numpy(float))
    with pytest.raises(SchemaError, match="read only once; pass a Dataset"):
        list(iter_batches(open_rows(reader), rows=10)) + list(iter_batches(_used(reader), rows=10))
    assert not is_row_source(frame)
    assert not is_row_source(lazy.collect())
    assert not is_row_source(pa.Table.from_pandas(frame))


def _used(reader):
    source = open_rows(reader)
    list(iter_batches(source, rows=10))
    return source


@pytest.mark.parametrize(("backend", "kind"), [("polars", pl.DataFrame), ("pyarrow", pa.Table)])
def test_frames_are_of_the_asked_library(folder, backend, kind):
    pieces = list(iter_batches(folder, rows=600, backend=backend))
    assert [type(piece) for piece in pieces] == [kind, kind]
    assert next(iter_batches(pl.scan_parquet(folder / "part-0.parquet"))).shape == (130, 5)
    with pytest.raises(ValueError, match=r"backend must be one of .*, found 'dask'"):
        next(iter_batches(folder, backend="dask"))


def test_names_of_partitions_are_columns_as_in_pandas(frame, tmp_path):
    frame.drop(columns="region").to_parquet(tmp_path, partition_cols=["education"])
    whole = pd.concat(iter_batches(tmp_path, rows=100), ignore_index=True)
    pd.testing.assert_frame_equal(whole, pd.read_parquet(tmp_path).reset_index(drop=True))
    assert sorted(whole["education"].cat.categories) == ["high", "low", "middle"]


def test_pieces_take_the_types_of_a_frame_where_that_changes_no_value(tmp_path):
    rows = pd.DataFrame({"n": [1.0, 2.0, None, 4.0], "c": pd.Categorical(list("abca"))})
    pq.write_table(
        pa.table({"n": pa.array([1, 2, None, 4]), "c": pa.array(list("abcd")).dictionary_encode()}),
        tmp_path / "rows.parquet",
    )
    first, second = iter_batches(tmp_path, rows=2, like=rows)
    assert first["n"].dtype == second["n"].dtype == np.float64
    assert list(first["c"].cat.categories) == ["a", "b", "c"]
    assert list(second["c"]) == ["c", "d"]  # a category that the frame does not know stays


def test_an_index_of_pandas_is_a_column_only_if_it_has_a_name(frame, tmp_path):
    frame[10:20].to_parquet(tmp_path / "plain.parquet")
    frame.set_index("income").to_parquet(tmp_path / "named.parquet")
    plain, named = (open_rows(tmp_path / name) for name in ("plain.parquet", "named.parquet"))
    assert set(plain.names) == set(named.names) == set(frame.columns)
    assert list(next(iter_batches(plain)).index) == list(range(10))
    np.testing.assert_array_equal(next(iter_batches(named))["income"], frame["income"])


def test_numbers_that_pandas_wrote_with_and_without_missing_ones_go_together(tmp_path):
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "0.parquet")
    pd.DataFrame({"a": [3.5, None]}).to_parquet(tmp_path / "1.parquet")
    (whole,) = iter_batches(tmp_path)
    np.testing.assert_array_equal(whole["a"], [1, 2, 3.5, np.nan])


def _written(folder, **columns):
    for i, (name, values) in enumerate(columns.items()):
        pd.DataFrame({name.rstrip("_"): values}).to_parquet(folder / f"{i}.parquet")


def test_what_cannot_be_read_is_refused_before_any_row_is(tmp_path, frame):
    with pytest.raises(SchemaError, match=r"nowhere does not exist; expected a Parquet file, or a folder"):
        open_rows(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("no rows")
    with pytest.raises(SchemaError, match=r"no Parquet files .*, but 1 other files, such as notes.txt"):
        open_rows(tmp_path)
    frame[:0].to_parquet(tmp_path / "none.parquet")
    with pytest.raises(SchemaError, match="holds no rows"):
        open_rows(tmp_path)
    (tmp_path / "broken.parquet").write_bytes((tmp_path / "none.parquet").read_bytes()[:-9])
    with pytest.raises(FormatError, match=r"cannot be read as Parquet: .*broken.parquet"):
        open_rows(tmp_path)
    with pytest.raises(SchemaError, match=r"has no column 'b'; it has a"):
        list(iter_batches(pa.dataset.dataset(pa.table({"a": [1]})), ["b"]))


def test_files_that_disagree_are_refused_by_name(tmp_path):
    (tmp_path / "names").mkdir()
    _written(tmp_path / "names", a=[1], b=[1])
    with pytest.raises(SchemaError, match=r"1.parquet has no column 'a', which other files have"):
        open_rows(tmp_path / "names")
    (tmp_path / "types").mkdir()
    _written(tmp_path / "types", a=[1], a_=["x"])
    with pytest.raises(SchemaError, match=r"1.parquet and the files before it disagree: .*write all with"):
        open_rows(tmp_path / "types")


def test_a_file_that_breaks_off_while_it_is_read_is_named(folder, tmp_path):
    whole = (folder / "part-1.parquet").read_bytes()
    (tmp_path / "rows.parquet").write_bytes(b"\0" * (len(whole) - 5_000) + whole[-5_000:])
    with pytest.raises(FormatError, match=r"rows.parquet cannot be read to its end"):
        list(iter_batches(tmp_path / "rows.parquet"))
