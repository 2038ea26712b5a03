import os
import pickle
import sys
from concurrent.futures import Future
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from illume import BlackBoxError, MissingExtraError, SchemaError
from illume.distributed import (
    DaskTasks,
    RayTasks,
    SparkTasks,
    WorkerError,
    explain_parquet,
    ray_tasks,
    spark_tasks,
)
from illume.distributed.engines import Here, engine_of
from illume.distributed.plan import Part, files_of, require_written, split
from illume.distributed.processes import Processes
from illume.distributed.task import Outcome, _batches, _opened, outcome
from tests.distributed.common import Fails, poisoned
from tests.distributed.dying import Dies
from tests.distributed.files import written_by


class Travels:
    """An engine without workers: parts and the task go through bytes, and the last part comes first."""

    n_workers = 3

    def __init__(self):
        self.sent = []

    def __call__(self, task, parts, done):
        lines = {}
        for part in reversed(parts):
            self.sent.append(pickle.dumps(part))
            found = outcome(pickle.loads(self.sent[-1]), pickle.loads(pickle.dumps(task)))
            if found.error is not None:
                raise found.error
            lines[found.number] = found.lines
            done(part.n_rows)
        return lines, 0


@pytest.mark.parametrize("kind", ["attributions", "rules"])
def test_any_engine_that_calls_the_task_on_every_part_writes_the_same_files(
    kind, source, given, expected, monkeypatch
):
    monkeypatch.chdir(source.parent)  # relative paths must reach workers as absolute ones
    engine = Travels()
    written = explain_parquet("rows", "out", kind=kind, engine=engine, batch_rows=7, **given)
    found = pd.read_parquet("out")
    pd.testing.assert_frame_equal(found, expected(kind).reset_index(drop=True), rtol=0, atol=1e-6)
    assert (written.n_parts, written.n_rows, written.n_lines) == (6, 60, len(found))
    assert all(str(source).encode() in part and len(part) < 500 for part in engine.sent)


def test_a_folder_begun_with_one_engine_is_finished_by_another(source, given, tmp_path):
    out = tmp_path / "out"
    explain_parquet(source, out, workers=0, **given)
    (out / "part-00002.parquet").unlink()
    engine = Travels()
    written = explain_parquet(source, out, engine=engine, **given)
    assert (written.n_skipped, len(engine.sent), written.n_lines) == (5, 1, 60)


def test_halves_that_dead_workers_leave_are_counted_and_removed(source, given, tmp_path):
    out = tmp_path / "out"

    class DiesOnce(Travels):
        def __call__(self, task, parts, done):
            (out / ".part-00001.0a.tmp.parquet").write_bytes(b"half")
            return super().__call__(task, parts, done)

    assert explain_parquet(source, out, engine=DiesOnce(), **given).n_retried == 1
    assert not list(out.glob(".*"))


def test_a_failing_row_is_named_by_its_place_in_its_file(files, loan_model, tmp_path):
    rows = poisoned(60)
    rows.loc[53, "age"] = 17  # row 23 of the second file, in its third row group
    source = written_by(tmp_path / "rows", rows.drop(index=30))
    with pytest.raises(BlackBoxError, match=r"no such age; failing rows of .*1\.parquet \(from 0\): 22$"):
        explain_parquet(source, tmp_path / "out", files[0], model=Fails(loan_model), workers=0)


def test_rows_of_later_pieces_count_from_the_start_of_a_frame(files, loan_model, monkeypatch):
    from illume.distributed import explain_partition
    from illume.distributed.kinds import Form

    monkeypatch.setattr(Form, "piece_rows", lambda form, explainer: 7)
    with pytest.raises(BlackBoxError, match=r"failing rows: 30$"):
        explain_partition(poisoned(60), files[0], model=Fails(loan_model))


def test_damage_inside_a_file_is_told_with_its_name(source, given, tmp_path):
    path = source / "0.parquet"
    start = pq.read_metadata(path).row_group(0).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + 40] = b"\xff" * 40
    path.write_bytes(content)
    with pytest.raises(SchemaError, match=r"0\.parquet cannot be read as a Parquet file"):
        explain_parquet(source, tmp_path / "out", workers=0, **given)


@pytest.mark.parametrize("group_rows", [2**14, 2**18])
def test_what_is_held_while_reading_depends_neither_on_the_part_nor_on_row_groups(group_rows, tmp_path):
    n_rows, columns = 2**18, [f"x{j}" for j in range(10)]  # 21 MB
    rows = np.random.default_rng(0).normal(size=n_rows)
    options = {"row_group_size": group_rows, "use_dictionary": False, "data_page_size": 2**16}
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({name: rows + j for j, name in enumerate(columns)}), path, **options)
    part, before, held, seen = Part(0, str(path), 0, n_rows // group_rows, 0, n_rows), 0, [], 0
    with _opened(part) as file:
        before = pa.total_allocated_bytes()
        for start, batch in _batches(file, part, 2**12, columns):
            assert start == seen
            seen += len(batch)
            held.append(pa.total_allocated_bytes() - before)
    assert seen == n_rows
    assert max(held) < 6e6


def test_a_worker_that_does_not_see_a_path_says_which(source, given, tmp_path):
    class Elsewhere(Travels):
        def __call__(self, task, parts, done):
            os.rename(source / "1.parquet", source / "2.parquet")
            return super().__call__(task, parts, done)

    with pytest.raises(FileNotFoundError, match=r"1\.parquet is not there for a worker on .* share"):
        explain_parquet(source, tmp_path / "out", engine=Elsewhere(), **given)


def test_parts_written_to_another_disk_are_missed(source, tmp_path):
    parts, waited = split(files_of(source), 10, 1), []
    with pytest.raises(FileNotFoundError, match=r"6 parts, part-00000.parquet among them, were written but"):
        require_written(tmp_path, parts, wait=waited.append)
    assert sum(waited) == pytest.approx(30)


def test_parts_that_are_seen_only_after_a_while_are_waited_for(source, tmp_path):
    parts, waited = split(files_of(source), 10, 1), []

    def wait(seconds):
        waited.append(seconds)
        (tmp_path / parts[2 * len(waited) - 1].name).touch()
        (tmp_path / parts[2 * len(waited) - 2].name).touch()

    require_written(tmp_path, parts, wait=wait)
    assert len(waited) == 3
    require_written(tmp_path, parts, wait=wait)
    assert len(waited) == 3


def test_parts_are_found_by_name_where_the_list_of_the_folder_is_old(source, tmp_path, monkeypatch):
    parts = split(files_of(source), 10, 1)
    for part in parts:
        (tmp_path / part.name).touch()
    monkeypatch.setattr(os, "listdir", lambda folder: [])
    require_written(tmp_path, parts, patience=0)


def test_what_goes_wrong_is_told_and_not_raised(source):
    (part, *_) = split(files_of(source), 10, 1)
    found = outcome(part, Dies("fails"))
    assert (found.number, found.lines) == (0, 0)
    assert isinstance(pickle.loads(pickle.dumps(found)).error, SchemaError)


def test_engines_have_names():
    assert engine_of("processes", None, 1) == Processes(2, 1)
    assert engine_of("processes", 0, 1) == Here()
    assert engine_of("ray", None, 5) == RayTasks(retries=5)
    assert engine_of("spark", None, 5) == SparkTasks()
    assert engine_of("dask", None, 5) == DaskTasks()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"engine": "flink"}, "engine must be one of .*'processes', 'ray', 'spark', 'dask'.*, found 'flink'"),
        ({"engine": 3}, "or RayTasks, SparkTasks or DaskTasks .*, found a int"),
        ({"engine": "ray", "workers": 2}, "leave `workers` out with engine='ray'"),
        ({"workers": -1}, "workers must be 0 or more, found -1"),
    ],
)
def test_an_engine_that_is_none_is_refused(asked, message, source, given, tmp_path):
    with pytest.raises(ValueError, match=message):
        explain_parquet(source, tmp_path / "out", **asked, **given)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("engine", ["ray", "spark", "dask"])
def test_an_engine_that_is_not_installed_names_its_extra(engine, source, given, tmp_path, monkeypatch):
    for package in ("ray", "pyspark", "pyspark.sql", "distributed"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"illume\[{engine}\]"):
        explain_parquet(source, tmp_path / "out", engine=engine, **given)


class DiedError(Exception):
    """What an engine raises where a worker died."""

    java_exception = SimpleNamespace(getMessage=lambda: "Lost task 3.0")


def test_ray_says_of_deaths_that_they_were_too_many_and_of_other_errors_what_they_are(source):
    (part, *_) = split(files_of(source), 10, 1)

    def answering(error):
        def get(ready):
            raise error

        return SimpleNamespace(
            get=get, exceptions=SimpleNamespace(**dict.fromkeys(ray_tasks.DEATHS, DiedError))
        )

    with pytest.raises(WorkerError, match=r"died more often than it may \(RayTasks\(retries=…\)\): killed"):
        ray_tasks._lines(answering(DiedError("killed")), None, part)
    with pytest.raises(RuntimeError, match=r"^no such package on the cluster$"):
        ray_tasks._lines(answering(RuntimeError("no such package on the cluster")), None, part)


def test_a_spark_job_that_fails_when_all_is_done_is_done(source, monkeypatch):
    monkeypatch.setitem(sys.modules, "py4j", ModuleType("py4j"))
    monkeypatch.setitem(sys.modules, "py4j.protocol", SimpleNamespace(Py4JJavaError=DiedError))
    parts, job = split(files_of(source), 10, 1)[:2], Future()
    job.set_exception(DiedError())
    heard = spark_tasks._Heard({part.number: part for part in parts}, lambda n: None)
    heard([Outcome(0, 10)])
    with pytest.raises(WorkerError, match=r"rows 10 to 19 .* \(spark.task.maxFailures\): Lost task 3.0"):
        spark_tasks._require_done(job, heard)
    heard([Outcome(1, 10)])
    spark_tasks._require_done(job, heard)
