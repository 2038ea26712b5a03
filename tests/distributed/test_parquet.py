import json
import os
from copy import copy
from pathlib import Path
from threading import Thread

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from illume import Explainer, SurrogateOptions
from illume.distributed import WorkerError, explain_parquet, parquet
from illume.distributed.plan import split
from illume.errors import BlackBoxError, FormatError, SchemaError, UnknownCategoryError
from tests.common import CLOSE
from tests.distributed.common import KINDS, Fails, Kills, assert_same, keyed, poisoned, write_files

PARTS = [f"part-{i:05}.parquet" for i in range(6)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_holds_what_one_frame_would_get_in_the_same_order(
    kind, source, expected, given, monkeypatch
):
    monkeypatch.chdir(source.parent)
    written = explain_parquet("rows", "out", kind=kind, workers=0, batch_rows=7, **given)
    found = pd.read_parquet("out")
    pd.testing.assert_frame_equal(found, expected(kind).reset_index(drop=True), **CLOSE)
    assert (written.n_rows, written.n_lines, written.n_parts) == (60, len(found), 6)
    assert json.loads(Path("out/_SUCCESS").read_text())["lines"] == len(found)


@pytest.mark.parametrize("ending", ["pq", "PARQ"])
def test_fit_and_explain_parquet_take_the_same_files(ending, rows, loan_model, tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    rows.drop(columns="key").to_parquet(folder / f"0.{ending}")
    explainer = Explainer(
        loan_model, queries=0, verbose=False, surrogate_options=SurrogateOptions(encoder="identity")
    ).fit(folder)
    assert explain_parquet(folder, tmp_path / "out", explainer, workers=0).n_rows == len(rows)


@pytest.fixture
def strange(rows, tmp_path):
    """Row 17 of the second file holds a category that was not seen."""
    changed = rows.copy()
    changed.loc[47, "education"] = "doctorate"
    return write_files(tmp_path / "strange", changed)


def test_an_unknown_category_is_named_by_file_and_row_and_can_be_ignored_later(
    strange, rows, loan_explainer, tmp_path
):
    out, explainer = tmp_path / "out", copy(loan_explainer)
    asked = {"workers": 0, "batch_rows": 4, "keep": ["key"]}
    message = (
        r"'doctorate' in row 17 of .*1\.parquet \(rows count.*unknown='ignore'; the files already written"
    )
    with pytest.raises(UnknownCategoryError, match=message):
        explain_parquet(strange, out, explainer, **asked)
    done = len(list(out.glob("part-*")))
    assert explain_parquet(strange, out, explainer, unknown="ignore", **asked).n_skipped == done > 0
    found = pd.read_parquet(out)
    assert found["key"].tolist() == rows["key"].tolist()
    assert found["outside"][47]
    (out / PARTS[4]).unlink()
    with pytest.raises(UnknownCategoryError):
        explain_parquet(strange, out, explainer, **asked)
    explainer.unknown = "ignore"
    assert explain_parquet(strange, out, explainer, **asked).n_skipped == 5


@pytest.mark.slow
def test_a_run_goes_on_after_a_process_died(files, loan_model, tmp_path, capsys):
    mark, out = tmp_path / "mark", tmp_path / "out"
    source = write_files(tmp_path / "rows", poisoned(60))
    joblib.dump(Kills(loan_model, mark), tmp_path / "model.joblib")
    given = {"model": tmp_path / "model.joblib", "trust_model": True, "keep": ["key"]}
    with pytest.raises(WorkerError, match="run the same again"):
        explain_parquet(source, out, files[0], workers=2, **given)
    assert mark.exists()
    written = explain_parquet(source, out, files[0], workers=2, verbose=True, **given)
    assert (written.n_rows, written.n_parts) == (60, 6)
    assert "60.0/60.0" in capsys.readouterr().err
    explain_parquet(source, tmp_path / "whole", files[0], workers=0, **given)
    pd.testing.assert_frame_equal(pd.read_parquet(out), pd.read_parquet(tmp_path / "whole"))
    assert sorted(set(os.listdir(out)) - {"_illume.lock"}) == ["_SUCCESS", "_illume.json", *PARTS]


def test_a_process_that_dies_and_errors_in_one_are_told(files, loan_model, tmp_path):
    source = write_files(tmp_path / "rows", poisoned(60))
    given = {"explainer": files[0], "workers": 1}
    with pytest.raises(WorkerError, match="a worker process died; run the same again"):
        explain_parquet(source, tmp_path / "killed", model=Kills(loan_model), **given)
    out = tmp_path / "failed"
    with pytest.raises(BlackBoxError, match=r"no such age; failing rows of .*1\.parquet \(from 0\): 0$"):
        explain_parquet(source, out, model=Fails(loan_model), **given)
    assert not (out / "_SUCCESS").exists()


def test_a_run_that_was_stopped_is_resumed(source, given, tmp_path, monkeypatch):
    out, explained, partition = tmp_path / "out", [], parquet.explain_partition

    def stops(batch, *words, **options):
        explained.append(len(batch))
        if len(batch) and sum(explained) == 40:
            raise KeyboardInterrupt
        return partition(batch, *words, **options)

    monkeypatch.setattr(parquet, "explain_partition", stops)
    with pytest.raises(KeyboardInterrupt):
        explain_parquet(source, out, workers=0, batch_rows=10, **given)
    assert not (out / "_SUCCESS").exists()
    (out / ".part-00009.0a.tmp.parquet").write_bytes(b"half")
    written = explain_parquet(source, out, workers=0, batch_rows=10, **given)
    assert (written.n_skipped, written.n_parts, written.n_lines) == (3, 6, 60)
    assert sum(explained) == 60 + 10
    assert not list(out.glob(".*"))
    assert explain_parquet(source, out, workers=0, **given).n_skipped == 6


def test_a_second_run_into_the_same_folder_is_refused_while_the_first_one_works(
    source, given, tmp_path, monkeypatch
):
    out, told, partition = tmp_path / "out", [], parquet.explain_partition
    out.mkdir()
    (out / "_illume.lock").write_text("")  # left by a run that was killed

    def second():
        with pytest.raises(FileExistsError) as error:
            explain_parquet(source, out, workers=0, **given)
        told.append(str(error.value))

    def meanwhile(batch, *words, **options):
        if len(batch):
            thread = Thread(target=second)
            thread.start()
            thread.join()
        return partition(batch, *words, **options)

    monkeypatch.setattr(parquet, "explain_partition", meanwhile)
    assert explain_parquet(source, out, workers=0, **given).n_lines == 60
    assert all(message.startswith("another run") and str(out) in message for message in told)
    assert told


def test_a_folder_of_other_work_is_left_alone(source, given, tmp_path):
    out = tmp_path / "out"
    explain_parquet(source, out, workers=0, **given)
    with pytest.raises(FileExistsError, match="other rows, of another explainer or with other settings"):
        explain_parquet(source, out, kind="rules", workers=0, **given)
    with pytest.raises(FileExistsError, match="holds other files"):
        explain_parquet(source, source, workers=0, **given)


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"source": "no"}, SchemaError, "no does not exist; expected a Parquet file"),
        ({"keep": ["kex"]}, SchemaError, "nearest column is 'key'"),
        ({"workers": -1}, ValueError, "workers must be 0 or more, found -1"),
        ({"kind": "reasons"}, ValueError, "kind must be one of"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_written(asked, error, message, source, given):
    out = source.parent / "out"
    with pytest.raises(error, match=message):
        explain_parquet(**{"source": source, "target": out, **given, **asked})
    assert not out.exists()


def test_parts_are_runs_of_row_groups_of_one_file(tmp_path):
    for name, n in (("a", 30), ("b", 15)):
        pq.write_table(pa.table({"x": np.arange(n)}), tmp_path / f"{name}.parquet", row_group_size=5)
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    parts = split(files, part_rows=10, workers=1)
    assert [(p.first_group, p.end_group, p.first_row, p.n_rows) for p in parts] == [
        (0, 2, 0, 10),
        (2, 4, 10, 10),
        (4, 6, 20, 10),
        (0, 2, 30, 10),
        (2, 3, 40, 5),
    ]
    assert [part.name for part in parts] == PARTS[:5]
    assert [p.n_rows for p in split(files, part_rows=3, workers=1)] == [5] * 9


def test_only_needed_columns_are_read(source, given, tmp_path, monkeypatch):
    read, partition = [], parquet.explain_partition

    def look(batch, *words, **options):
        read.append(batch.schema.names)
        return partition(batch, *words, **options)

    monkeypatch.setattr(parquet, "explain_partition", look)
    explain_parquet(source, tmp_path / "out", workers=0, **{**given, "keep": []})
    assert read[1] == ["age", "income", "owner", "education"]


@pytest.mark.parametrize("group_rows", [2**14, 2**18])
def test_memory_while_reading_depends_neither_on_the_part_nor_on_row_groups(
    group_rows, tmp_path, monkeypatch, loan_explainer
):
    n_rows, names = 2**18, [f"x{j}" for j in range(10)]  # 21 MB
    rows = np.random.default_rng(0).normal(size=n_rows)
    options = {"row_group_size": group_rows, "use_dictionary": False, "data_page_size": 2**16}
    path, held = tmp_path / "rows.parquet", []
    pq.write_table(pa.table({name: rows + j for j, name in enumerate(names)}), path, **options)
    before = pa.total_allocated_bytes()

    def look(batch, *words, **options):
        held.append(pa.total_allocated_bytes() - before)
        return pa.table({"n": np.arange(len(batch))})

    monkeypatch.setattr(parquet, "explain_partition", look)
    explain_parquet(path, tmp_path / "out", loan_explainer, workers=0, batch_rows=2**12)
    assert len(held) > n_rows // 2**12
    assert max(held) < 6e6


def test_damage_and_missing_columns_are_told_with_the_file(source, given, rows, tmp_path):
    short = write_files(tmp_path / "short", rows.drop(columns="income"))
    with pytest.raises(SchemaError, match=r"\d\.parquet: column 'income' is missing"):
        explain_parquet(short, tmp_path / "out-short", workers=0, **given)
    path = source / "0.parquet"
    start = pq.read_metadata(path).row_group(0).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + 40] = b"\xff" * 40
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"0\.parquet cannot be read as Parquet"):
        explain_parquet(source, tmp_path / "out", workers=0, **given)


def test_an_explainer_itself_can_be_given(loan_explainer, source, expected, tmp_path):
    explain_parquet(source, tmp_path / "out", loan_explainer, workers=0, keep=["key"], compression="zstd")
    assert_same(pd.read_parquet(tmp_path / "out"), expected("attributions"))


def test_no_rows_make_a_file_without_lines_with_the_same_columns(given, expected, tmp_path):
    empty = pa.Table.from_pandas(keyed(3)[:0])
    with pq.ParquetWriter(tmp_path / "none.parquet", empty.schema):  # not even a row group
        pass
    written = explain_parquet(tmp_path / "none.parquet", tmp_path / "out", workers=0, **given)
    assert (written.n_lines, written.n_parts) == (0, 1)
    found = pd.read_parquet(tmp_path / "out")
    assert found.columns.tolist() == expected("attributions").columns.tolist()
