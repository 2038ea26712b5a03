"""What holds of `explain_parquet` whatever schedules its parts."""

import os

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from illume import BlackBoxError, SchemaError
from illume.distributed import explain_parquet
from tests.distributed.common import KINDS, Fails, KillsOnce, Notes, noted, poisoned


def written_by(folder, rows):
    """Write two files of some row groups each."""
    folder.mkdir()
    for i, part in enumerate((rows[:30], rows[30:])):
        pq.write_table(pa.Table.from_pandas(part), folder / f"{i}.parquet", row_group_size=10)
    return folder


class Files:
    """Tests that a class with a fixture `engine` inherits: its name, or the engine itself."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_files_hold_what_this_process_answers(self, kind, engine, source, given, expected):
        out = source.parent / "out"
        written = explain_parquet(source, out, kind=kind, engine=engine, batch_rows=7, **given)
        found, local = pd.read_parquet(out), expected(kind).reset_index(drop=True)
        assert (written.n_rows, written.n_lines) == (60, len(local))
        pd.testing.assert_frame_equal(found, local, rtol=0, atol=1e-6)

    def test_progress_is_shown_in_rows(self, engine, source, given, tmp_path, capsys):
        explain_parquet(source, tmp_path / "out", engine=engine, verbose=True, **given)
        assert "60.0/60.0" in capsys.readouterr().err

    def test_a_dead_workers_file_is_done_again(self, engine, files, loan_model, tmp_path):
        mark, rows = tmp_path / "mark", poisoned(60)
        source, out = written_by(tmp_path / "rows", rows), tmp_path / "out"
        model = KillsOnce(loan_model, mark)
        written = explain_parquet(source, out, files[0], model=model, keep=["key"], engine=engine)
        assert mark.exists()
        assert written.n_retried == 1
        assert pd.read_parquet(out)["key"].tolist() == rows["key"].tolist()
        names = [f"part-{i:05}.parquet" for i in range(written.n_parts)]
        assert sorted(os.listdir(out)) == ["_SUCCESS", "_illume.json", *names]

    def test_a_failing_row_names_its_file_and_parts_that_are_there_are_not_done_twice(
        self, engine, files, loan_model, tmp_path
    ):
        rows = poisoned(60)  # row 30, the first of the second file
        source, out = written_by(tmp_path / "rows", rows), tmp_path / "out"
        given = {"explainer": files[0], "keep": ["key"], "engine": engine}
        with pytest.raises(BlackBoxError, match=r"no such age; failing rows of .*1\.parquet .*: 0$"):
            explain_parquet(source, out, model=Fails(loan_model), **given)
        assert not (out / "_SUCCESS").exists()

        asked = tmp_path / "asked"
        asked.mkdir()
        model = Notes(loan_model, asked)
        whole = tmp_path / "whole"
        explain_parquet(source, whole, model=model, **given)
        every = noted(asked)
        for number in (1, 4):
            (whole / f"part-{number:05}.parquet").unlink()
        again = explain_parquet(source, whole, model=model, **given)
        assert (again.n_parts, again.n_skipped, again.n_lines) == (6, 4, 60)
        assert 0 < noted(asked) < every

    def test_a_missing_column_is_told_as_it_is_here(self, engine, given, rows, tmp_path):
        source = written_by(tmp_path / "rows", rows.drop(columns="income"))
        with pytest.raises(SchemaError, match=r"\d\.parquet: column 'income' is missing"):
            explain_parquet(source, tmp_path / "out", engine=engine, **given)
