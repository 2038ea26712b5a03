import json
import os
from copy import copy
from threading import Thread
from weakref import ref

import joblib
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from illume import SchemaError, UnknownCategoryError
from illume.distributed import WorkerError, explain_parquet
from illume.distributed import task as work
from illume.distributed.engines import Here
from illume.distributed.plan import files_of, grouped, split
from illume.distributed.processes import Processes
from tests.distributed.common import KINDS, KillsOnce, assert_same, keyed, poisoned
from tests.distributed.dying import Dies


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_holds_what_one_frame_would_get_in_the_same_order(kind, source, expected, given, tmp_path):
    written = explain_parquet(source, tmp_path / "out", kind=kind, workers=0, batch_rows=7, **given)
    found = pd.read_parquet(tmp_path / "out")
    pd.testing.assert_frame_equal(found, expected(kind).reset_index(drop=True))
    assert (written.n_rows, written.n_lines, written.n_parts) == (60, len(found), 6)
    assert json.loads((tmp_path / "out" / "_SUCCESS").read_text())["lines"] == len(found)


@pytest.fixture
def strange(rows, tmp_path):
    """A folder of two files; row 17 of the second holds a category that was not seen."""
    folder = tmp_path / "strange"
    folder.mkdir()
    changed = rows.copy()
    changed.loc[47, "education"] = "doctorate"
    for name, part in (("a", changed[:30]), ("b", changed[30:])):
        pq.write_table(pa.Table.from_pandas(part), folder / f"{name}.parquet", row_group_size=10)
    return folder


def test_an_unknown_category_is_named_by_file_and_row_and_can_be_ignored_later(
    strange, rows, given, tmp_path
):
    out = tmp_path / "out"
    message = (
        r"'doctorate' in row 17 of .*b\.parquet \(rows count.*unknown='ignore'\): what is written already"
    )
    with pytest.raises(UnknownCategoryError, match=message):
        explain_parquet(strange, out, workers=0, batch_rows=4, **given)
    done = len(list(out.glob("part-*")))
    written = explain_parquet(strange, out, workers=0, batch_rows=4, unknown="ignore", **given)
    assert written.n_skipped == done > 0
    assert pd.read_parquet(out)["key"].tolist() == rows["key"].tolist()
    assert pd.read_parquet(out)["outside"][47]


def test_an_explainer_that_is_told_to_ignore_categories_goes_on_where_it_was(
    strange, rows, loan_explainer, tmp_path
):
    explainer, out = copy(loan_explainer), tmp_path / "out"
    asked = {"workers": 0, "batch_rows": 4, "keep": ["key"]}
    with pytest.raises(UnknownCategoryError):
        explain_parquet(strange, out, explainer, **asked)
    done = len(list(out.glob("part-*")))
    explainer.unknown = "ignore"
    assert explain_parquet(strange, out, explainer, **asked).n_skipped == done > 0
    assert pd.read_parquet(out)["key"].tolist() == rows["key"].tolist()
    explainer.unknown = "error"
    (out / "part-00004.parquet").unlink()
    with pytest.raises(UnknownCategoryError):
        explain_parquet(strange, out, explainer, **asked)


def test_a_dead_process_is_replaced_and_its_part_done_again(files, loan_model, tmp_path, capsys):
    rows, mark = poisoned(60), tmp_path / "mark"
    pq.write_table(pa.Table.from_pandas(rows), tmp_path / "rows.parquet", row_group_size=5)
    joblib.dump(KillsOnce(loan_model, mark), tmp_path / "model.joblib")
    given = {"model": tmp_path / "model.joblib", "trust_model": True, "keep": ["key"]}
    out = tmp_path / "out"
    written = explain_parquet(tmp_path / "rows.parquet", out, files[0], workers=2, verbose=True, **given)
    assert mark.exists()
    assert written.n_retried == 1
    assert written.n_parts == 12
    assert "60.0/60.0" in capsys.readouterr().err
    whole = explain_parquet(tmp_path / "rows.parquet", tmp_path / "whole", files[0], workers=0, **given)
    assert whole.n_lines == 60
    pd.testing.assert_frame_equal(pd.read_parquet(out), pd.read_parquet(tmp_path / "whole"))
    assert sorted(os.listdir(out)) == [
        "_SUCCESS",
        "_illume.json",
        *(f"part-{i:05}.parquet" for i in range(12)),
    ]


def test_a_run_that_was_stopped_goes_on_where_it_was(source, given, tmp_path, monkeypatch):
    out, explained, partition = tmp_path / "out", [], work.explain_partition

    def stops(batch, *words, **options):
        explained.append(len(batch))
        if len(explained) == 4:
            raise KeyboardInterrupt
        return partition(batch, *words, **options)

    monkeypatch.setattr(work, "explain_partition", stops)
    with pytest.raises(KeyboardInterrupt):
        explain_parquet(source, out, workers=0, batch_rows=10, **given)
    assert not (out / "_SUCCESS").exists()
    (out / ".part-00009.0a.tmp.parquet").write_bytes(b"half")
    written = explain_parquet(source, out, workers=0, batch_rows=10, **given)
    assert (written.n_skipped, written.n_parts, written.n_lines) == (3, 6, 60)
    assert sum(explained) == 60 + 10
    assert not list(out.glob(".*"))
    again = explain_parquet(source, out, workers=0, **given)
    assert again.n_skipped == 6


def test_the_same_run_started_twice_leaves_the_first_ones_halves_alone(source, given, tmp_path):
    out, told = tmp_path / "out", []

    def second():
        try:
            explain_parquet(source, out, workers=0, **given)
        except FileExistsError as error:
            told.append(str(error))

    class First:
        n_workers = 1

        def __call__(self, task, parts, done):
            half = out / ".part-00000.0a.tmp.parquet"
            half.write_bytes(b"half")
            thread = Thread(target=second)
            thread.start()
            thread.join()
            assert half.exists()
            half.unlink()
            return Here()(task, parts, done)

    written = explain_parquet(source, out, engine=First(), **given)
    (message,) = told
    assert message.startswith(f"another run, of this very process, is writing explanations into {out}; wait")
    assert (written.n_lines, written.n_retried) == (60, 0)
    assert not list(out.glob("*.lock"))


def test_a_lock_that_a_killed_run_left_is_no_other_file(source, given, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "_illume.lock").write_text("")
    assert explain_parquet(source, out, workers=0, **given).n_lines == 60
    assert not list(out.glob("*.lock"))


def test_a_folder_of_other_work_is_left_alone(source, given, tmp_path):
    out = tmp_path / "out"
    explain_parquet(source, out, workers=0, **given)
    with pytest.raises(FileExistsError, match="other rows, of another explainer or with other settings"):
        explain_parquet(source, out, kind="rules", workers=0, **given)
    with pytest.raises(FileExistsError, match="holds other files"):
        explain_parquet(source, source, workers=0, **given)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        explain_parquet(tmp_path / "no", out, workers=0, **given)
    with pytest.raises(SchemaError, match="nearest column is 'key'"):
        explain_parquet(source, out, workers=0, **{**given, "keep": ["kex"]})


def test_parts_are_runs_of_row_groups_of_one_file(source):
    parts = split(files_of(source), part_rows=20, workers=1)
    assert [(part.first_group, part.end_group, part.first_row, part.n_rows) for part in parts] == [
        (0, 1, 0, 10),
        (1, 2, 10, 10),
        (2, 3, 20, 10),
        (0, 1, 30, 10),
        (1, 2, 40, 10),
        (2, 3, 50, 10),
    ]
    assert [part.number for part in parts] == list(range(6))
    assert list(grouped([], 3)) == []


def test_a_piece_and_its_answers_are_let_go_before_the_next(source, given, tmp_path, monkeypatch):
    before, partition = [], work.explain_partition

    def seen(batch, *words, **options):
        assert [each() for each in before] == [None] * len(before)
        table = partition(batch, *words, **options)
        before.extend([ref(batch), ref(table)])
        return table

    monkeypatch.setattr(work, "explain_partition", seen)
    explain_parquet(source, tmp_path / "out", workers=0, batch_rows=4, **given)
    assert len(before) == 2 * 6 * 3


def test_only_needed_columns_are_read(source, given, tmp_path, monkeypatch):
    read, partition = [], work.explain_partition

    def seen(batch, *words, **options):
        read.append(batch.schema.names)
        return partition(batch, *words, **options)

    monkeypatch.setattr(work, "explain_partition", seen)
    explain_parquet(source, tmp_path / "out", workers=0, **{**given, "keep": []})
    assert read[0] == ["age", "income", "owner", "education"]


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ("fails", SchemaError, "column 'a' is missing"),
        ("dies", WorkerError, r"rows 30 to 39 of the source ended 2 times, the last time with code 3"),
    ],
)
def test_what_goes_wrong_in_a_process_is_told(how, error, message, source):
    (part,) = split(files_of(source), 10, 1)[3:4]
    with pytest.raises(error, match=message):
        Processes(1, retries=1)(Dies(how), [part], lambda n: None)


def test_an_explainer_itself_can_be_given(loan_explainer, source, expected, tmp_path):
    explain_parquet(source, tmp_path / "out", loan_explainer, workers=0, keep=["key"], compression="lz4")
    assert_same(pd.read_parquet(tmp_path / "out"), expected("attributions"))


def test_no_rows_make_a_file_of_no_lines_with_the_same_columns(given, expected, tmp_path):
    empty = pa.Table.from_pandas(keyed(3)[:0])
    with pq.ParquetWriter(tmp_path / "none.parquet", empty.schema):  # not even a row group
        pass
    written = explain_parquet(tmp_path / "none.parquet", tmp_path / "out", workers=0, **given)
    assert (written.n_lines, written.n_parts) == (0, 1)
    found = pd.read_parquet(tmp_path / "out")
    assert found.columns.tolist() == expected("attributions").columns.tolist()
